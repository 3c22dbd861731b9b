"""The report in a real browser: it draws, answers to pointer and keys, and asks for nothing."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from typer.testing import CliRunner

from banklearn.baselines import RKSRegressor
from banklearn.cli.app import app
from banklearn.report import render, summarise
from fitted import one_input, small, three_inputs, two_classes

pytestmark = pytest.mark.browser

NAMES = ["width", "depth", "height </script><b>"]
FIGURES = {"kernel", "relevance", "spectrum", "predictions", "calibration", "residuals", "traces"}


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    model, X, y = three_inputs()
    rival = RKSRegressor(16, random_state=0).fit(X, y)
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(summarise(model, X, y, rival, names=NAMES)), encoding="utf-8")
    return file


@contextmanager
def opened(browser, file, width=900, **options):
    """The page; afterwards it must have asked for nothing and complained about nothing."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    page, seen = context.new_page(), []
    page.on("console", lambda message: seen.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.append(f"error: {error}"))
    page.on("request", lambda request: seen.append(f"request: {request.url}"))
    page.goto(file.as_uri())
    page.wait_for_selector("#figure-traces .holder svg")
    yield page
    context.close()
    assert seen == [f"request: {file.as_uri()}"]


def readout(page, figure):
    return page.inner_text(f"#figure-{figure} .readout")


def test_every_figure_is_drawn_and_the_file_is_small(browser, page_file):
    assert page_file.stat().st_size < 5_000_000
    with opened(browser, page_file) as page:
        found = page.eval_on_selector_all(
            "figure[data-plot]", "all => all.map(f => f.dataset.plot)"
        )
        assert set(found) == FIGURES
        for name in found:
            marks = f"#figure-{name} .holder svg :is(path, circle, rect.bar)"
            assert page.locator(marks).count() >= 1
            boxes = page.eval_on_selector_all(
                marks, "all => all.map(m => m.getBoundingClientRect()).map(b => b.width + b.height)"
            )
            assert max(boxes) > 5


def test_pointing_reads_values_out(browser, page_file):
    with opened(browser, page_file) as page:
        for name in sorted(FIGURES):
            page.locator(f"#figure-{name}").scroll_into_view_if_needed()
            before = readout(page, name)
            box = page.locator(f"#figure-{name} .holder svg").bounding_box()
            page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"])
            first = readout(page, name)
            assert first != before
            assert any(sign.isdigit() for sign in first)
            assert page.locator(f"#figure-{name} .cursor").count() == 1
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
        assert readout(page, name) != first


def test_the_keyboard_reaches_every_value(browser, page_file):
    with opened(browser, page_file) as page:
        page.locator("#theme").focus()
        for _ in range(5):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "svg":
                break
        assert page.evaluate("document.activeElement.closest('figure').dataset.plot") == "kernel"
        page.keyboard.press("Home")
        assert "distance along" in readout(page, "kernel")
        assert ": learned, 90 % band 1 (1 to 1)" in readout(page, "kernel")
        start = readout(page, "kernel")
        page.keyboard.press("ArrowRight")
        second = readout(page, "kernel")
        page.keyboard.press("End")
        last = readout(page, "kernel")
        page.keyboard.press("ArrowRight")
        assert readout(page, "kernel") == last
        assert len({start, second, last}) == 3


def test_switching_input_series_and_scale(browser, page_file):
    with opened(browser, page_file) as page:
        chooser = page.locator("#figure-kernel select")
        assert chooser.locator("option").count() == 2
        drawn = page.inner_html("#figure-kernel .holder")
        chooser.select_option(index=1)
        assert page.inner_html("#figure-kernel .holder") != drawn
        button = page.locator("#figure-kernel button").nth(1)
        both = page.locator("#figure-kernel .holder path").count()
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "false"
        assert page.locator("#figure-kernel .holder path").count() < both
        drawn = page.inner_html("#figure-spectrum .holder")
        page.locator("#figure-spectrum input[type=checkbox]").check()
        assert page.inner_html("#figure-spectrum .holder") != drawn
        page.locator("#figure-traces select").select_option(label="weight precision")
        assert "weight precision" in page.inner_text("#figure-traces .holder")


def background(page):
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in color[4:-1].split(",")) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_by_system_and_by_button(browser, page_file, scheme):
    with opened(browser, page_file, color_scheme=scheme) as page:
        assert (background(page) > 128) == (scheme == "light")
        page.locator("#theme").click()
        assert (background(page) > 128) == (scheme == "dark")
        page.emulate_media(media="print")
        assert background(page) > 250
        assert page.locator("#figure-kernel .readout").is_hidden()
        assert page.locator("#figure-kernel button").first.is_visible()  # the legend


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_does_not_scroll_sideways(browser, page_file, width):
    with opened(browser, page_file, width=width, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.eval_on_selector_all(
            "#figure-kernel svg text",
            "all => all.map(t => parseFloat(getComputedStyle(t).fontSize))",
        )
        assert min(sizes) >= 11


def test_names_are_text_and_never_markup(browser, page_file):
    with opened(browser, page_file) as page:
        assert page.locator("main b").count() == 0
        assert NAMES[2] in page.inner_text("#figure-kernel select")


def test_without_scripts_the_pictures_stay(browser, page_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("figure[data-plot] > svg").count() == len(FIGURES)
    context.close()


def test_a_classifier_s_report(browser, tmp_path):
    file = tmp_path / "classes.html"
    file.write_text(render(summarise(*two_classes())), encoding="utf-8")
    with opened(browser, file) as page:
        assert page.locator("#figure-reliability circle").count() >= 1


@pytest.mark.parametrize(("offset", "width"), [(2000.0, 0.3), (1e6, 10.0), (1.7e9, 3600.0)])
def test_ticks_and_values_far_from_zero_are_told_apart(browser, tmp_path, offset, width):
    rng = np.random.default_rng(5)
    X = offset + width * rng.random((120, 1))
    y = offset + width * (np.sin(9.0 * (X[:, 0] - offset) / width) + 0.1 * rng.random(120))
    file = tmp_path / "far.html"
    told = summarise(small().fit(X[:80], y[:80]), X[80:], y[80:], target="level")
    file.write_text(render(told), encoding="utf-8")
    with opened(browser, file) as page:
        for name in ("predictions", "residuals"):
            if name == "residuals":
                page.locator("#figure-residuals select").select_option(index=1)
            texts = f"#figure-{name} .holder svg text"
            for anchor in ("middle", "end"):
                labels = page.locator(f'{texts}[text-anchor="{anchor}"]').all_text_contents()
                ticks = [label for label in labels if label[-1:].isdigit()]
                assert len(ticks) >= 2
                assert len(set(ticks)) == len(ticks)
            edges = page.eval_on_selector_all(
                f'{texts}[text-anchor="end"]',
                "all => all.map(t => t.getBoundingClientRect().left"
                " - t.ownerSVGElement.getBoundingClientRect().left)",
            )
            assert min(edges) > 0
        page.locator("#figure-predictions .holder svg").focus()
        page.keyboard.press("Home")
        seen = re.search(r"observed level (\S+): ", readout(page, "predictions"))
        observed = float(seen[1])
        assert abs(observed - min(told["predictions"]["observed"])) < 0.01 * width


def test_targets_that_differ_by_rounding_alone_are_drawn(browser, tmp_path):
    model, X, y = one_input()
    told = summarise(model, X, y)
    close = [1e9 + 2.0**-23 * (i % 3) for i in range(len(y))]
    told["predictions"] = dict.fromkeys(told["predictions"], close)
    file = tmp_path / "close.html"
    file.write_text(render(told), encoding="utf-8")
    with opened(browser, file) as page:
        assert page.locator("#figure-predictions circle").count() == len(y)


@pytest.mark.needs_data
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_bank_fit_on_bike(browser, bike_file, scheme):
    """opened() checks that nothing is asked for and nothing complained about."""
    assert bike_file.stat().st_size < 5_000_000
    with opened(browser, bike_file, color_scheme=scheme) as page:
        assert (background(page) > 128) == (scheme == "light")
        found = page.eval_on_selector_all(
            "figure[data-plot]", "all => all.map(f => f.dataset.plot)"
        )
        assert set(found) == FIGURES
        ink = page.evaluate("getComputedStyle(document.body).color")
        contrast = abs(sum(int(part) for part in ink[4:-1].split(",")) / 3 - background(page))
        assert contrast > 128


@pytest.fixture(scope="module")
def bike_file(tmp_path_factory, data_folder):
    folder = tmp_path_factory.mktemp("bike")
    model, report = folder / "bike.bank", folder / "bike.html"
    words = ["fit", str(data_folder / "bike.parquet"), "--target", "y", "--out", str(model)]
    words += ["--report", str(report), "--frequencies", "16", "--warmup", "12", "--draws", "8"]
    done = CliRunner().invoke(app, [*words, "--max-time", "none", "--quiet"])
    assert done.exit_code == 0, done.output
    return report

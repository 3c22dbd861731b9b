"""The report in a real browser: it draws, answers to pointer and keys, and asks for nothing."""

from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from banklearn.baselines import RKSRegressor
from banklearn.cli.app import app
from banklearn.report import render, summarise
from fitted import three_inputs, two_classes

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

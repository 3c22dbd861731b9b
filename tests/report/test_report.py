import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score

from banklearn import BankRegressor
from banklearn.baselines import RKSRegressor
from banklearn.report import figures, render, summarise
from banklearn.report.checks import warnings_of
from banklearn.report.words import interval, number, sentences
from fitted import one_input, small, three_inputs

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects ids, references and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"href", "xlink:href", "src", "srcset", "data", "action"}:
                self.references.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def rival():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1)) * 3 + 1
    return RKSRegressor(16, random_state=0).fit(X, 5 * np.sin(X[:, 0]) + 0.4 * X[:, 0])


@pytest.fixture(scope="module")
def summary(rival):
    return summarise(*one_input(), rival, title="A <test> & more", target="height")


def test_a_summary_is_plain_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


@pytest.mark.parametrize("value", [1.0, 0.1])
def test_rows_whose_target_does_not_vary(value):
    model, X, _ = one_input()
    result = summarise(model, X[:5], np.full(5, value))
    assert result["scores"]["BankRegressor"]["r2"] is None
    json.dumps(result, allow_nan=False)
    page = Page(render(result))
    assert "have no variance to explain, as it does not vary there." in page.text
    assert not re.search(r"\bnan\b|None of its", page.text)


def test_scores_equal_those_computed_independently(summary, rival):
    model, X, y = one_input()
    own, other = summary["scores"]["BankRegressor"], summary["scores"]["RKSRegressor"]
    assert own["mse"] == pytest.approx(mean_squared_error(y, model.predict(X)))
    assert own["r2"] == pytest.approx(r2_score(y, model.predict(X)))
    lower, upper = model.predict_interval(X)
    assert own["coverage"] == pytest.approx(np.mean((y >= lower) & (y <= upper)))
    mean, std = rival.predict(X, return_std=True)
    assert other["mse"] == pytest.approx(mean_squared_error(y, mean))
    assert other["coverage"] == pytest.approx(np.mean(np.abs(y - mean) < norm.ppf(0.975) * std))
    assert other["log_density"] == pytest.approx(norm(mean, std).logpdf(y).mean())
    assert summary["data"]["training_rows"] == pytest.approx(160)


def test_the_page_parses_and_refers_to_nothing_outside(summary):
    html = render(summary)
    page = Page(html)
    assert not {"img", "iframe", "object", "embed", "video"} & set(page.tags)
    assert page.tags.count("svg") == 6
    assert page.tags.count("link") == 1
    assert len(page.ids) == len(set(page.ids))
    page.references.remove("data:,")  # an empty icon: browsers ask for one otherwise
    assert all(ref.startswith("#") and ref[1:] in page.ids for ref in page.references)
    still = html[: html.rindex("<script>")]
    assert all(target[1:] in page.ids for target in re.findall(r"url\(([^)]+)\)", still))
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "http" not in without_names
    assert "//" not in re.sub(r"^\s*// .*$", "", without_names, flags=re.MULTILINE)
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval|innerHTML)\b", without_names)
    assert "@import" not in html
    assert len(html) < 1_000_000


def test_the_page_says_what_the_summary_says(summary):
    page = Page(render(summary))
    for sentence in sentences(summary):
        assert sentence in page.text
    assert "A <test> & more" in page.text
    assert number(summary["scores"]["BankRegressor"]["mse"]) in page.text
    assert "random_state=0" in page.text


def test_the_page_follows_the_reader_s_colours(summary):
    html = render(summary)
    assert "prefers-color-scheme: dark" in html
    for fixed in ("#1a1a1a", "#0072b2", "#d55e00"):
        assert fixed not in html[html.index("</style>") :].lower()
    assert "data-theme=dark" in html


def test_the_same_summary_gives_the_same_page(summary):
    assert render(summary) == render(json.loads(json.dumps(summary)))


def test_a_baseline_without_deviations_is_compared_by_its_predictions():
    model, X, y = one_input()
    line = LinearRegression().fit(X, y)
    result = summarise(model, X, y, line)
    assert set(result["scores"]["LinearRegression"]) == {"mse", "rmse", "r2"}
    assert "\N{EN DASH}" in Page(render(result)).text


@pytest.mark.parametrize("scaling", ["standard", "arcsinh", "quantile"])
def test_several_inputs_with_a_constant_one(scaling):
    result = summarise(*three_inputs(scaling), names=["width", "depth", "height"])
    assert [i["varies"] for i in result["inputs"]] == [True, False, True]
    # cos(3 x) of the third input varies fastest relative to that input's spread.
    assert result["kernel"]["name"] in {"width", "height"}
    text = Page(render(result)).text
    assert "inputs that do not vary" in text
    assert (f"{scaling}-transformed" in text) == (scaling != "standard")


def test_the_half_lag_is_where_the_kernel_is_one_half():
    model, X, y = one_input()
    half = summarise(model, X, y)["inputs"][0]["half_lag"]
    assert model.kernel_.at_lags([half]).mean[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("own", "other", "words"),
    [(0.9, 1.0, "10.0 % below"), (1.2, 1.0, "20.0 % above"), (1.001, 1.0, "within 1 %")],
)
def test_the_comparison_in_words(summary, own, other, words):
    changed = json.loads(json.dumps(summary))
    changed["scores"]["BankRegressor"]["mse"] = own
    changed["scores"]["RKSRegressor"]["mse"] = other
    assert words in " ".join(sentences(changed))


@pytest.mark.parametrize(("coverage", "words"), [(0.95, "as it should"), (0.5, "too narrow")])
def test_the_intervals_in_words(summary, coverage, words):
    changed = json.loads(json.dumps(summary))
    changed["scores"]["BankRegressor"]["coverage"] = coverage
    assert words in " ".join(sentences(changed))


def test_a_kernel_that_does_not_fall_in_words(summary):
    changed = json.loads(json.dumps(summary))
    assert "falls to one half" in " ".join(sentences(changed))
    changed["inputs"][0]["half_lag"] = None
    assert "the kernel stays above one half" in " ".join(sentences(changed))


def test_what_a_reader_should_know_first(summary):
    changed = json.loads(json.dumps(summary))
    planned = changed["reproduce"]["planned_sweeps"]
    before = " ".join(warnings_of(changed))
    assert "The fit ended early" not in before
    assert "intervals hold only" not in before
    assert "say little about how good" not in before
    changed["reproduce"]["sweeps"] = [planned, planned - 3]
    changed["scores"]["BankRegressor"]["coverage"] = 0.5
    told = " ".join(warnings_of(changed))
    assert f"The fit ended early: {planned - 3} of {planned} sweeps." in told
    assert "hold only 50.0 % of the targets: the rows kept out may differ" in told
    changed["standing"] = "seen"
    told = " ".join(warnings_of(changed))
    assert "hold only 50.0 % of the targets: the noise is not of one size." in told
    assert "they say little about how good the predictions are" in told


@pytest.mark.parametrize(
    ("doubtful", "words"),
    [
        (0, None),
        (3, "they lie far from the training data"),
        (30, "they lie far from the training data"),
        (31, "cannot tell far rows from near ones"),
        (60, "cannot tell far rows from near ones"),
    ],
)
def test_rows_whose_law_fell_back_to_the_prior_in_words(summary, doubtful, words):
    part = {"doubtful": doubtful, "rows": 60, "threshold": 0.25}
    told = [line for line in warnings_of({**summary, "extrapolation": part}) if "prior" in line]
    if words is None:
        assert told == []
    else:
        (line,) = told
        assert line.startswith(f"For {doubtful} of 60 rows")
        assert words in line
        assert ("anywhere" in line) is (doubtful > 30)


def test_an_estimate_with_its_interval():
    assert interval([1.5, 1.0, 2.25]) == "1.5 (1 to 2.25)"
    assert interval(None) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3175.2, "3175"),
        (0.0648, "0.0648"),
        (0.0, "0"),
        (1.23e-6, "1.23e-06"),
        (None, "\N{EN DASH}"),
    ],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_what_cannot_be_summarised_is_said_in_a_sentence(rival):
    _, X, y = one_input()
    with pytest.raises(TypeError, match="predict_interval"):
        summarise(rival, X, y)
    with pytest.raises(ValueError, match="Call fit first"):
        summarise(small(), X, y)


def drawn(page, name):
    """The data that the page's script draws in one figure."""
    rest = page.split(f'id="figure-{name}"')[1]
    return json.loads(rest.split('<script type="application/json">')[1].split("</script>")[0])


@pytest.mark.parametrize(("offset", "width"), [(2000.0, 0.3), (1e6, 10.0), (1.7e9, 3600.0)])
def test_numbers_far_from_zero_do_not_collapse_on_the_page(offset, width):
    rng = np.random.default_rng(5)
    X = offset + width * rng.random((120, 1))
    y = offset + width * (np.sin(9.0 * (X[:, 0] - offset) / width) + 0.1 * rng.random(120))
    told = summarise(small().fit(X[:80], y[:80]), X[80:], y[80:])
    page = render(told)
    dots = drawn(page, "predictions")["views"][0]["series"][0]
    exact = np.sort(told["predictions"]["observed"])
    kept = np.abs(np.asarray(dots["x"])[:, None] - exact).min(axis=1)
    assert kept.max() < 1e-4 * width
    assert len(set(dots["x"])) == len(dots["x"])
    against = drawn(page, "residuals")["views"][1]["series"][0]["x"]
    np.testing.assert_allclose(np.sort(against), np.sort(X[80:, 0]), rtol=0, atol=1e-4 * width)


def test_small_numbers_keep_their_digits_and_few_are_written():
    spec = {"y": [1e-7 / 3, 1 / 3, 2000 / 3], "z": [1.0, float("nan"), 3], "one": [1234567.5]}
    written = figures.figure("f", "l", "", "c", spec)
    data = json.loads(written.split('json">')[1].split("</script>")[0])
    assert data["y"] == [3.3333e-8, 0.33333, 666.67]
    assert data["z"] == [1.0, None, 3]
    assert data["one"] == [1234567.5]


def test_dollar_signs_in_names_are_no_formula():
    model, X, y = three_inputs()
    names = ["cost $ of {$", "b", "$\\frac$"]
    page = render(summarise(model, X, y, names=names, target="$^$"))
    assert page.count("cost $ of {$") > 3
    assert Page(page).ids


def test_the_still_kernel_has_the_rbf_curve_that_its_caption_names(summary):
    still = render(summary).split('id="figure-kernel"')[1].split("</figure>")[0]
    assert "best RBF kernel" in still.split("<script")[0]
    assert "beside the RBF kernel" in still
    assert summary["curves"][0]["name"] == summary["kernel"]["name"]
    assert summary["curves"][0]["kernel"]["lags"] == summary["kernel"]["lags"]


@pytest.mark.parametrize("feature", [1, 7, -1, "zz", 0.5])
def test_a_feature_that_is_no_input_that_varies(feature):
    found = three_inputs()
    with pytest.raises(ValueError, match=r"that varies in the training rows \(input 0, input 2\)"):
        summarise(found.model, found.X_test, found.y_test, feature=feature)


def test_the_code_of_a_page_makes_the_same_estimator():
    found = one_input()
    given = {"max_time": np.float64(500.0), "random_state": np.random.RandomState(0)}
    model = small(input_scaling="standard", **given).fit(found.X_test, found.y_test)
    page = Page(render(summarise(model, found.X_test, found.y_test)))
    code = page.text[page.text.index("BankRegressor(\n") :]
    code = code[: code.index("\n)") + 2]
    assert "random_state=None,  # was RandomState" in code
    parameters = eval(code, {"BankRegressor": BankRegressor}).get_params()
    assert parameters == {**model.get_params(), "random_state": None}


def test_a_baseline_with_a_law_of_its_own_is_judged_by_it():
    model, X, y = one_input()
    other = BankRegressor(8, n_warmup=2, n_draws=4, n_chains=1, random_state=1).fit(X, -y)
    scores = summarise(model, X, y, other)["scores"]
    assert list(scores) == ["BankRegressor", "BankRegressor (baseline)"]
    assert scores["BankRegressor"]["r2"] == pytest.approx(model.score(X, y))
    judged = scores["BankRegressor (baseline)"]
    assert judged["log_density"] == pytest.approx(other.log_predictive_density(X, y).mean())


def test_targets_to_judge_by_are_one_number_for_each_row():
    model, X, y = one_input()
    with pytest.raises(ValueError, match="but y_test has 3"):
        summarise(model, X, y[:3])
    with pytest.raises(ValueError, match="y_test contains NaN"):
        summarise(model, X, np.where(np.arange(len(y)) == 2, np.nan, y))

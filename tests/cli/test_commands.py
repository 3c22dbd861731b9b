"""The command line: a table in, a model, predictions and a report out."""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import typer
from typer.main import get_command

from banklearn import BankRegressor, __version__, load_model
from banklearn.cli import pages
from banklearn.cli.app import COMMANDS, app, is_there, main
from banklearn.cli.durations import seconds
from banklearn.cli.exits import EXIT_CODES, USAGE
from banklearn.cli.files import Record, save
from banklearn.cli.plan import amount, span
from banklearn.cli.say import as_json
from banklearn.datasets.flats import write_flats
from banklearn.experiments import EXPERIMENTS
from banklearn.tables import TablePlan, learn_plan, read
from banklearn.tables.targets import learn_target
from command_line import QUICK, bank
from conftest import data_missing


@pytest.fixture(scope="module")
def flats(tmp_path_factory):
    """A folder with a table, a model fitted to it, and what the fit said."""
    folder = tmp_path_factory.mktemp("flats")
    write_flats(folder / "flats.csv")
    result = bank(
        "fit", folder / "flats.csv", "--target", "price", "--out", folder / "flats.bank",
        "--report", folder / "flats.html", "--json", *QUICK,
    )  # fmt: skip
    return folder, result


def test_the_version(monkeypatch, capsys):
    assert bank("--version").stdout == f"banklearn {__version__}\n"
    monkeypatch.setattr(sys, "argv", ["bank", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"banklearn {__version__}\n"


def test_fit_writes_a_model_and_a_report_and_says_what_it_did(flats):
    folder, result = flats
    found = json.loads(result.stdout)
    assert found["command"] == "fit"
    assert found["rows"] == 319
    assert found["held_out"] == 80
    assert found["scores"]["r2"] > 0.5
    assert found["unusable"] == [
        "1 row without a value in 'price', the target, not used: line 125."
    ]
    assert "left out: constant, always 'EUR'" in result.stderr
    assert "Column 'floor': 15 missing values replaced by the training median." in result.stderr
    page = (folder / "flats.html").read_text(encoding="utf-8")
    assert "predictions of price miss by" in page
    for said in (
        "left out: constant, always &#x27;EUR&#x27;",
        "15 missing values replaced by the training median",
        "1 row without a value in &#x27;price&#x27;, the target, not used: line 125.",
        "flats.csv, SHA-256 ",
    ):
        assert said in page, said
    assert not (folder / "flats.bank.checkpoint").exists()


def test_the_model_file_holds_model_and_plan(flats):
    folder, _ = flats
    model = load_model(folder / "flats.bank")
    plan = TablePlan.from_json(model.extra_["table"]["plan"])
    X, _ = plan.apply(read(folder / "flats.csv"))
    assert X.shape == (400, model.n_features_in_)
    assert np.isfinite(model.predict(X)).all()


def test_predict_writes_one_row_per_row(flats, tmp_path):
    folder, _ = flats
    out = tmp_path / "predictions.parquet"
    found = json.loads(
        bank(
            "predict", folder / "flats.bank", folder / "flats.csv", "--out", out, "--interval",
            "0.9", "--json",
        ).stdout
    )  # fmt: skip
    table = pq.read_table(out).to_pydict()
    assert list(table) == ["row", "line", "price", "lower", "upper"] == found["columns"]
    assert table["line"][:2] == [2, 3]
    assert len(table["row"]) == 400
    assert (np.array(table["lower"]) < np.array(table["price"])).all()
    assert (np.array(table["price"]) < np.array(table["upper"])).all()
    model = load_model(folder / "flats.bank")
    plan = TablePlan.from_json(model.extra_["table"]["plan"])
    X, _ = plan.apply(read(folder / "flats.csv"))
    np.testing.assert_allclose(table["price"], model.predict(X))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".feather"])
def test_every_format_is_written_and_read_again(suffix, flats, tmp_path):
    folder, _ = flats
    out = tmp_path / f"predictions{suffix}"
    bank("predict", folder / "flats.bank", folder / "flats.csv", "--out", out)
    assert read(out).names == ["row", "line", "price"]
    assert read(out).n_rows == 400


def test_predict_needs_no_target_and_no_unused_column(flats, tmp_path):
    folder, _ = flats
    new = tmp_path / "new.tsv"
    new.write_text("district\tarea\tsold\theating\tfloor\nHill\t80\t2022-05-01\tgas\t2\n")
    bank("predict", folder / "flats.bank", new, "--out", tmp_path / "p.csv")
    assert read(tmp_path / "p.csv").n_rows == 1


def test_predict_refuses_what_the_model_does_not_know(flats, tmp_path):
    folder, _ = flats
    new = tmp_path / "new.csv"
    new.write_text("sold,district,area,floor,heating\n2022-05-01,Moon,80,2,gas\n")
    words = ("predict", folder / "flats.bank", new, "--out", tmp_path / "p.csv")
    result = bank(*words, code=3)
    assert "line 2, column 'district': 'Moon' did not occur" in result.stderr
    assert not (tmp_path / "p.csv").exists()
    result = bank(*words, "--unseen", "ignore")
    assert "treated as unknown" in result.stderr
    new.write_text("sold,district,area\n2022-05-01,Hill,80\n")
    assert "lacks 'floor', 'heating'" in bank(*words, code=3).stderr


def test_inspect_says_what_the_file_holds(flats):
    folder, _ = flats
    printed = bank("inspect", folder / "flats.bank").stdout
    assert "regression of 'price'" in printed
    assert "one-hot" in printed
    found = json.loads(bank("inspect", folder / "flats.bank", "--json").stdout)
    assert found["estimator"] == "BankRegressor"
    assert [chain["draws"] for chain in found["chains"]] == [4, 4, 4, 4]
    assert found["plan"]["target"]["name"] == "price"


def test_the_largest_model_file_can_be_set(flats, monkeypatch):
    model = flats[0] / "flats.bank"
    monkeypatch.setenv("BANKLEARN_MAX_BYTES", "1000")
    assert "more than the limit of 1000" in bank("inspect", model, code=4).stderr
    monkeypatch.setenv("BANKLEARN_MAX_BYTES", "2 GB")
    assert "should be a number of bytes" in bank("inspect", model, code=2).stderr
    monkeypatch.setenv("BANKLEARN_MAX_BYTES", str(model.stat().st_size))
    bank("inspect", model)


@pytest.mark.parametrize("draws", [1, 5, 7, 8])
def test_inspect_takes_any_number_of_draws(draws, tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.bank"
    data.write_text("x,y\n" + "\n".join(f"{i},{i % 11}" for i in range(40)))
    estimator = BankRegressor(4, n_warmup=2, n_draws=draws, thin=1, random_state=0)
    table = read(data)
    target, y, _ = learn_target(table, "y", "auto", [])
    learned = learn_plan(table, target, y)
    record = Record(learned.plan, "d.csv", "", 0.0, 0, 40, 0, None, [], [], [])
    save(estimator.fit(learned.X, y), model, record)
    found = json.loads(bank("inspect", model, "--json").stdout)
    assert bool(found["diagnostics"]) == (draws >= 8)
    assert ("Agreement of the chains" in bank("inspect", model).stdout) == (draws >= 8)


def test_report_judges_by_the_rows_kept_out(flats, tmp_path, monkeypatch):
    folder, _ = flats
    out = tmp_path / "report.html"
    words = ("report", folder / "flats.bank")
    found = json.loads(bank(*words, folder / "flats.csv", "--out", out, "--json").stdout)
    assert found["fitted_file"] is True
    assert "On 80 rows kept out of the fit" in out.read_text(encoding="utf-8")
    other = tmp_path / "other.csv"
    write_flats(other, seed=5, rows=60)
    found = json.loads(bank(*words, other, "--out", out, "--json").stdout)
    assert found["fitted_file"] is False
    assert "On 60 rows" in out.read_text(encoding="utf-8")
    monkeypatch.setattr(pages, "MOST_ROWS", 25)
    bank(*words, other, "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "On 25 rows" in page
    assert "The page judges by 25 of the 60 rows at hand, drawn at random." in page


def test_compare_puts_all_methods_into_one_table(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 2))
    labels = np.where(x[:, 0] ** 2 + 0.3 * x[:, 1] > 0.5, "out", "in")
    data = tmp_path / "classes.csv"
    rows = [f"{a},{b},{label}" for (a, b), label in zip(x, labels, strict=True)]
    data.write_text("a,b,where\n" + "\n".join(rows))
    result = bank(
        "compare", data, "--target", "where", "--folds", "2", "--frequencies", "8", "--max-time",
        "none", "--json",
    )  # fmt: skip
    found = json.loads(result.stdout)
    assert list(found["methods"]) == ["linear", "boosting", "RKS", "BaNK"]
    assert all(len(each) == 2 for each in found["methods"].values())
    assert found["unfinished"] == {}
    for name in found["methods"]:
        assert name in result.stderr
    error = {n: np.mean([f["error"] for f in each]) for n, each in found["methods"].items()}
    assert error["BaNK"] < error["linear"]

    hasty = ("compare", data, "--target", "where", "--folds", "2", "--max-time", "0.01s")
    assert "No method has a result. There was too little time" in bank(*hasty, code=USAGE).stderr


def test_a_fit_that_was_killed_is_not_given_up_unasked(tmp_path):
    write_flats(tmp_path / "flats.csv")
    folder = tmp_path / "m.bank.checkpoint"
    folder.mkdir()
    (folder / "chain-0000.bank").write_bytes(b"")
    words = ("fit", tmp_path / "flats.csv", "--target", "price", "--out", tmp_path / "m.bank")
    assert "did not come to its end" in bank(*words, *QUICK, code=2).stderr
    (tmp_path / "m.bank").write_bytes(b"")
    bank(*words, *QUICK)
    assert "nothing to go on from" in bank(*words, *QUICK, "--resume", code=2).stderr


def test_checkpoints_are_judged_before_the_table_is_read(tmp_path):
    """What is no table would be refused with another code, if it were looked at."""
    (tmp_path / "no-table.parquet").write_bytes(b"PAR1")
    words = ("fit", tmp_path / "no-table.parquet", "--target", "y", "--out", tmp_path / "m.bank")
    bank(*words, code=3)
    assert "nothing to go on from" in bank(*words, "--resume", code=2).stderr
    (tmp_path / "m.bank.checkpoint").mkdir()
    (tmp_path / "m.bank.checkpoint" / "chain-0000.bank").write_bytes(b"")
    assert "did not come to its end" in bank(*words, code=2).stderr
    bank(*words, "--resume", code=3)


@pytest.mark.parametrize(
    "option",
    [
        ("--chains", "1" + "0" * 400),
        ("--frequencies", "100000"),
        ("--warmup", "1" + "0" * 30),
        ("--draws", "1" + "0" * 5000),
        ("--max-time", "1" + "0" * 400 + "d"),
        ("--checkpoint-every", "100000d"),
        ("--seed", "-1"),
        ("--seed", "4294967296"),
        ("--holdout", "nan"),
    ],
    ids=lambda option: f"{option[0]} {option[1][:12]}",
)
def test_options_beyond_their_limits_are_wrong_options(tmp_path, option):
    words = ("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "m.bank")
    assert option[0] in bank(*words, *option, code=2).stderr


def test_a_classifier_from_end_to_end(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(120)
    labels = np.array(["low", "middle", "high"])[np.digitize(x, [-0.5, 0.5])]
    data = tmp_path / "data.csv"
    data.write_text("x,label\n" + "\n".join(f"{a},{b}" for a, b in zip(x, labels, strict=True)))
    model, out = tmp_path / "m.bank", tmp_path / "p.parquet"
    bank("fit", data, "--target", "label", "--out", model, *QUICK)
    bank("predict", model, data, "--out", out, "--interval", "0.9")
    table = pq.read_table(out).to_pydict()
    p = np.column_stack([table[f"P({c})"] for c in ("high", "low", "middle")])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(np.array(table["label"]) == labels) > 0.6
    assert (np.array(table["P(low) lower"]) <= np.array(table["P(low) upper"])).all()


def test_labels_that_are_numbers_come_back_as_numbers(tmp_path):
    data, model, out = (tmp_path / name for name in ("d.csv", "m.bank", "p.parquet"))
    data.write_text("x,y\n" + "\n".join(f"{i},{i // 20 % 2}" for i in range(60)))
    bank("fit", data, "--target", "y", "--out", model, "--holdout", "0", *QUICK)
    bank("predict", model, data, "--out", out)
    assert set(pq.read_table(out)["y"].to_pylist()) <= {0, 1}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["fit", "none.csv", "--target", "y", "--out", "m.bank"], 3, "does not exist"),
        (["fit", "flats.csv", "--target", "prize", "--out", "m.bank"], 3, "mean 'price'?"),
        (["fit", "flats.csv", "--target", "price"], 2, "--out"),
        (["fit", "flats.csv", "--target", "price", "--out", "no/m.bank"], 2, "does not exist"),
        (["fit", "flats.csv", "--target", "price", "--out", "m", "--max-time", "long"], 2, "90s"),
        (["predict", "none.bank", "flats.csv", "--out", "p.csv"], 4, "does not exist"),
        (["predict", "flats.csv", "flats.csv", "--out", "p.csv"], 4, "not a file of banklearn"),
        (["predict", "flats.bank", "flats.csv", "--out", "p.xls"], 2, "should end in"),
        (["predict", "flats.bank", "flats.csv", "--out", "p.csv", "--interval", "2"], 2, "between"),
        (["fit", "flats.csv", "--target", "price", "--out", "m", "--encoding", "x"], 2, "encoding"),
    ],
)
def test_failures_end_in_a_sentence_and_their_code(words, code, sentence, flats, monkeypatch):
    monkeypatch.chdir(flats[0])
    result = bank(*words, code=code)
    assert sentence in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr


def test_a_model_saved_from_python_is_told_apart(tmp_path):
    from fitted import one_input

    model = one_input().model
    plain, named = tmp_path / "plain.bank", tmp_path / "named.bank"
    model.save(plain)
    words = ("predict", plain, tmp_path / "x.csv", "--out", tmp_path / "p.csv")
    assert "saved from Python" in bank(*words, code=4).stderr
    told = " ".join(bank("inspect", plain).stdout.split())
    assert told.startswith("BankRegressor, saved from Python, fitted to ")
    assert "Inputs: input 0." in told
    found = json.loads(bank("inspect", plain, "--json").stdout)
    assert found["inputs"] == ["input 0"]
    assert found["provenance"]["rows"] == model.provenance_["rows"]

    many = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 25))).add_prefix("c[")
    BankRegressor(4, n_chains=1, n_warmup=2, n_draws=2).fit(many, many["c[0"]).save(named)
    assert "c[18, c[19 and 5 more." in " ".join(bank("inspect", named).stdout.split())


def test_an_ended_fit_goes_on(tmp_path):
    write_flats(tmp_path / "flats.csv")
    words = (
        "fit", tmp_path / "flats.csv", "--target", "price", "--out", tmp_path / "m.bank",
        "--frequencies", "16", "--warmup", "20", "--draws", "400", "--quiet", "--json",
    )  # fmt: skip
    first = bank(*words, "--max-time", "1s")
    assert "Run the same command with --resume" in first.stderr
    before = load_model(tmp_path / "m.bank").n_sweeps_
    bank(*words, "--max-time", "2s", "--resume")
    after = load_model(tmp_path / "m.bank").n_sweeps_
    assert sum(after) > sum(before)


def heed_interrupts():
    """What a shell starts in the background ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupted_fit_is_saved(tmp_path):
    write_flats(tmp_path / "flats.csv")
    command = [
        sys.executable, "-m", "banklearn.cli.app", "fit", "flats.csv", "--target", "price",
        "--out", "m.bank", "--frequencies", "16", "--draws", "100000", "--max-time", "none",
        "--quiet", "--checkpoint-every", "0.5s",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    try:
        while not list(tmp_path.glob("m.bank.checkpoint/*")) and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "Interrupted" in said
    assert load_model(tmp_path / "m.bank").draws_


def examples(name):
    printed = bank(*([name] if name else []), "--help").stdout
    text = re.sub(r"\s+", " ", printed.replace("│", " "))
    return [shlex.split(e) for e in re.findall(r"\$ bank (.+?)(?= \$ bank | ╭|$)", text)]


@pytest.fixture(scope="module")
def new_user(tmp_path_factory):
    """A folder with what the first example of the help pages makes there."""
    folder = tmp_path_factory.mktemp("new-user")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for words in examples(""):
            bank(*words)
    finally:
        os.chdir(before)
    return folder


def test_every_command_has_an_example_of_itself():
    assert {words[0] for words in examples("")} == {"demo", "fit", "inspect"}
    for name in COMMANDS:
        found = examples(name)
        assert found, f"bank {name} --help has no example"
        assert {words[0] for words in found} == {name}
    assert {words[1] for words in examples("reproduce")} == set(EXPERIMENTS)


def test_help_says_what_folds_are_where_there_are_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    said = bank("reproduce", "--help").output
    assert "Of synthetic, which has no folds, seeds from 0 on. Timing always takes fold 0." in said


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_of_the_help_pages_runs(name, new_user, monkeypatch):
    monkeypatch.chdir(new_user)
    monkeypatch.setenv("COLUMNS", "200")
    for words in examples(name):
        if words[:2] == ["demo", "--quick"]:
            continue  # tests/test_demo.py runs that one
        if words[1] in ("regression", "classification", "rivals") and data_missing():
            continue  # they need data sets; `.ci/run` names their folder
        bank(*words)
        if "--out" in words:
            assert Path(words[words.index("--out") + 1]).exists()
        if name == "fit":
            assert Path(words[words.index("--report") + 1]).stat().st_size > 10_000


def test_the_exit_codes_are_on_the_help_page():
    printed = " ".join(bank("--help").stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in printed


def test_only_commands_that_are_there_are_offered():
    group = get_command(app)
    names = set(group.list_commands(None))
    assert {"fit", "predict", "inspect", "compare", "report", "demo"} <= names <= set(COMMANDS)
    assert group.get_command(None, "no_such_command") is None
    assert not is_there("no_such_command")
    assert "No such command 'fti'" in bank("fti", code=2).stderr


def test_a_command_loads_what_it_needs_and_no_more():
    code = (
        "import sys; sys.argv = ['bank', '--version']\n"
        "from banklearn.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"sklearn", "numba", "pyarrow", "scipy", "numpy"}


def test_what_is_no_number_is_null_for_scripts(capsys):
    as_json({"a": [1.5, math.nan], "b": {"c": -math.inf, 3: (True, "x", None)}})
    found = json.loads(capsys.readouterr().out)
    assert found == {"a": [1.5, None], "b": {"c": None, "3": [True, "x", None]}}


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0 "), (999, "999 "), (1500, "1.5 k"), (2e9, "2 G"), (3e15, "3 P"), (4e18, "4e+03 P")],
)
def test_amounts(value, words):
    assert amount(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.5, "0.5 seconds"), (119, "119 seconds"), (150, "2.5 minutes"), (7200, "2 hours"),
     (864_000, "10 days")],
)  # fmt: skip
def test_spans_in_words(value, words):
    assert span(value) == words


def test_completion_is_offered(tmp_path):
    environment = {**os.environ, "_BANK_COMPLETE": "complete_bash", "COMP_WORDS": "bank in",
                   "COMP_CWORD": "1"}  # fmt: skip
    code = "from banklearn.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "inspect" in done.stdout


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("45", 45), ("none", None)]
)
def test_spans_of_time(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["0s", "banana", "5 parsecs", "-3m"])
def test_what_is_no_span_of_time_is_refused_with_its_option(text):
    with pytest.raises(typer.BadParameter, match="is not a span of time above zero") as refused:
        seconds(text, "--max-time")
    assert refused.value.param_hint == "--max-time"

"""The planted errors still fit the code, and the machinery notices one of them."""

import json
import tomllib

import numpy as np
import pytest


def test_every_planted_error_fits_in_one_place(scripts, repository):
    mutants = scripts("mutants")
    errors = scripts("planted").MUTANTS
    assert len(errors) >= 25
    assert len({error.name for error in errors}) == len(errors)
    for error in errors:
        assert mutants.job_of(error).text
        assert all((repository / test).exists() for test in error.tests)


def test_an_error_that_fits_nowhere_is_told(scripts):
    mutants, planted = scripts("mutants"), scripts("planted")
    lost = planted.Mutant("lost", "gram.py", "no such text", "", ())
    with pytest.raises(ValueError, match=r"occurs 0 times in gram\.py"):
        mutants.job_of(lost)


@pytest.mark.timeout(600)
def test_a_planted_error_is_caught_and_its_absence_is_not(scripts, tmp_path, capsys):
    mutants, planting = scripts("mutants"), scripts("planting")
    out = tmp_path / "table.md"
    assert mutants.main(["--only", "jitter", "--out", str(out)]) == 0
    assert "test_help_is_counted" in out.read_text()
    (result,) = planting.run_jobs([planting.Job("as it is", ("tests/numerics/test_linalg.py",))], 1)
    assert result.caught_by == ""


def test_mutation_knows_the_tests_of_every_module(scripts, repository, monkeypatch):
    mutation = scripts("mutation")
    assert mutation.modules("") == sorted(mutation.TESTS)
    for file in mutation.LEFT_OUT:
        assert (mutation.PACKAGE / file).exists()
        assert file not in mutation.TESTS
    for tests in mutation.TESTS.values():
        assert all((repository / test.partition("::")[0]).exists() for test in tests)
    monkeypatch.setattr(mutation, "LEFT_OUT", ("model/__init__.py", "sampler/__init__.py"))
    with pytest.raises(ValueError, match=r"No tests are named for model/equations\.py"):
        mutation.modules("")


def test_the_table_of_master_seeds_marks_a_failure(scripts):
    table = scripts("master_seeds").table(
        {"3": {"alone": {"a: K": 0.5, "b: |W|": 0.01}, "calibration": {"c: f": 1e-9}}}, 1e-6
    )
    assert "| 3 | updates alone | 2 | 1.0e-02 | b: \\|W\\| | yes |" in table
    assert "| 3 | calibration | 1 | 1.0e-09 | c: f | **no** |" in table


def test_changes_judged_to_change_nothing_are_of_lines_that_exist(scripts, repository):
    mutation = scripts("mutation")
    judged = mutation.judged()
    assert judged
    entries = tomllib.loads(mutation.EQUIVALENT.read_text(encoding="utf-8"))["change"]
    assert len(entries) == len(judged), "a change is judged twice"
    for (file, old, new), reason in judged.items():
        source = (repository / "src" / "banklearn" / file).read_text(encoding="utf-8")
        assert old.split(" ( ")[0] in source, old
        assert old != new
        assert len(reason.split()) > 3


def test_what_is_not_noticed_counts_unless_it_changes_nothing(scripts):
    mutation = scripts("mutation")
    (file, old, new), reason = next(iter(mutation.judged().items()))
    plan = [
        {"file": file, "what": f"change {i}", "old": o, "new": n, "text": str(i)}
        for i, (o, n) in enumerate([(old, new), ("a", "b"), ("c", "d"), ("e", "f")])
    ]
    found = {mutation.name_of(item): {"caught_by": ""} for item in plan[:3]}
    found[mutation.name_of(plan[2])] = {"caught_by": "a test"}
    text, share = mutation.report(plan, found)
    assert share == 0.5
    assert reason in text
    assert "1 of 2 noticed: 50.0 % (95 % interval 1.3 to 98.7 %); besides 1 that" in text
    assert "1 that change nothing. 1 of the plan were not run." in text
    assert "`a` became `b`: NOT NOTICED" in text
    assert "strike that out" not in text
    found[mutation.name_of(plan[0])] = {"caught_by": "a test"}
    text, share = mutation.report(plan, found)
    assert share == pytest.approx(2 / 3)
    assert f"noticed by a test, although judged to change nothing ({reason}): strike" in text


def made_plan(mutation, path):
    """A plan with one change, which its module's tests need not run to judge."""
    file = "model/kernel.py"
    source = (mutation.PACKAGE / file).read_text(encoding="utf-8")
    item = {"file": file, "what": "change", "old": "a", "new": "b", "text": source + "\n1 / 0\n"}
    path.write_text(json.dumps([item | {"of": mutation.digest_of(source)}]))
    return item


def test_no_change_is_tried_where_tests_fail_without_one(scripts, tmp_path, capsys):
    mutation, planting = scripts("mutation"), scripts("planting")
    plan = tmp_path / "plan.json"
    item = made_plan(mutation, plan)
    (sound,) = mutation.unchanged([item])
    call = ["--run", str(plan), "--seconds", "1e-9"]
    noticed = {"name": mutation.name_of(item), "caught_by": "a test"}
    passed = {"name": planting.digest(sound), "caught_by": ""}

    def status(*rows):
        plan.with_suffix(".jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        return mutation.main(call)

    assert status() == 1  # nothing was run
    assert "the same command goes on" in capsys.readouterr().out
    assert status(passed) == 1  # the change was not
    assert "1 of the plan were not run" in capsys.readouterr().out
    assert status(noticed) == 1  # whether its tests pass without it is not known
    assert status(passed | {"caught_by": "a test"}, noticed) == 1
    assert "a test fails without any change." in capsys.readouterr().out
    assert status(passed, noticed | {"caught_by": ""}) == 1  # it survived
    assert status(passed, noticed) == 0
    assert "1 of 1 noticed: 100.0 % (95 % interval 2.5 to 100.0 %)" in capsys.readouterr().out


def test_outcomes_of_other_code_or_tests_do_not_count(scripts, tmp_path, monkeypatch):
    mutation, planting = scripts("mutation"), scripts("planting")
    item = made_plan(mutation, tmp_path / "plan.json")
    before = mutation.name_of(item)
    monkeypatch.setattr(planting, "_tree", lambda: b"other tests")
    assert mutation.name_of(item) != before
    (tmp_path / "plan.json").write_text(json.dumps([item | {"of": "other"}]))
    with pytest.raises(ValueError, match=r"made of other code \(model/kernel\.py\)"):
        mutation.main(["--run", str(tmp_path / "plan.json")])


@pytest.mark.timeout(600)
def test_a_change_of_a_plan_is_noticed(scripts, tmp_path):
    mutation = scripts("mutation")
    made_plan(mutation, tmp_path / "plan.json")
    assert mutation.main(["--run", str(tmp_path / "plan.json")]) == 0
    rows = (tmp_path / "plan.jsonl").read_text().splitlines()
    assert [bool(json.loads(row)["caught_by"]) for row in rows] == [False, True]


def test_a_run_of_master_seeds_goes_on_from_its_record(scripts, tmp_path, monkeypatch):
    seeds = scripts("master_seeds")
    out = tmp_path / "table.md"
    call = ["--seeds", "1", "--jobs", "1", "--suite", "alone", "--out", str(out)]
    assert seeds.main([*call, "--seconds", "1e-9"]) == 1  # nothing begins, and that is said
    assert "units are missing" in out.read_text()
    from trust import units

    rows = [
        {
            "code": seeds.fingerprint(unit.suite),
            "unit": [unit.suite, unit.name, unit.part],
            "master": 0,
            "result": {"K": 0.5},
            "seconds": 1.0,
        }
        for unit in units(("alone",))
    ]
    record = "\n".join(json.dumps(row) for row in rows) + '\n{"code": "cut'
    out.with_suffix(".jsonl").write_text(record)
    assert seeds.main(call) == 0
    assert "| 0 | updates alone | 37 | 5.0e-01 |" in out.read_text()


def test_all_master_seeds_together_see_what_none_sees_alone(scripts):
    seeds = scripts("master_seeds")
    import calibration
    from trust import LIMIT, Unit, calibration_p

    rng, unit = np.random.default_rng(0), Unit("calibration", "regression")
    shape = (512, len(calibration.names(calibration.SETTINGS["regression"])))

    def found(lowest):
        share = np.full(12, (1 - lowest) / 11)
        share[0] = lowest
        return {m: {unit: rng.choice(12, shape, p=share).tolist()} for m in range(10)}

    by_seed = {m: {"alone": {"u: K": 0.02}, "whole": {"s: K": 0.6}} for m in range(10)}
    right, wrong = (seeds.together(found(share), by_seed) for share in (1 / 12, 0.115))
    assert min(right["calibration"].values()) > LIMIT
    assert np.median([p for name, p in wrong["calibration"].items() if "bins" in name]) < LIMIT
    alone = [calibration_p("regression", [v[unit]], m) for m, v in found(0.115).items()]
    assert min(p for seed in alone for p in seed.values()) > LIMIT
    # p values that are small in every seed become very small; ordinary ones stay so.
    assert right["alone"]["u: K"] < LIMIT
    assert right["whole"]["s: K"] > 0.1


def test_a_campaign_says_what_is_missing(scripts, tmp_path):
    campaign = scripts("campaign")
    out = tmp_path / "campaign.md"
    assert campaign.main(["--examples", "500", "--seconds", "1e-9", "--out", str(out)]) == 1
    assert "| BankFeatures | 0 | 500 |  |  | 0 | 0 |" in out.read_text()


def test_the_table_of_planted_errors_is_of_today_s_errors_and_tests(scripts, repository):
    errors = scripts("planted").MUTANTS
    text = (repository / "benchmarks" / "results" / "mutants.md").read_text(encoding="utf-8")
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines()]
    told = [(name, file.strip("`")) for name, file, _ in rows[2:]]
    assert told == [(error.name, error.file) for error in errors], "run `make mutants` again"
    for name, _, test in rows[2:]:
        assert test != "**none**", name
        path, _, function = test.strip("`").partition("::")
        source = (repository / "tests" / path).read_text(encoding="utf-8")
        assert f"def {function.partition('[')[0]}(" in source, name

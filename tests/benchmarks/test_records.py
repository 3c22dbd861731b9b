"""Long runs end in time, go on from their records, and add up over machines."""

import importlib
import json
import sys

import pytest

SCRIPTS = ("mutants", "planted", "planting", "campaign")


@pytest.fixture
def script(repository, monkeypatch):
    """Import a module of the benchmarks folder by name."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    yield importlib.import_module
    for name in SCRIPTS:
        sys.modules.pop(name, None)


def record_of(script, chosen, caught_by):
    """Lines that a run which caught (or did not catch) some errors would have written."""
    mutants, planting = script("mutants"), script("planting")
    jobs = [mutants.job_of(mutant) for mutant in chosen]
    jobs += [planting.Job(f"as it is: {t}", (t,)) for m in chosen for t in m.tests]
    rows = [
        {
            "name": planting.digest(job),
            "label": job.label,
            "caught_by": caught_by if job.file else "",
            "seconds": 1.0,
        }
        for job in jobs
    ]
    return list(dict.fromkeys(json.dumps(row) for row in rows))


def test_planted_errors_go_on_from_their_record(script, tmp_path, capsys):
    mutants, planted = script("mutants"), script("planted")
    chosen = [m for m in planted.MUTANTS if "rescaling" in m.name]
    out = tmp_path / "table.md"
    call = ["--only", "rescaling", "--out", str(out), "--seconds", "1e-9"]
    assert mutants.main(call) == 1  # nothing begins, and that is said
    said = capsys.readouterr().out
    assert said.startswith("0 of 0 caught; ")
    assert said.endswith(f"; {len(chosen) + 1} not run\n")
    lines = record_of(script, chosen, "tests/sampler/test_rescale.py::test_a")
    out.with_suffix(".jsonl").write_text("\n".join(lines) + '\n{"name": "cut')
    assert mutants.main(call) == 0
    assert out.read_text().count("`sampler/test_rescale.py::test_a`") == len(chosen)
    out.with_suffix(".jsonl").write_text("\n".join(record_of(script, chosen, "")))
    assert mutants.main(call) == 1  # all survived
    assert "**none**" in out.read_text()


def test_a_record_of_other_code_is_not_gone_on_with(script):
    planting = script("planting")
    job = planting.Job("error", ("tests/a.py",), "gram.py", "text")
    assert planting.digest(job) == planting.digest(job)
    others = [job._replace(text="other"), job._replace(label="b"), job._replace(tests=())]
    assert len({planting.digest(one) for one in [job, *others]}) == 4


def test_parts_are_told_apart(script):
    part_of = script("planting").part_of
    assert part_of("1/1") == (1, 1)
    assert part_of("2/3") == (2, 3)
    for wrong in ("0/2", "3/2", "1", "1/", "a/b", "-1/2"):
        with pytest.raises(ValueError, match="written like 1/3"):
            part_of(wrong)


def test_a_campaign_adds_up_the_records_of_machines(script, tmp_path):
    campaign = script("campaign")
    out = tmp_path / "campaign.md"
    call = ["--examples", "20", "--files", "30", "--share", "10", "--seconds", "1e-9"]
    call += ["--out", str(out)]

    def row(name, seed, **more):
        code = campaign.fingerprint()
        known = {"code": code, "name": name, "seed": seed, "examples": 10, "seconds": 2.0}
        return json.dumps(known | {"passed": True} | more)

    here = [row(name, 0, answered=8, refused=2, trees=2) for name in campaign.TESTS]
    there = [row(name, 1, answered=5, refused=5) for name in campaign.TESTS]
    files = [
        row(campaign.FILES, seed, outcomes={"refused": 7, "loaded": 3}, memory=seed << 20)
        for seed in range(3)
    ]
    record = out.with_suffix(".jsonl")
    record.write_text("\n".join([*here, *files[:1]]))
    assert campaign.main(call) == 1  # the other machine is missing
    assert "| BankRegressor | 10 | 20 | 20% |  | 0 | 2 |" in out.read_text()
    record.write_text("\n".join([*here, *there, *files]))
    assert campaign.main(call) == 0
    told = out.read_text()
    assert "| BankRegressor | 20 | 20 | 35% |  | 0 | 4 |" in told
    assert "| BankFeatures | 20 | 20 | 35% | 15% | 0 | 4 |" in told
    assert "21 refused, 9 loaded; most memory for one of them: 2.0 MiB" in told
    record.write_text("\n".join([*here, *there, *files, row("BankFeatures", 1, passed=False)]))
    assert campaign.main(call) == 1


def test_a_share_of_examples_is_counted(script):
    passed, text, counted = script("campaign").run_share("BankRegressor", 5, 30)
    assert passed, text
    assert set(counted) == {"answered", "refused"}
    assert min(counted.values()) > 0
    assert sum(counted.values()) >= 30


def test_some_examples_put_their_classes_in_a_tree(script):
    passed, text, counted = script("campaign").run_share("BankClassifier", 5, 60)
    assert passed, text
    assert counted["trees"] >= 0.05 * counted["answered"] > 0


def test_a_share_of_model_files_is_counted(script):
    passed, text, counted = script("campaign").run_share("model files", 5, 12)
    assert passed, text
    assert sum(counted["outcomes"].values()) == 12
    assert set(counted["outcomes"]) <= {"refused", "loaded"}
    assert counted["memory"] > 0

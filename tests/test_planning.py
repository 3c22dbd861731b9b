"""The cost model counts what the engines do."""

import json

import numpy as np
import pytest

from banklearn.planning import Problem, Rates, calibrate, counts, plan


def test_flops_are_those_of_the_products():
    # Per row, M = 3 and d = 2: phases 2 * 2 * 3 * 2, cross product 2 * 7 * 6, half a square 6^2.
    assert counts(Problem(10, 2, 3))["flops"] == 10 * (24 + 84 + 36)
    # Three classes: two tasks of half a square of 7 + 6 columns; phases and both latent functions
    # once more to rescale.
    wanted = 10 * (24 + 2 * 13**2 + 12 + 2 * 2 * 7)
    assert counts(Problem(10, 2, 3, classes=3))["flops"] == wanted


def test_a_classifier_reads_its_rows_twice():
    regression, classes = (plan(Problem(10**6, 4, 8, classes=C), Rates()) for C in (0, 2))
    assert regression.bytes_read == 8 * 5 * 10**6
    assert classes.bytes_read == 2 * regression.bytes_read
    assert classes.seconds_read == pytest.approx(2 * regression.seconds_read)
    assert classes.trig == 1.5 * regression.trig


def test_sums_are_as_large_as_what_the_engine_sends():
    from banklearn.engines.host import HostOps
    from banklearn.gram import GramSum, ProposalSum

    W = np.zeros((3, 2))
    proposal = ProposalSum(None, W, W, "constant", None).zero(HostOps())
    sent = sum(np.asarray(part).nbytes for part in proposal)
    assert counts(Problem(10, 2, 3))["sums"] == sent
    both = GramSum(np.zeros((6, 2)), "constant", None, 2, current=3).zero(HostOps())
    assert counts(Problem(10, 2, 3, classes=3))["sums"] == both[0].nbytes + both[1].nbytes


def test_time_grows_as_it_should():
    rates = Rates(cores=2)
    one = plan(Problem(10**8, 20, 192), rates)
    assert plan(Problem(2 * 10**8, 20, 192), rates).seconds == pytest.approx(
        2 * one.seconds, rel=0.01
    )
    assert one.memory_here == plan(Problem(10**10, 20, 192), rates).memory_here
    few, many = (plan(Problem(10**9, 20, 192), rates, workers) for workers in (10, 100))
    assert few.seconds_rows == pytest.approx(10 * many.seconds_rows)
    assert many.bytes_sent > few.bytes_sent
    assert many.seconds < few.seconds
    assert many.memory_per_worker > 8 * 10**7 * 21 / 10
    assert many.bytes_read == 0


def test_a_slow_disk_decides():
    rates = Rates(read_bytes=1e6)
    cost = plan(Problem(10**6, 20, 16), rates)
    assert cost.seconds >= 168.0


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"classes": 1}, {"frequencies": 0}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Problem(**{"rows": 10, "inputs": 2, "frequencies": 3, **wrong})


def test_a_calibration_measures_everything():
    rates = calibrate(frequencies=4, inputs=2, seconds=0.25)
    for name in ("flops", "trig", "polya_gamma", "small_flops", "read_bytes"):
        assert 1e3 < getattr(rates, name) < 1e13


def test_the_command_prints_a_table_and_json():
    typer = pytest.importorskip("typer")
    testing = pytest.importorskip("typer.testing")
    from banklearn.cli.plan import plan as command

    app = typer.Typer()
    app.command()(command)
    given = ["--rows", "1000000000", "--inputs", "20", "--frequencies", "8", "--workers", "100"]
    given += ["--seconds", "0.5"]
    told = testing.CliRunner().invoke(app, given)
    assert told.exit_code == 0, told.output
    assert "100 Dask workers" in told.output
    assert "Assumed" in told.output
    found = json.loads(testing.CliRunner().invoke(app, [*given, "--json"]).output)
    assert found["sweep"]["seconds"] > 0
    assert found["problem"]["rows"] == 10**9
    refused = testing.CliRunner().invoke(app, [*given, "--classes", "1"])
    assert refused.exit_code == 2

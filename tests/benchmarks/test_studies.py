"""The studies of the sampler run at tiny sizes, and count what they say."""

import argparse
import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import t as student_t

from banklearn import BankClassifier, BankRegressor
from banklearn.engines.device import DeviceEngine
from banklearn.numerics.streams import Streams

TINY = ["--frequencies", "8", "--rows", "120", "--sets", "arm,arm-near"]


def places(tmp_path):
    return ["--work", str(tmp_path / "cells"), "--out", str(tmp_path / "study.md")]


@pytest.mark.alone
def test_both_schedules_are_measured_and_kept(scripts, tmp_path, capsys):
    schedule = scripts("schedule")
    command = [*TINY, "--seconds", "0.3", "--seeds", "2", *places(tmp_path)]
    records = schedule.main(command)
    assert len(records) == 8
    assert all(r["seconds"] < 2.0 and np.isfinite(r["log_evidence"]) for r in records)
    assert "of 2" in (tmp_path / "study.md").read_text()
    assert "8 of 8 fits" in capsys.readouterr().out
    again = schedule.main(command)
    assert again == records == json.loads((tmp_path / "study.json").read_text())


def test_wins_are_counted_over_whole_pairs(scripts):
    schedule = scripts("schedule")

    def record(seed, which, value):
        facts = {"set": "arm", "rows": 9, "seed": seed, "sweeps": [10]}
        return {**facts, "schedule": which, "log_evidence": value}

    found = [record(0, "default", 5.0), record(0, "jumps", 1.0), record(1, "default", 2.0)]
    found += [record(1, "jumps", 3.0), record(2, "default", 9.0)]
    assert [len(pairs) for pairs in schedule.pairs(found).values()] == [2]
    assert "| 1 of 2 |" in schedule.table(found)


@pytest.mark.alone
def test_the_evidence_that_is_compared_is_of_the_last_sweeps_on_all_rows(scripts):
    schedule = scripts("schedule")
    data = scripts("study_sets").study_rows("arm", 100)
    model = schedule.estimator("regression", "default", 1, 0.3, 0, 8)
    with pytest.warns(Warning, match="max_time"):
        model.fit(data.X, data.y)
    values = schedule.last_evidences(model)
    for value, trace in zip(values, model.trace_, strict=True):
        sampled = trace["log_evidence"][trace["warmup"] :]
        assert sampled[-5:].min() <= value <= sampled[-5:].max()


@pytest.mark.alone
def test_pairs_of_chains_take_turns_from_one_state(scripts, tmp_path, capsys):
    mixing, rates_of = scripts("mixing"), scripts("mixing_rates")
    command = [*TINY, "--warm", "0.3", "--seconds", "0.6", "--chains", "2", *places(tmp_path)]
    found = mixing.main(command)
    assert set(found) == {"arm", "arm-near"}
    for of_set in found.values():
        for of in (of_set["default"], of_set["jumps"]):
            assert len(of["each chain"]) == 1 + mixing.PROBES
            assert np.isfinite(of["all chains"]).all()
        assert list(of_set) == ["default", "jumps", "paper"]
    # Low-rank updates decide as jumps do, in another time; a classifier has a chain of its own.
    jumps, paper = found["arm"]["jumps"], found["arm"]["paper"]
    assert np.isnan([paper[count] for count in rates_of.COUNTS]).all()
    np.testing.assert_allclose(np.divide(paper["lags"], jumps["lags"]), paper["ms"] / jumps["ms"])
    assert found["arm-near"]["paper"]["mean"] != found["arm-near"]["jumps"]["mean"]
    assert "4 of 4 pairs" in capsys.readouterr().out
    text = (tmp_path / "study.md").read_text()
    assert "| as far |" in text
    assert "| default / jumps | default / paper |" in text
    assert "nan" not in text


@pytest.mark.alone
@pytest.mark.parametrize("name", ["arm", "arm-near"])
def test_a_pair_begins_where_its_warm_up_ended(scripts, tmp_path, monkeypatch, name):
    mixing, begun, problems = scripts("mixing"), [], []
    warmed, prepare = mixing.warmed, mixing.prepare
    monkeypatch.setattr(mixing, "warmed", lambda *a: begun.append(warmed(*a)) or begun[-1])
    monkeypatch.setattr(mixing, "prepare", lambda *a: problems.append(prepare(*a)) or problems[-1])
    first, last = tmp_path / "first", tmp_path / "last"
    mixing.warm_up(name, 3, 0.5, 6, 100, gradient_every=1)["files"][mixing.BEGUN](first)
    more = mixing.warm_up(name, 3, 0.3, 6, 100, gradient_every=1, begins=str(first))
    more["files"][mixing.BEGUN](last)
    # All of a warm-up adapts, and its second part goes on from the first.
    (_, before, made), (chain, tuning, again) = begun
    assert more["sweeps"] == made + again > made > 1
    assert tuning.gradient.times > before.gradient.times > 0
    record = mixing.measure(name, 3, str(last), 0.4, 6, 100, gradient_every=1)
    assert record["warm_sweeps"] == more["sweeps"]
    assert record["gradient_steps"] == tuning.gradient.steps
    assert len(record["gradient_acceptance"]) == len(record["values"]["default"])
    # The first sweep of each is the one that the warmed chain itself would make.
    problem = problems[1]
    for label, seed, how in (("default", 2, tuning), ("jumps", 3, mixing.papers(tuning))):
        arguments = (problem.engine, problem.model, how, Streams(seed, 3), more["sweeps"] + 1)
        _, info = mixing.sweep.step(chain, *arguments)
        assert record["values"][label][0][0] == pytest.approx(info.log_likelihood, rel=1e-9)


def test_parts_of_a_warm_up_are_kept_each(scripts, tmp_path):
    mixing = scripts("mixing")
    once, twice = (
        mixing.parse(["--warm", warm, "--work", str(tmp_path)]) for warm in ("150", "150,20")
    )
    (only,), (first, second) = (mixing.warm_cells("arm", 1, o) for o in (once, twice))
    assert first == only
    assert second.arguments["begins"] == mixing.left_by(first, twice)
    begins = [mixing.cell("arm", 1, options).arguments["begins"] for options in (once, twice)]
    assert begins == [mixing.left_by(only, once), mixing.left_by(second, twice)]
    assert "reached in 170 s, then" in mixing.legend([{"chain": 0, "cpu": "abacus"}], twice)


@pytest.mark.alone
def test_pairs_may_share_the_first_part_of_their_warm_up(scripts, tmp_path, capsys):
    mixing = scripts("mixing")
    command = ["--together", "--warm", "0.3,0.2", "--seconds", "0.4", "--chains", "2"]
    options = mixing.parse([*TINY, *command, *places(tmp_path)])
    (first, own), (shared, other) = (mixing.warm_cells("arm", c, options) for c in (0, 1))
    assert first.key == shared.key
    assert own.key != other.key
    assert own.arguments["begins"] == other.arguments["begins"] == mixing.left_by(first, options)
    assert (own.arguments["chain"], other.arguments["chain"]) == (0, 1)
    found = mixing.main([*TINY, *command, *places(tmp_path)])
    assert set(found) == {"arm", "arm-near"}
    assert "reached in 0.5 s, the first 0.3 s together, then" in capsys.readouterr().out
    # One file of the first part for each set, one of the second for each pair.
    assert len(list((tmp_path / "cells").glob("warm-arm-[01]*.pickle"))) == 3
    assert mixing.parse(["--together", "--warm", "2,1"]).out.name == "mixing-together.md"
    with pytest.raises(SystemExit):
        mixing.parse(["--together"])
    assert "needs a warm-up of two parts" in capsys.readouterr().err


@pytest.mark.alone
def test_on_a_device_pairs_run_without_the_papers_algorithm(scripts, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    mixing, made = scripts("mixing"), []
    prepare = mixing.prepare

    def watched(*arguments):
        made.append(prepare(*arguments))
        return made[-1]

    monkeypatch.setattr(mixing, "prepare", watched)
    mixing.warm_up("arm", 0, 0.3, 6, 100, "cpu:0")
    assert isinstance(made[0].engine, DeviceEngine)
    command = [*TINY, "--warm", "0.3", "--seconds", "0.6", "--chains", "2", *places(tmp_path)]
    found = mixing.main([*command, "--device", "cpu:0"])
    assert [list(of_set) for of_set in found.values()] == [["default", "jumps"]] * 2
    assert all(np.isfinite(of_set["jumps"]["all chains"]).all() for of_set in found.values())
    text = (tmp_path / "study.md").read_text()
    assert "one core and cpu:0, shared by" in text
    assert "reached in 0.3 s (1 at a time), then" in text
    assert "default / jumps | variance | largest R-hat" in text


@pytest.mark.alone
def test_a_pair_may_make_gradient_moves_whatever_the_default_does(scripts, monkeypatch):
    mixing, made = scripts("mixing"), []
    prepare = mixing.prepare
    monkeypatch.setattr(mixing, "prepare", lambda *a: made.append(prepare(*a)) or made[-1])
    plain, asked, none = (
        mixing.parse(["--gradient-every", every] if every else []) for every in ("", "2", "0")
    )
    cells = [mixing.cell("arm", 0, options) for options in (plain, asked, none)]
    assert len({c.key for c in cells}) == 3
    assert "gradient_every" not in cells[0].arguments
    mixing.warm_up("arm", 0, 0.3, 6, 100, gradient_every=cells[1].arguments["gradient_every"])
    assert made[0].tuning.gradient_every == 2
    assert made[0].tuning.pace is None
    record = {"chain": 0, "cpu": "abacus"}
    assert "schedule with gradient_every=2 reached" in mixing.legend([record], asked)
    assert asked.out.name == none.out.name == "mixing-gradients.md"
    assert mixing.parse(["--device", "cuda", "--gradient-every", "1"]).out.name == (
        "mixing-gradients-gpu.md"
    )
    assert "default schedule reached" in mixing.legend([record], plain)


def test_a_study_on_a_gpu_has_a_table_of_its_own(scripts, capsys):
    mixing = scripts("mixing")
    assert mixing.parse([]).out.name == "mixing.md"
    assert mixing.parse(["--device", "cuda"]).out.name == "mixing-gpu.md"
    with pytest.raises(SystemExit):
        mixing.parse(["--device", "auto"])
    assert "name cpu or a GPU" in capsys.readouterr().err


def test_whether_a_chain_climbs_is_told_by_quarters(scripts):
    assert scripts("mixing_rates").quarters(np.arange(8.0)) == [0.5, 2.5, 4.5, 6.5]


@pytest.mark.alone
def test_trajectories_of_other_lengths_take_turns_from_one_state(scripts, tmp_path):
    lengths = scripts("lengths")
    command = [*TINY[:-1], "arm-near", "--warm", "0.5", "--seconds", "0.4", "--lengths", "2,5"]
    found = lengths.main([*command, *places(tmp_path)])["arm-near"]
    assert list(found) == ["2 steps", "5 steps", "jumps"]
    assert all(len(of["quarters"]) == 2 for of in found.values())
    assert found["jumps"]["moves"] == 0
    text = (tmp_path / "study.md").read_text()
    assert text.count("| arm-near |") == 3
    assert "arm-near 10" in text  # of 120 rows some are probes and some are for testing


def test_longer_trajectories_are_fewer(scripts):
    from banklearn.sampler.schedule import Pace
    from banklearn.sampler.sweep import Tuning

    tuning = Tuning(pace=Pace(taken=0.1).of_length(24))
    for steps in (6, 96):
        other = scripts("lengths").of_length(tuning, steps)
        assert other.gradient.steps == steps
        assert other.pace.rate * steps == pytest.approx(tuning.pace.rate * 24)


@pytest.mark.alone
def test_fits_with_and_without_gradient_moves_are_scored_on_rows_held_out(scripts, tmp_path):
    gradients = scripts("gradients")
    command = [*TINY, "--seconds", "0.5", "--seeds", "1", "--every", "0,1", *places(tmp_path)]
    records = gradients.main(command)
    assert [(r["set"], r["every"]) for r in records] == [
        (name, every) for name in ("arm", "arm-near") for every in ("0", "1")
    ]
    assert [r["moves"] > 0 for r in records] == [False, True, False, True]
    assert all(np.isfinite([r["error"], r["minus_log_density"]]).all() for r in records)
    assert (tmp_path / "study.md").read_text().count("| arm-near |") == 2


def test_gradient_moves_are_compared_where_the_device_says(scripts, monkeypatch):
    gradients, asked = scripts("gradients"), []
    options = gradients.parse(["--device", "cuda", "--jobs", "3"])
    assert options.out.name == "gradients-gpu.md"
    assert gradients.parse([]).out.name == "gradients.md"
    assert "one core and cuda, shared by 3, 110 s" in gradients.legend([{"cpu": "abacus"}], options)
    cells = [gradients.cell("arm", "1", 1, 0, 9.0, 8, 60, device) for device in ("cpu", "cuda")]
    assert len({cell.key for cell in cells}) == 2
    monkeypatch.setattr(gradients, "BankRegressor", lambda M, **how: asked.append(how["device"]))
    with pytest.raises(AttributeError):
        gradients.measure(**cells[1].arguments)
    assert asked == ["cuda"]


@pytest.mark.alone
def test_numbers_of_chains_are_compared_on_the_same_rows(scripts, tmp_path):
    study = scripts("chain_counts")
    command = ["--frequencies", "8", "--rows", "120", "--sets", "arm,arm-near", "--parts", "1,4"]
    command += ["--chains", "1,3", "--seconds", "0.8,9", *places(tmp_path)]
    records = study.main(command)
    found = [(r["set"], r["part"], r["chains"]) for r in records]
    assert found == [(s, p, c) for s in ("arm", "arm-near") for p in (1, 4) for c in (1, 3)]
    assert all(len(r["sweeps"]) == r["chains"] and r["judged"] == 24 for r in records)
    assert all(np.isfinite([r["scores"]["error"], r["scores"]["nlpd"]]).all() for r in records)
    text = (tmp_path / "study.md").read_text()
    assert text.count("| arm |") == text.count("| arm-near |") == 2
    assert "0.8 s below 2000 rows and 9 s from there on, one core a fit" in text


def test_numbers_of_chains_are_compared_on_parts_that_all_of_them_have(scripts):
    study = scripts("chain_counts")

    def record(part, chains, error):
        scores = {"error": error, "nlpd": 1.0, "coverage": 0.9}
        facts = {"set": "arm", "part": part, "chains": chains, "sweeps": [7 * chains, 9]}
        return {**facts, "scores": scores}

    records = [record(0, 4, 0.5), record(0, 8, 0.25), record(1, 4, 0.25), record(1, 8, 0.5)]
    few, many = study.table([*records, record(2, 4, 9.0)]).splitlines()[2:]
    assert few.startswith("| arm | 4 | 0.375 | 1.000 | 0.900 |")
    assert few.endswith("| \N{EN DASH} | 9 to 28 |")
    assert many.endswith("| 1 of 2 | 9 to 56 |")


def test_ways_to_weigh_chains_are_scored_on_rows_that_were_held_out(scripts, tmp_path):
    study = scripts("chain_weights")
    command = ["--frequencies", "8", "--rows", "200", "--sets", "arm", "--parts", "0,3"]
    command += ["--chains", "3", "--seconds", "1.5,9", *places(tmp_path)]
    records = study.main(command)
    assert [(r["part"], r["rows"], r["judged"]) for r in records] == [(0, 160, 40), (3, 160, 40)]
    for record in records:
        for weights in record["weights"].values():
            assert len(weights) == 3
            assert sum(weights) == pytest.approx(1.0)
        errors = {way: found["error"] for way, found in record["scores"].items()}
        assert errors["best"] <= errors["highest evidence"] <= errors["worst"]
        assert errors["equal"] <= errors["worst"]  # squares are convex
    assert (tmp_path / "study.md").read_text().count("| arm |") == len(study.WAYS)


def test_stacked_weights_are_those_of_the_highest_density(scripts, seed):
    study, rng = scripts("chain_weights"), np.random.default_rng(seed)
    log_p, mass = rng.normal(size=(4, 200)), rng.integers(1, 4, 200)
    log_p[3] -= 20.0
    share = study.stacked(log_p, mass)
    assert share.sum() == pytest.approx(1.0)
    gain = (np.exp(log_p) / (share @ np.exp(log_p)) * mass).sum(axis=1) / mass.sum()
    np.testing.assert_allclose(gain[share > 1e-3], 1.0, atol=1e-5)  # Karush, Kuhn and Tucker
    assert gain[3] < 1.0
    assert share[3] < 1e-3
    np.testing.assert_allclose(study.stacked(np.repeat(log_p, mass, axis=1)), share, atol=1e-9)


def test_a_chain_has_the_harmonic_mean_of_densities_without_the_row(scripts):
    study = scripts("chain_weights")
    data = study.rows_of("arm", 0, 100)
    model = study.Watched(8, n_warmup=5, n_draws=4, n_chains=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(data.X, data.y, sample_weight=np.where(data.y > 0, 1.0, 2.0))
    _, X, y, weight = model.seen_
    found = study.left_out_densities(model, X, y, weight)
    alone = (model.draws_, X, y, np.minimum(weight, 1.0), model.trend_)
    location, scale, dof, _ = study.without_each(*alone)
    p = student_t.pdf(y, dof, location, scale)
    own = [draw.chain for draw in model.draws_]
    assert own == [0] * 4 + [1] * 4
    expected = [1.0 / np.mean(1.0 / p[:4], axis=0), 1.0 / np.mean(1.0 / p[4:], axis=0)]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-6)


def test_the_pictures_of_the_readme_can_be_drawn(scripts):
    assert set(scripts("figures").FIGURES) == {"learned-kernel.png", "paper-size.png"}


def test_the_papers_schedule_jumps_and_nothing_else(scripts):
    mixing, chains = scripts("mixing"), scripts("chains")
    data = scripts("study_sets").study_rows("arm", 60)
    problem = chains.prepare(data.task, data.X, data.y, data.X[:3], 6)
    tuning = mixing.papers(problem.tuning)
    assert not any(tuning.interweaves(s) for s in range(5))
    assert problem.tuning.pace is not None
    assert tuning.pace is None
    assert not any(tuning.gradients(s) for s in range(1, 100))
    assert (tuning.moves.draw_rho(50, np.random.default_rng(0)) == 1.0).all()
    assert tuning.moves.switch == 0.0


@pytest.mark.parametrize("name", ["arm", "arm-near"])
def test_a_study_begins_where_the_estimators_chains_do(scripts, name):
    chains, data = scripts("chains"), scripts("study_sets").study_rows(name, 150)
    problem = chains.prepare(data.task, data.X, data.y, data.X[:3], 6)
    kind = BankRegressor if data.task == "regression" else BankClassifier
    model = kind(6, n_draws=1, n_chains=1, random_state=0, device="cpu").fit(data.X, data.y)
    assert problem.start == model._start != model.starting_point_
    assert problem.n_warmup == model.n_warmup
    state = problem.starting(Streams(0, 0))
    assert state.lam == problem.model.likelihood.start_lam(model._start.lam)
    np.testing.assert_array_equal(state.psi, model.prior_.psi_mean)


def autoregressive(rng, n, sweeps, k=20):
    """n values each of k quantities that need so many sweeps for an effective sample."""
    keep, before = (sweeps - 1.0) / (sweeps + 1.0), int(5 * sweeps)
    noise = np.sqrt(1.0 - keep**2) * rng.standard_normal((n + before, k))
    return lfilter([1.0], [1.0, -keep], noise, axis=0)[before:]


def test_rates_are_those_of_chains_whose_times_are_known(scripts, seed):
    """Sweeps of 0.5 s; the second schedule has a tenth of the speed, the third never moves far."""
    rates_of, rng, records = scripts("mixing_rates"), np.random.default_rng(seed), []
    n = 4000
    for pair in range(4):
        values = {
            "default": autoregressive(rng, n, 10.0, 21),
            "jumps": autoregressive(rng, n, 100.0, 21),
            "paper": 0.1 * autoregressive(rng, n, 2.0, 21),
        }
        ends = {s: 0.5 * np.arange(1.0, n + 1) for s in values}
        facts = {"low_rank_seconds": None, "gradient_acceptance": [], "gradient_steps": 1}
        records.append({"chain": pair, "values": values, "ends": ends, **facts})
    found = rates_of.rates(records, 0.5 * n)
    assert [of["ms"] for of in found.values()] == [500.0] * 3
    assert [of["seconds"] for of in found.values()] == [0.5 * n] * 3

    def rate(schedule, count):
        return np.median(found[schedule][count])

    for count in rates_of.COUNTS:
        assert rate("default", count) == pytest.approx(1.0 / (10.0 * 0.5), rel=0.35)
        assert rate("jumps", count) == pytest.approx(1.0 / (100.0 * 0.5), rel=0.5)
    # By its own spread a chain in a narrow part is the best of all.
    assert rate("paper", "each chain") == pytest.approx(1.0 / (2.0 * 0.5), rel=0.35)
    assert np.median(found["paper"]["seen"]) == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize("adapting", [False, True])
def test_chains_in_turn_settle_where_their_warm_up_ends(scripts, adapting):
    told = []

    class Course:
        def __init__(self, name):
            self.adapt = lambda seconds: told.append((name, "adapt", seconds))
            self.watch = lambda seconds: told.append((name, "watch", seconds))
            self.settle = lambda: told.append((name, "settle", None))

    scripts("chains").in_turn([Course("a"), Course("b")], 3.0, 2, adapting)
    how = "adapt" if adapting else "watch"
    turns = [("a", how, 1.5), ("b", how, 1.5)] * 2
    assert told == turns + ([("a", "settle", None), ("b", "settle", None)] if adapting else [])


def test_what_has_no_more_than_the_least_of_effective_samples_is_not_in_bold(scripts):
    rates_of = scripts("mixing_rates")
    found = {"default": (0.5, 100.0), "jumps": (0.02, 100.0), "paper": (0.011, 100.0)}
    of = {s: {"each chain": [rate] * 3, "seconds": time} for s, (rate, time) in found.items()}
    cells = rates_of.cells_of_rates(of, list(of), "each chain", slice(1, None))
    assert cells == ["0.5 (50.0)", "0.02 (2.0)", "0.011 (1.1)", "**25.00**", "45.45"]
    of["paper"]["each chain"] = [float("nan")] * 3
    cells = rates_of.cells_of_rates(of, list(of), "each chain", slice(0, 1))
    assert cells == ["0.5 (50.0)", "0.02 (2.0)", "-", "**25.00**", "-"]


def test_units_are_the_largest_deviation_of_a_pair(scripts):
    travel = scripts("travel")
    x, y = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), np.array([[0.0, 1.0], [6.0, 1.0]])
    of = travel.in_units_of_a_pair({"a": [x, x], "b": [y, 0.1 * x]})
    np.testing.assert_allclose(of["a"][0][:, 0], x[:, 0] / np.sqrt(18.0))
    np.testing.assert_allclose(of["b"][0][:, 0], y[:, 0] / np.sqrt(18.0))
    np.testing.assert_allclose(of["b"][1][:, 0], 0.1 * x[:, 0] / 2.0)
    assert not np.isfinite(of["a"][0][:, 1]).any()


def relaxing(seed, speed, n=40_000, sweep=0.1):
    """A sum of paths that relax on many scales, so many times as fast as another one would."""
    rng = np.random.default_rng(seed)
    x, scales = np.zeros(n), [0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    for T in scales:
        keep = np.exp(-sweep * speed / T)
        noise = np.sqrt((1 - keep**2) / len(scales)) * rng.standard_normal(n)
        x += lfilter([1.0], [1.0, -keep], noise)
    return x[:, None], sweep * np.arange(1, n + 1)


def test_a_chain_is_as_far_as_early_as_it_is_fast(scripts, seed):
    """Whatever the law."""
    travel, found = scripts("travel"), []
    fast, slow = (
        [relaxing(100 * seed + 10 * k + i, speed, 120_000) for i in range(4)]
        for k, speed in enumerate((12.0, 1.0))
    )
    lags = travel.lags_of(0.1, 400.0)
    for parts in (fast, slow):
        values, ends = [x for x, _ in parts], [t for _, t in parts]
        shares, seconds = travel.travelled(values, ends, lags)
        found.append(travel.seconds_to(0.5, shares[:, 0], seconds))
    early, late = found
    assert late / early == pytest.approx(12.0, rel=0.4)


def test_a_chain_is_there_when_it_was_there_first(scripts):
    seconds_to, lags = scripts("travel").seconds_to, np.array([1.0, 2.0, 4.0, 8.0])
    rising = np.array([0.1, 0.2, 0.3, 0.4])
    assert seconds_to(0.25, rising, lags) == pytest.approx(np.sqrt(8.0))
    assert seconds_to(0.1, rising, lags) == 1.0
    assert seconds_to(0.4, rising, lags) == pytest.approx(8.0)
    assert np.isnan([seconds_to(s, rising, lags) for s in (0.05, 0.45)]).all()
    assert seconds_to(0.3, np.array([0.1, 0.3, 0.2, 0.25]), lags) == 2.0


def test_only_distances_that_many_quantities_travel_are_compared(scripts):
    """Three of them: one is moved as far as 0.5, one as far as 0.25, one not even that."""
    rates_of, lags = scripts("mixing_rates"), [1.0, 2.0, 4.0, 8.0]
    shares = [[0.05, 0.1, 0.25, 0.6], [0.1, 0.2, 0.25, 0.3], [0.01, 0.02, 0.03, 0.04]]
    found = {"default": {"shares": shares, "lags": lags}}
    found["jumps"] = {"shares": shares, "lags": [3.0 * lag for lag in lags]}
    cells = rates_of.cells_as_far(found, ["default", "jumps"], slice(0, None))
    assert cells == ["1.5, 4, - s", "4.5, 12, - s", "**3, 3, -**"]
    cells = rates_of.cells_as_far(found, ["default", "jumps"], slice(0, 1))
    assert cells[2] == "**3, 3, 3**"


def test_squared_distances_are_those_of_chains_and_lags(scripts):
    travelled = scripts("travel").travelled
    x, t = np.array([[0.0], [1.0], [3.0], [3.0]]), np.array([1.0, 2.0, 3.0, 5.0])
    lags = np.array([1.0, 2.0, 9.0])
    shares, spans = travelled([x, x[:2]], [t, t[:2]], lags)
    # Within 1: 0 to 1, 1 to 3, 3 to 3 (after 2 seconds), and 0 to 1 of the short chain.
    np.testing.assert_allclose(shares, [[(1 + 4 + 0 + 1) / 4 / 2], [(9 + 4 + 0) / 3 / 2]])
    np.testing.assert_allclose(spans, [(1 + 1 + 2 + 1) / 4, (2 + 3 + 2) / 3])


@pytest.mark.alone
def test_draws_chains_and_the_polished_draw_are_scored(scripts, tmp_path, capsys):
    study = scripts("draws_study")
    records = study.main([*TINY, "--seconds", "1", "--chains", "2", *places(tmp_path)])
    for record in records:
        assert list(record["scores"]) == ["one draw", "one chain", "2 chains", "polished"]
        assert all(np.isfinite(list(s.values())).all() for s in record["scores"].values())
        seconds = record["seconds"]
        assert seconds["one chain"] < seconds["2 chains"]
        assert seconds["one chain"] < seconds["polished"]
        assert record["draws"]["one chain"] < record["draws"]["2 chains"]
    assert "2 of 2 sets" in capsys.readouterr().out
    assert "| arm | polished | 1 |" in (tmp_path / "study.md").read_text()


def test_a_class_is_missed_where_rows_have_it_and_none_is_given_to_it(scripts):
    rare = scripts("rare_classes")
    y = np.array([1, 1, 1, 2, 3, 3])
    told = rare.line(4, "most probable", 0.25, y, np.array([1, 1, 3, 1, 3, 1]), "0.1", "350", "9")
    cells = [cell.strip() for cell in told.strip("|").split("|")]
    assert cells[:5] == ["4", "most probable", "0.25", "0.50000", "2"]
    assert cells[5:] == ["1: 2/3, 2: 0/1, 3: 1/2", "0.1", "350", "9"]
    assert len(cells) == rare.HEADER.splitlines()[0].count("|") - 1
    assert "| none |" in rare.line(4, "ready", 0.0, y, np.array([3, 1, 2, 1, 3, 1]), "", "", "")


def test_both_decisions_are_measured_on_a_fold(scripts, tmp_path, monkeypatch, capsys):
    rare = scripts("rare_classes")
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, 2.0, 3.0], [200, 40, 20])
    made = SimpleNamespace(X=(2.0 * y + rng.standard_normal(260))[:, None], y=y)
    monkeypatch.setattr(rare, "load", lambda name: made)
    out = tmp_path / "rare.md"
    command = argparse.Namespace(
        set="made", max_error=0.4, limit=2.0, frequencies=8, gpu=False, out=out
    )
    first, second = rare.measure(1, command).splitlines()[:2]
    assert "| most probable | 0.00 |" in first
    assert "| ready for rare |" in second
    kept = np.load(tmp_path / "rare-1.npz")
    assert kept["p"].shape == (52, 3)
    wrong = (kept["p"] * kept["costs"]).argmax(axis=1) + 1 != kept["y"]
    assert f"| {wrong.mean():.5f} |" in second
    command.max_error = 1e-6
    assert "cannot be promised" in rare.measure(1, command)


@pytest.mark.alone
def test_both_laws_of_errors_are_scored_on_rows_that_were_held_out(scripts, tmp_path, capsys):
    study = scripts("error_laws")
    command = ["--frequencies", "8", "--rows", "400", "--sets", "arm", "--parts", "0,3"]
    command += ["--chains", "2", "--seconds", "1.5,9", *places(tmp_path)]
    records = study.main(command)
    assert [(r["part"], r["rows"], r["judged"]) for r in records] == [(0, 320, 80), (3, 320, 80)]
    for record in records:
        laws = ("normal", "learned by 1 / p", "learned")
        normal, once, learned = (record["scores"][law] for law in laws)
        assert normal["error"] == once["error"] == learned["error"]
        assert len({normal["nlpd"], once["nlpd"], learned["nlpd"]}) == 3
        assert sorted(learned["inside"]) == learned["inside"]
    assert "2 of 2 fits" in capsys.readouterr().out
    held = np.mean([r["scores"]["learned"]["inside"][2] for r in records])
    assert "| arm | learned | 2 | 160 |" in (tmp_path / "study.md").read_text()
    assert f"| {held:.3f} |" in (tmp_path / "study.md").read_text()


def test_the_law_by_the_default_power_is_that_of_the_fit(scripts):
    study = scripts("error_laws")
    data = study.rows_of("arm", 0, 400)
    model = study.Watched(8, n_warmup=10, n_draws=10, n_chains=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(data.X, data.y)
    found, once = (model._law_of_errors(*model.seen_, power=power) for power in (2.0, 1.0))
    np.testing.assert_array_equal(found.share, model.error_law_.share)
    assert found.std() > once.std()


def test_parts_are_held_out_once_each_and_never_learned_from(scripts):
    study = scripts("error_laws")
    parts = [study.rows_of("arm", part, 101) for part in range(5)]
    whole = study.rows_of("arm", None, 101)
    held = np.concatenate([part.y_test for part in parts])
    np.testing.assert_array_equal(np.sort(held), np.sort(whole.y))
    for part in parts:
        assert not set(part.y) & set(part.y_test)
        assert len(part.y) + len(part.y_test) == 101


@pytest.mark.alone
def test_both_arithmetics_are_timed_from_one_state(scripts, tmp_path, capsys):
    study = scripts("arithmetic")
    command = [*TINY, "--warm", "0.5", "--repeats", "2", *places(tmp_path)]
    records = study.main(command)
    assert [(r["set"], r["rows"]) for r in records] == [("arm", 120), ("arm-near", 120)]
    for record in records:
        assert record["error"] > 0.0
        assert set(record["seconds"]) == {"double", "mixed"}
    records[0]["error"], records[1]["error"] = 0.06, 0.04
    none = {"set": "other", "rows": 9, "error": None, "seconds": None}
    text = study.table([*records, none])
    assert text.count("**no**") == 2
    assert text.count("| yes |") == text.count("cannot be factored") == 1
    assert "2 of 2 chains" in capsys.readouterr().out

"""The speed benchmarks run, and what they compare is what they say."""

import json

import numpy as np
import pytest

from helpers import close


def test_every_section_runs_at_tiny_sizes(scripts, tmp_path, capsys):
    bench = scripts("bench")
    found = bench.main(["--quick", "--out", str(tmp_path / "bench")])
    assert set(found) == set("abcdefgi")
    content = json.loads((tmp_path / "bench.json").read_text())
    assert set(content["sections"]) == set(found)
    text = (tmp_path / "bench.md").read_text()
    assert all(section.title in text for section in found.values())
    low_rank = content["sections"]["c"]["300"]
    assert low_rank["equal"] == low_rank["compared"] == 12
    assert "Peak memory" in capsys.readouterr().out


def test_an_unknown_section_is_refused(scripts, capsys):
    with pytest.raises(SystemExit):
        scripts("bench").main(["--only", "a,x"])
    assert "no section x" in capsys.readouterr().err


@pytest.mark.parametrize("single", [False, True])
def test_every_way_gives_the_products_of_a_gradient(single, scripts):
    products = scripts("products").OfGradient(50, 3, 1, 20, single)
    assert products.flops == 50 * (2 * 7 * 6 + 7 * 8)
    for name, way in products.ways().items():
        products.S[:] = 0.0
        way()
        as_rows = name.endswith("rows")
        blocks = [products.flat[: n * 7].reshape(7, n, order="C" if as_rows else "F")
                  for n in (20, 20, 10)]  # fmt: skip
        close(np.triu(products.S), np.triu(sum(Phi @ Phi.T for Phi in blocks)), 1e-5, 1e-5)
        R = products.R[: 10 * 6].reshape(6, 10, order="C" if as_rows else "F")
        close(R, products.inverse @ blocks[-1], 1e-5, 1e-5)


def test_every_way_gives_the_products(scripts):
    products = scripts("products").Products(50, 6, 7, block_rows=20)
    for name, way in products.ways().items():
        products.C[:] = 0.0
        products.S[:] = 0.0
        way()
        # A block starts again at the beginning of the memory.
        expected_C, expected_S = np.zeros((7, 6)), np.zeros((6, 6))
        for n in (20, 20, 10) if name.startswith("blocks") else (50,):
            A, B = products.flat[: n * 6], products.flat[n * 6 : n * 13]
            by_rows = name.endswith("rows")
            A = A.reshape(6, n) if by_rows else A.reshape(n, 6).T
            B = B.reshape(7, n) if by_rows else B.reshape(n, 7).T
            expected_C += B @ A.T
            expected_S += A @ A.T
        close(products.C, expected_C, 1e-12, 1e-12)
        close(np.triu(products.S), np.triu(expected_S), 1e-12, 1e-12)


def test_the_plain_extended_statistic_is_the_sweeps(scripts, seed):
    measure = scripts("measure")
    X, y = measure.make_data(200, 3, seed=seed)
    problem = measure.make_problem(X, y, 8, seed=seed)
    W = problem.chain.state.W
    ext = measure.extended_gram(X, y, W, W)
    close(ext.G[0, :17, :17], problem.chain.gram.G[0], 1e-9, 1e-9)
    close(ext.G[0, 17:, 1:17], problem.chain.gram.G[0, 1:, 1:], 1e-9, 1e-9)
    close(ext.r[0, :17], problem.chain.gram.r[0], 1e-9, 1e-9)


def test_tasks_take_turns_and_warm_up_is_left_out(scripts):
    order = []
    seconds = scripts("measure").alternate(
        {"one": lambda: order.append(1), "two": lambda: order.append(2)}, repeats=3
    )
    assert order == [1, 2] * 4
    assert [len(values) for values in seconds.values()] == [3, 3]


def test_two_stages_keep_detailed_balance(scripts):
    stages = scripts("delayed_acceptance").stages
    for D in (-3.0, -0.4, 0.0, 1.7):
        for D_tilde in (-2.0, -0.1, 0.0, 0.9, 5.0):
            forward, backward = np.prod(stages(D, D_tilde)), np.prod(stages(-D, -D_tilde))
            close(forward, np.exp(D) * backward, 1e-13)
            assert forward <= min(1.0, np.exp(D)) * (1 + 1e-13)
    assert stages(1.0, float("nan")) == (0.0, 0.0)


def test_a_perfect_surrogate_loses_no_acceptance(scripts, seed):
    measure, delayed = scripts("measure"), scripts("delayed_acceptance")
    X, y = measure.make_data(300, 2, seed=seed)
    problem = measure.make_problem(X, y, 10, seed=seed)
    W_star, log_u = problem.next_proposals()
    W, lam = problem.chain.state.W, problem.chain.state.lam
    gram = measure.extended_gram(X, y, W, W_star)
    tt, n = float(gram.tt[0]), float(gram.n[0])
    full = delayed.Evidence(gram.G[0], gram.r[0], tt, n, lam, 1.0, 1e-6)
    accepted, one, tallies = delayed.walk(full, {"same": full}, 10, problem.h, log_u)
    problem.step()
    np.testing.assert_array_equal(accepted, (problem.chain.state.W != W).any(axis=1))
    close(tallies["same"].a1, one, 1e-12)
    close(tallies["same"].both, one, 1e-12)
    # One stage that computes every column costs what it costs.
    close(delayed.speed_up(10, 100, 0, 0.3, 0.3, 1.0, 0.0), 1.0, 1e-12)


def test_the_study_runs_and_gives_a_verdict(scripts):
    measure, delayed = scripts("measure"), scripts("delayed_acceptance")
    X, y = measure.make_data(400, 2)
    mean_one, records = delayed.study(X, y, 6, 2, 1, (50, 100, 4000))
    assert 0 < mean_one <= 1
    assert [r["rows"] for r in records] == [50, 50, 50, 100, 100, 100]
    assert "pay" in delayed.report(400, 6, mean_one, records)


def test_the_comparison_of_libraries_runs(scripts, tmp_path, capsys):
    versus = scripts("versus")
    found = versus.main(
        ["--quick", "--sets", "waves", "--methods", "bank,trees,gp", "--out", str(tmp_path / "v")]
    )
    assert set(found["waves"]) == {"bank", "trees", "gp"}
    assert "best of trees" in (tmp_path / "v.md").read_text()
    assert set(json.loads((tmp_path / "v.json").read_text())["curves"]) == {"waves"}


def test_the_first_point_below_a_target_counts(scripts):
    first_below = scripts("versus").first_below
    curve = [(1.0, 0.5, "a"), (3.0, 0.2, "b"), (2.0, 0.2, "c")]
    assert first_below(curve, 0.3) == (2.0, 0.2, "c")
    assert first_below(curve, 0.1) is None

"""What comes out: predictions, their laws, the same bits from the same seed, interruption."""

import _thread
import pickle
import threading
import time

import numpy as np
import pytest
from scipy.stats import kstest, norm
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from banklearn import BankRegressor
from helpers import FALSE_ALARM, close

SMALL = {
    "n_frequencies": 16,
    "n_warmup": 20,
    "n_draws": 10,
    "n_chains": 2,
    "thin": 1,
    "random_state": 0,
}


def make_data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, 5 + 2 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)


X, Y = make_data()
NEW, NEW_Y = make_data(400, 1)


def small(**changes):
    return BankRegressor(**(SMALL | changes))


@pytest.fixture(scope="module")
def fitted():
    return small().fit(X, Y)


def test_it_learns(fitted):
    assert fitted.score(NEW, NEW_Y) > 0.95


def test_predictions_agree_with_each_other(fitted):
    mean, std = fitted.predict(NEW, return_std=True)
    close(fitted.predict(NEW), mean, 1e-10)
    lower, upper = fitted.predict_interval(NEW, coverage=0.9)
    quantiles = fitted.predict_quantiles(NEW, [0.05, 0.5, 0.95])
    close(quantiles[:, 0], lower, 1e-9)
    close(quantiles[:, 2], upper, 1e-9)
    assert np.all(np.diff(quantiles, axis=1) > 0)
    # The law is nearly normal here, so that its quantiles follow from its moments.
    close(upper - lower, 2 * norm.ppf(0.95) * std, 0.15)
    assert fitted.predict_quantiles(NEW[:3], 0.5).shape == (3, 1)
    covered = ((lower < NEW_Y) & (NEW_Y < upper)).mean()
    assert 0.8 < covered < 0.98


def test_the_predictive_density_integrates_to_one_and_has_the_mean(fitted):
    mean, std = fitted.predict(NEW[:1], return_std=True)
    grid = np.linspace(mean[0] - 12 * std[0], mean[0] + 12 * std[0], 4001)
    p = np.exp(fitted.log_predictive_density(np.repeat(NEW[:1], 4001, axis=0), grid))
    step = grid[1] - grid[0]
    close(p.sum() * step, 1.0, 1e-4)
    close((p * grid).sum() * step, mean[0], 1e-4)
    close(np.sqrt((p * (grid - mean[0]) ** 2).sum() * step), std[0], 1e-2)


def test_probabilities_of_the_targets_are_uniform(fitted):
    # The law puts each new target at a uniform quantile, roughly: the fit is good, not exact.
    levels = np.linspace(0.1, 0.9, 9)
    quantiles = fitted.predict_quantiles(NEW, levels)
    close((NEW_Y[:, None] < quantiles).mean(axis=0), levels, 0, 0.12)


# Weights by their exact law, and by a sketch of it; few rows, so that tails are heavy.
@pytest.mark.parametrize(("M", "N"), [(4, 150), (16, 150), (4, 6)])
def test_samples_have_the_moments_of_the_law(M, N):
    model = small(n_frequencies=M, n_chains=1).fit(X[:N], Y[:N])
    rows, n = NEW[:5], 6000
    mean, std = model.predict(rows, return_std=True)
    sample = model.sample_y(rows, n, random_state=1)
    assert sample.shape == (5, n)
    limit = norm.isf(FALSE_ALARM / 10)
    assert np.all(np.abs(sample.mean(axis=1) - mean) < limit * std / np.sqrt(n))
    spread = ((sample - mean[:, None]) ** 2) / std[:, None] ** 2
    error = spread.std(axis=1) / np.sqrt(n)
    assert np.all(np.abs(spread.mean(axis=1) - 1) < limit * error)
    smooth = model.sample_y(rows, n, random_state=1, noise=False)
    assert np.all(smooth.std(axis=1) < 1.05 * sample.std(axis=1))


def test_samples_are_functions():
    model = small(n_frequencies=4).fit(X, Y)
    rows = np.repeat(NEW[:1], 3, axis=0)
    smooth = model.sample_y(rows, 5, random_state=0, noise=False)
    close(smooth, np.broadcast_to(smooth[:1], (3, 5)), 1e-12)
    noisy = model.sample_y(rows, 5, random_state=0)
    assert np.all(noisy.std(axis=0) > 0)
    np.testing.assert_array_equal(noisy, model.sample_y(rows, 5, random_state=0))


@pytest.mark.parametrize("N", [3, 150])
def test_probability_transform_of_samples_is_uniform(N):
    model = small(n_frequencies=4).fit(X[:N], Y[:N])
    row = NEW[7:8]
    sample = model.sample_y(row, 12_000, random_state=2)[0]
    levels = np.linspace(0.005, 0.995, 199)
    quantiles = model.predict_quantiles(row, levels)[0]
    assert kstest(np.interp(sample, quantiles, levels), "uniform").pvalue > FALSE_ALARM


def bits(model):
    return [(d.W, d.mu_n, d.root, d.pi, d.lam, d.noise, d.chain, d.sweep) for d in model.draws_]


def same_bits(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_same_seed_gives_the_same_bits(fitted):
    same_bits(bits(small().fit(X, Y)), bits(fitted))
    np.testing.assert_array_equal(small().fit(X, Y).predict(NEW), fitted.predict(NEW))
    other = small(random_state=1).fit(X, Y)
    assert not np.array_equal(other.draws_[0].W, fitted.draws_[0].W)


def test_fitting_again_gives_the_same_bits():
    model = small().fit(NEW, NEW_Y)
    model.fit(X, Y)
    first = bits(model)
    same_bits(bits(model.fit(X, Y)), first)
    same_bits(bits(small().fit(X, Y)), first)


def test_chains_do_not_depend_on_how_many_there_are():
    one, three = small(n_chains=1).fit(X, Y), small(n_chains=3).fit(X, Y)
    for a, b in zip(one.draws_, three.draws_[:10], strict=True):
        close(a.W, b.W, 1e-9)
    assert [d.chain for d in three.draws_] == [0] * 10 + [1] * 10 + [2] * 10
    assert not np.array_equal(three.draws_[0].W, three.draws_[10].W)


def test_results_are_kept_under_their_names(fitted):
    assert len(fitted.draws_) == 20
    assert len(fitted.trace_) == 2
    assert len(fitted.trace_[0]["log_evidence"]) == 30
    assert fitted.trace_[0]["warmup"] == 20
    assert np.all(np.isfinite(fitted.trace_[0]["log_evidence"]))


def test_it_survives_pickling(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))


def test_units_of_the_target_do_not_matter(fitted):
    other = small().fit(X, 1000 * Y - 7)
    close(other.predict(NEW), 1000 * fitted.predict(NEW) - 7, 1e-6, 1e-4)
    close(
        other.predict(NEW, return_std=True)[1], 1000 * fitted.predict(NEW, return_std=True)[1], 1e-6
    )
    close(
        other.log_predictive_density(NEW, 1000 * NEW_Y - 7),
        fitted.log_predictive_density(NEW, NEW_Y) - np.log(1000),
        1e-4,
        1e-5,
    )


@pytest.mark.parametrize("n_chains", [1, 4])
@pytest.mark.alone
def test_the_time_limit_holds(n_chains):
    begin = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time = 1 s ended the fit early"):
        model = small(n_warmup=10**6, n_draws=10**6, max_time=1.0, n_chains=n_chains).fit(X, Y)
    assert 0.9 < time.monotonic() - begin < 1.8
    assert {d.chain for d in model.draws_} == set(range(n_chains))


def interrupt_when(condition):
    """Press Ctrl-C from outside as soon as the condition holds."""

    def wait():
        end = time.monotonic() + 30
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        _thread.interrupt_main()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("n_chains", [1, 2, 5])
def test_an_interruption_keeps_the_draws_so_far(n_chains, monkeypatch):
    from banklearn.estimators.progress import Progress

    seen = {}

    def watch(self, chain, sweep, plan, info):
        seen[chain] = sweep

    monkeypatch.setattr(Progress, "__call__", watch)
    model = small(n_warmup=10, n_draws=10**6, n_chains=n_chains)
    thread = interrupt_when(lambda: max(seen.values(), default=0) > 40)
    with pytest.warns(UserWarning, match=r"Interrupted: the fit keeps the \d+ of \d+ draws"):
        model.fit(X, Y)
    thread.join()
    assert 20 < len(model.draws_) < 10**6
    # Chains that had not left their warm-up say nothing.
    assert {d.chain for d in model.draws_} <= set(seen)
    assert np.all(np.isfinite(model.predict(NEW)))


def test_an_interruption_during_warm_up_says_so(monkeypatch):
    from banklearn.estimators.progress import Progress

    seen = []
    monkeypatch.setattr(Progress, "__call__", lambda self, chain, *rest: seen.append(chain))
    thread = interrupt_when(lambda: len(seen) > 5)
    model = small(n_warmup=10**6)
    with pytest.warns(UserWarning, match="Interrupted during warm-up"):
        model.fit(X, Y)
    thread.join()
    assert np.all(np.isfinite(model.predict(NEW)))


def test_a_progress_bar_reports(capsys):
    small(verbose=1, n_warmup=2, n_draws=2).fit(X, Y)
    shown = capsys.readouterr()
    assert "log evidence" in shown.out + shown.err


SERVED = {
    "SVR": lambda k: SVR(kernel=k, C=100.0),
    "KernelRidge": lambda k: KernelRidge(kernel=k, alpha=0.01),
}


@pytest.mark.parametrize("make", SERVED.values(), ids=SERVED)
def test_the_kernel_serves_other_estimators(make, fitted):
    shift = Y[:60].mean()
    model = make(fitted.kernel_).fit(X[:60], Y[:60] - shift)
    residual = NEW_Y[:60] - shift - model.predict(NEW[:60])
    assert 1 - residual.var() / NEW_Y[:60].var() > 0.7


def test_a_callable_and_its_matrix_give_the_same_predictions(fitted):
    kernel = fitted.kernel_
    called = KernelRidge(kernel=kernel, alpha=0.1).fit(X[:20], Y[:20]).predict(NEW[:5])
    matrix = KernelRidge(kernel="precomputed", alpha=0.1).fit(kernel(X[:20]), Y[:20])
    close(matrix.predict(kernel(NEW[:5], X[:20])), called, 1e-8)


def test_the_kernel_serves_kernel_pca(fitted):
    kernel = fitted.kernel_
    matrix = KernelPCA(3, kernel="precomputed").fit_transform(kernel(X[:30]))
    called = KernelPCA(3, kernel=kernel).fit_transform(X[:30])
    close(np.abs(called), np.abs(matrix), 1e-6, 1e-8)


def test_the_kernel_serves_gaussian_processes(fitted):
    kernel = ConstantKernel(4.0) * fitted.kernel_.as_gp_kernel() + WhiteKernel(0.05)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, Y)
    assert model.score(NEW, NEW_Y) > 0.9
    mean, std = model.predict(NEW, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    assert "BankKernel(20 draws)" in str(model.kernel_)
    assert model.kernel_.k1.k1.constant_value != 4.0  # its own parameters were optimised
    plain = GaussianProcessRegressor(fitted.kernel_.as_gp_kernel(), alpha=0.1).fit(X, Y - Y.mean())
    assert plain.kernel_.theta.size == 0
    assert np.all(np.isfinite(plain.predict(NEW)))


def test_rows_scaled_block_by_block_give_the_same_bits(fitted, monkeypatch):
    monkeypatch.setattr("banklearn.estimators.base.COPIED_BYTES", 0)
    again = small().fit(X, Y)
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))

"""The learned kernel as an object."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.gaussian_process.kernels import WhiteKernel

from banklearn.model.kernel import empirical_kernel, mixture_kernel
from banklearn.numerics.streams import Streams
from banklearn.posterior.draws import regression_draw
from banklearn.posterior.kernel import LearnedKernel
from banklearn.posterior.scaling import fit_scaling
from banklearn.sampler import sweep
from banklearn.sampler.sweep import Model
from helpers import close, make_problem


def make_kernel(d=2, kind="standard", draws=5, max_draws=32):
    kept = []
    for seed in range(draws):
        problem = make_problem(seed, N=15, d=d, M=6)
        model = Model(problem.prior, problem.gaussian, problem.trend)
        chain = sweep.init(problem.engine(), model, problem.state, Streams(0))
        kept.append(regression_draw(chain, problem.prior, 0, seed, np.random.default_rng(seed)))
    rows = np.random.default_rng(0).standard_normal((30, d)) * np.arange(1, d + 1) + 5
    return LearnedKernel(kept, fit_scaling(rows, None, kind), max_draws), rows


@pytest.mark.parametrize("kind", ["standard", "arcsinh", "quantile", "none"])
def test_a_matrix_is_the_mean_over_draws(kind):
    kernel, rows = make_kernel(kind=kind)
    A, B = rows[:4], rows[4:9]
    lags = kernel.scaling(A)[:, None] - kernel.scaling(B)[None]
    expected = np.mean([empirical_kernel(lags, draw.W) for draw in kernel.draws], axis=0)
    close(kernel(A, B), expected, 0, 1e-12)
    K = kernel(A)
    close(np.diag(K), 1.0, 1e-12)
    close(kernel.diag(A), np.diag(K), 1e-12)
    assert np.linalg.eigvalsh(kernel(rows)).min() > -1e-10
    pair = kernel(A[0], A[1])
    assert isinstance(pair, float)
    close(pair, K[0, 1], 1e-10)
    close(kernel(A[0])[0, 0], 1.0, 1e-12)


def test_few_of_many_draws_are_used():
    kernel, rows = make_kernel(max_draws=2)
    lags = kernel.scaling(rows[:3])[:, None] - kernel.scaling(rows[:3])[None]
    ends = [kernel.draws[0], kernel.draws[-1]]
    close(kernel(rows[:3]), np.mean([empirical_kernel(lags, d.W) for d in ends], axis=0), 0, 1e-12)


def test_curves_are_in_the_users_units():
    kernel, rows = make_kernel()
    lags = rows[:3] - rows[3:6]
    close(
        np.diag(kernel(rows[:3], rows[3:6])), kernel.curves(lags, "features").mean(axis=0), 0, 1e-12
    )
    along = kernel.curves(np.array([0.0, 0.7]))
    close(along, kernel.curves(np.array([[0.0, 0.0], [0.7, 0.0]])), 0)
    close(along[:, 0], 1.0, 1e-12)
    draw = kernel.mixture(2)
    scaled = lags / kernel.scaling.scale
    close(kernel.curves(lags)[2], mixture_kernel(scaled, draw.pi, draw.mu, draw.Sigma), 1e-12)


def test_bands_hold_their_share_of_the_draws():
    kernel, _ = make_kernel(draws=40)
    lags = np.linspace(0, 3, 7)
    curves = kernel.curves(lags)
    band = kernel.at_lags(lags, coverage=0.5)
    close(band.mean, curves.mean(axis=0), 1e-12)
    inside = ((curves >= band.lower) & (curves <= band.upper)).mean(axis=0)
    close(inside[1:], 0.5, 0, 0.06)


def test_the_density_in_users_units_integrates_to_one_and_gives_the_kernel():
    kernel, _ = make_kernel(d=1)

    def rho(w):
        return kernel.spectral_density(np.array([w])).mean[0]

    total = 2 * quad(rho, 0, 200, limit=400, points=[1, 5, 20])[0]
    close(total, 1.0, 1e-4)
    t = 0.4
    value = 2 * quad(lambda w: np.cos(w * t) * rho(w), 0, 200, limit=400, points=[1, 5, 20])[0]
    close(kernel.at_lags(np.array([t])).mean[0], value, 1e-3)


BAD = {
    "columns of rows": (lambda k: k(np.zeros((3, 5))), "X has 5 columns"),
    "columns of lags": (lambda k: k.at_lags(np.zeros((3, 5))), "5 columns"),
    "columns of omega": (lambda k: k.spectral_density(np.zeros((3, 5))), "5 columns"),
    "one omega for two inputs": (lambda k: k.spectral_density(np.zeros(3)), "1 columns"),
    "coverage of lags": (lambda k: k.at_lags(np.zeros(3), coverage=2), "coverage must lie between"),
    "coverage of omega": (
        lambda k: k.spectral_density(np.zeros((3, 2)), coverage=-1),
        "coverage must lie between",
    ),
    "kind": (lambda k: k.curves(np.zeros(3), "cubic"), "kind must be"),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD)
def test_bad_questions_get_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(make_kernel()[0])


def test_transformed_inputs_have_no_lags():
    kernel, _ = make_kernel(kind="arcsinh")
    for ask in (kernel.at_lags, kernel.spectral_density):
        with pytest.raises(ValueError, match="input_scaling='standard'"):
            ask(np.zeros((2, 2)))
    assert not kernel.as_gp_kernel().is_stationary()


def test_a_clone_for_gaussian_processes_is_equal_and_copies_no_draws():
    kernel, rows = make_kernel()
    own = kernel.as_gp_kernel()
    other = make_kernel()[0].as_gp_kernel()
    assert clone(own) == own
    assert clone(own) != other
    assert clone(own).learned is kernel
    whole = 1.0 * own + WhiteKernel(1.0)
    copied = clone(whole)
    assert copied == whole
    assert copied.k1.k2.learned is kernel
    assert whole.clone_with_theta(whole.theta) == whole
    close(copied(rows), whole(rows), 0)
    np.testing.assert_array_equal(copied.set_params(k2__noise_level=0.2).theta[1], np.log(0.2))
    assert copied != whole

"""Simulation-based calibration (Talts and others, 2018): ranks of what is true among the draws.

Everything is drawn from the model, a chain runs on the data from a start of its own, and the rank
of each true quantity among the kept draws must be uniform. Quantities have no labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chisquare, kstest

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state, simulate_regression
from banklearn.model.joint import State
from banklearn.model.kernel import mixture_kernel
from banklearn.numerics.streams import Streams
from banklearn.posterior.draws import spectral_mixture
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import dense_log_evidence, make_prior, plain_features
from labels import draw_beta, draw_labels, stick

N, M, TREND = 24, 3, "constant"
PRIOR = make_prior(1, np.random.default_rng(5), lam_log_mean=-1.0, psi_shape=3.0, a0=3.0)
LAGS = np.array([[0.5], [2.0]])
PROBES = np.array([[-2.0], [0.3], [4.0]])
#: Few draws far apart: 512 ranks among 11 tell what 460 among very many would. At this thinning
#: autocorrelations are below 0.1; a sampler that mixes more slowly has longer chains.
WARMUP, THIN, DRAWS = 30, 7, 11
BINS = 6


@dataclass(frozen=True)
class Setting:
    """A model and its sampler."""

    classes: int = 0
    kernel: Any = sweep
    #: How many times longer warm-up and thinning are.
    stretch: int = 1

    @property
    def model(self) -> Model:
        likelihood = Logistic(self.classes) if self.classes else Gaussian(PRIOR.a0, PRIOR.b0)
        return Model(PRIOR, likelihood, TREND)


SETTINGS = {
    "regression": Setting(),
    "two classes": Setting(2),
    "three classes": Setting(3),
    "two classes, joint move": Setting(2, joint_move, stretch=3),
}


def names(setting: Setting) -> list[str]:
    """The quantities that are ranked."""
    common = ["log evidence", "log lam", "components", "kernel 0.5", "kernel 2", "features 0.5"]
    return common + ["f -2", "f 0.3", "f 4"] + (["noise"] if not setting.classes else [])


def describe(
    setting: Setting,
    X: np.ndarray,
    y: np.ndarray,
    state: State,
    beta: np.ndarray | None,
    noise: float,
    rng: np.random.Generator,
) -> list[float]:
    """The quantities at one draw."""
    Phi = plain_features(X, state.W, TREND)
    if not setting.classes:
        evidence = dense_log_evidence(Phi, y, state.lam, PRIOR.a0, PRIOR.b0)
    else:
        p = stick(beta @ Phi.T)
        evidence = float(np.log(p[y.astype(int), np.arange(len(y))]).sum())
    kernel = mixture_kernel(LAGS, *spectral_mixture(state, PRIOR, rng))
    f = plain_features(PROBES, state.W, TREND) @ beta[0]
    features = float(np.cos(0.5 * state.W).mean())
    out = [evidence, np.log(state.lam), float(state.K), *kernel, features, *f]
    return out if setting.classes else [*out, noise]


def draw_weights(X: np.ndarray, y: np.ndarray, state: State, rng: np.random.Generator) -> Any:
    """(beta, noise) of a regression given the rest, by plain linear algebra."""
    Phi = plain_features(X, state.W, TREND)
    A = Phi.T @ Phi + state.lam * np.eye(Phi.shape[1])
    mean = np.linalg.solve(A, Phi.T @ y)
    rate = PRIOR.b0 + 0.5 * float(y @ y - y @ Phi @ mean)
    noise = rate / rng.gamma(PRIOR.a0 + 0.5 * len(y))
    xi = np.linalg.solve(np.linalg.cholesky(A).T, rng.standard_normal(len(A)))
    return (mean + np.sqrt(noise) * xi)[None], noise


def one_data_set(name: str, master: int, index: int) -> list[int]:
    """The rank, 0..DRAWS, of every true quantity; ties are broken at random."""
    setting = SETTINGS[name]
    rng = np.random.default_rng([master, list(SETTINGS).index(name), index])
    X = 2.0 * rng.standard_normal((N, 1))
    state, noise = draw_state(PRIOR, M, rng), 1.0
    if setting.classes:
        beta = draw_beta(state, 1 + 2 * M, setting.classes - 1, rng)
        y = draw_labels(beta @ plain_features(X, state.W, TREND).T, rng)
    else:
        y, weights, noise = simulate_regression(X, state, PRIOR, TREND, rng)
        beta = weights[None]
    true = np.array(describe(setting, X, y, state, beta, noise, rng))
    engine, model = MemoryEngine(X, y), setting.model
    tuning = Tuning(
        Moves(jump=0.5, rho_min=0.2, switch=0.5, exchange=0.5),
        lam_step=1.0,
        gradient_every=4,
        gradient=GradientTuning(0.6, 4),
        interweave_every=2,
    )
    streams = Streams(master * 1000 + list(SETTINGS).index(name), index)
    chain = setting.kernel.init(engine, model, draw_state(PRIOR, M, rng), streams)
    kept = []
    warmup, thin = setting.stretch * WARMUP, setting.stretch * THIN
    for i in range(1, warmup + thin * DRAWS + 1):
        chain, info = setting.kernel.step(chain, engine, model, tuning, streams, i)
        if i <= warmup:
            tuning = sweep.adapt(tuning, info, i)
        elif (i - warmup) % thin == 0:
            b = chain.beta
            if not setting.classes:
                b, noise = draw_weights(X, y, chain.state, rng)
            kept.append(describe(setting, X, y, chain.state, b, noise, rng))
    draws = np.array(kept)
    ties = (draws == true).sum(axis=0)
    return ((draws < true).sum(axis=0) + rng.integers(0, ties + 1)).tolist()


def uniformity(ranks: np.ndarray, name: str, master: int) -> dict[str, float]:
    """p values of the ranks (data sets, quantities): by bins, and by their distribution."""
    rng = np.random.default_rng([master, 99])
    out = {}
    for i, quantity in enumerate(names(SETTINGS[name])):
        counts = np.bincount(ranks[:, i] * BINS // (DRAWS + 1), minlength=BINS)
        out[f"{quantity}, bins"] = float(chisquare(counts).pvalue)
        # Spread over the width of a rank, a uniform rank is a uniform number.
        spread = (ranks[:, i] + rng.random(len(ranks))) / (DRAWS + 1)
        out[f"{quantity}, distribution"] = float(kstest(spread, "uniform").pvalue)
    return out


def number_of_statistics() -> int:
    """How many p values all settings give together."""
    return sum(2 * len(names(setting)) for setting in SETTINGS.values())

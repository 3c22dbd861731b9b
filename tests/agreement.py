"""One small posterior by three samplers: Polya-Gamma, the paper's, and a plain reference.

N = 60, M = 3, d = 1. The mixture is one known component, so that frequencies, weights and lam are
what is unknown; each chain reports the latent function at ten points.
"""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.joint import State
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import standard_error
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.sweep import Model, Tuning
from helpers import make_prior, plain_features

N, M = 60, 3
PROBES = np.linspace(-2.5, 2.5, 10)[:, None]
MU, SD = 0.5, 1.2
#: So sure of its one component that gradient moves, which integrate it out, know it too.
SURE = 1e8
PRIOR = replace(
    make_prior(1, lam_log_mean=-1.0, lam_log_sd=0.7),
    mu0=np.array([MU]),
    kappa0=SURE,
    nu0=SURE,
    psi_mean=np.array([SURE * SD**2]),
    psi_shape=None,
)
P = 1 + 2 * M


def make_data():
    rng = np.random.default_rng(11)
    X = rng.uniform(-2.5, 2.5, (N, 1))
    y = (rng.random(N) < 1 / (1 + np.exp(-2.5 * np.sin(1.7 * X[:, 0]) - 0.5))).astype(float)
    return X, y  # y = 1 is the class asked for


@contextmanager
def fixed_mixture():
    """Samplers that leave the spectral mixture alone."""
    kept = sweep.update_mixture, joint_move.update_mixture
    sweep.update_mixture = joint_move.update_mixture = lambda state, *rest: state
    try:
        yield
    finally:
        sweep.update_mixture, joint_move.update_mixture = kept


def run(kernel, sweeps, chains, tuning=None):
    """Latent values at the probes, (chains, sweeps, 10); the first fifth is left out."""
    X, y = make_data()
    tuning = tuning or Tuning(Moves(jump=0.5, rho_min=0.1), lam_step=0.8)
    engine, model = MemoryEngine(X, 1.0 - y), Model(PRIOR, Logistic(2), "constant")
    out = np.empty((chains, sweeps, len(PROBES)))
    with fixed_mixture():
        for c in range(chains):
            rng = np.random.default_rng(c)
            state = State(
                W=MU + SD * rng.standard_normal((M, 1)),
                Z=np.zeros(M, dtype=np.int64),
                mu=np.full((1, 1), MU),
                Sigma=np.full((1, 1, 1), SD**2),
                alpha=1.0,
                lam=0.4,
                psi=PRIOR.psi_mean,
            )
            streams = Streams(5, c)
            chain = kernel.init(engine, model, state, streams)
            for i in range(sweeps):
                chain, _ = kernel.step(chain, engine, model, tuning, streams, i + 1)
                out[c, i] = plain_features(PROBES, chain.state.W, "constant") @ chain.beta[0]
    return out[:, sweeps // 5 :]


def reference(steps, chains, seed=0):
    """Random-walk Metropolis on (W, beta, log lam) of the joint density, many chains at once.

    Nothing of the package is used. The likelihood is tempered in during the first third, which
    is left out; steps have many sizes, in blocks and all together.
    """
    X, y = make_data()
    rng = np.random.default_rng(seed)
    W = MU + SD * rng.standard_normal((chains, M))
    log_lam = PRIOR.lam_log_mean + PRIOR.lam_log_sd * rng.standard_normal(chains)
    beta = rng.standard_normal((chains, P)) * np.exp(-0.5 * log_lam)[:, None]

    def latent(W, beta, x):
        phase = W[:, :, None] * x
        wave = beta[:, 1::2, None] * np.cos(phase) + beta[:, 2::2, None] * np.sin(phase)
        return beta[:, :1] + wave.sum(axis=1) / np.sqrt(M)

    def log_joint(W, beta, log_lam, heat):
        f = latent(W, beta, X[:, 0])
        fit = -np.logaddexp(0.0, np.where(y > 0, -f, f)).sum(axis=1)
        prior = -0.5 * (((W - MU) / SD) ** 2).sum(axis=1)
        prior += 0.5 * P * log_lam - 0.5 * np.exp(log_lam) * (beta**2).sum(axis=1)
        prior -= 0.5 * ((log_lam - PRIOR.lam_log_mean) / PRIOR.lam_log_sd) ** 2
        return prior + heat * fit

    warm = steps // 3
    out = np.empty((chains, steps - warm, len(PROBES)))
    now = log_joint(W, beta, log_lam, 0.0)
    for i in range(steps):
        heat = min(1.0, i / (0.7 * warm))
        if heat < 1.0 or i <= warm:
            now = log_joint(W, beta, log_lam, heat)
        size = np.exp(rng.uniform(np.log(0.05), np.log(2.0), (chains, 1)))
        W_new, beta_new, lam_new = W, beta, log_lam
        if i % 3 == 0:
            # beta and lam on the scale of beta's prior, which is kept: exact by its Jacobian.
            lam_new = log_lam + 0.7 * size[:, 0] * rng.standard_normal(chains)
            stretch = np.exp(-0.5 * (lam_new - log_lam))
            beta_new = beta * stretch[:, None]
            jacobian = P * np.log(stretch)
        else:
            one = rng.integers(M, size=chains)
            mask = np.zeros((chains, M))
            mask[np.arange(chains), one] = 1.0
            if i % 2 == 0:
                mask[:] = 0.5
            wide = np.concatenate([np.ones((chains, 1)), np.repeat(mask, 2, axis=1)], axis=1)
            W_new = W + 0.6 * size * mask * rng.standard_normal(W.shape)
            beta_new = beta + size * wide * rng.standard_normal(beta.shape)
            jacobian = 0.0
        new = log_joint(W_new, beta_new, lam_new, heat)
        yes = np.log(rng.random(chains)) < new - now + jacobian
        W = np.where(yes[:, None], W_new, W)
        beta = np.where(yes[:, None], beta_new, beta)
        log_lam, now = np.where(yes, lam_new, log_lam), np.where(yes, new, now)
        if i >= warm:
            out[:, i - warm] = latent(W, beta, PROBES[:, 0])
    return out


def moments(draws):
    """Means and standard deviations at the probes with their Monte Carlo errors: four (10,)."""
    mean, deviation = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    error = np.array([standard_error(draws[:, :, i]) for i in range(draws.shape[2])])
    square = (draws - mean) ** 2
    # The error of a variance, through the square root.
    error_sd = np.array([standard_error(square[:, :, i]) for i in range(draws.shape[2])])
    return mean, deviation, error, error_sd / (2 * deviation)


def many_chains(draws):
    """The same for very many chains: errors from the differences between chains alone."""
    chains = len(draws)
    mean = draws.mean(axis=(0, 1))
    error = draws.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(chains)
    square = ((draws - mean) ** 2).mean(axis=1)
    deviation = np.sqrt(square.mean(axis=0))
    return mean, deviation, error, square.std(axis=0, ddof=1) / np.sqrt(chains) / (2 * deviation)


def largest_gap(left, right):
    """The largest difference of means or deviations, in Monte Carlo standard errors."""
    return max(
        float(np.max(np.abs(left[i] - right[i]) / np.hypot(left[2 + i], right[2 + i])))
        for i in (0, 1)
    )

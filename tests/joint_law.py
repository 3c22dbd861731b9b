"""Joint distribution tests of the classifiers' samplers (Geweke, 2004), short and long."""

import numpy as np
from scipy.stats import gamma, ks_2samp, kstest, norm

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state
from banklearn.numerics.streams import Streams
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import make_prior, plain_features
from labels import draw_beta, draw_labels, stick

N, M, TREND = 10, 3, "constant"
PRIOR = make_prior(2, np.random.default_rng(3), lam_log_mean=-1.5, psi_shape=3.0)

SAMPLERS = {
    "polya-gamma": (sweep, Tuning(Moves(jump=0.5, rho_min=0.2))),
    "polya-gamma, gradient": (sweep, Tuning(gradient_every=1, gradient=GradientTuning(0.6, 4))),
    "polya-gamma, all moves": (
        sweep,
        Tuning(
            Moves(jump=0.7, rho_min=0.2, switch=0.7, exchange=0.5),
            gradient_every=1,
            gradient=GradientTuning(0.6, 4),
            interweave_every=1,
        ),
    ),
    "laplace-mh": (joint_move, Tuning(Moves(jump=0.5, rho_min=0.2))),
}

LAWS = {
    "alpha": (lambda s, b, f: s.alpha, gamma(PRIOR.alpha_shape, scale=1 / PRIOR.alpha_rate)),
    "log lam": (lambda s, b, f: np.log(s.lam), norm(PRIOR.lam_log_mean, PRIOR.lam_log_sd)),
    "psi": (
        lambda s, b, f: s.psi[0],
        gamma(PRIOR.psi_shape, scale=PRIOR.psi_mean[0] / PRIOR.psi_shape),
    ),
    "trend": (lambda s, b, f: b[0, 0] * np.sqrt(s.lam), norm()),
    "cosine": (lambda s, b, f: b[-1, 1] * np.sqrt(s.lam), norm()),
    "sine": (lambda s, b, f: b[0, -1] * np.sqrt(s.lam), norm()),
}
FUNCTIONS = {
    "W": lambda s, b, f: s.W[0, 0],
    "|W - mu0|": lambda s, b, f: np.linalg.norm(s.W - PRIOR.mu0),
    "K": lambda s, b, f: s.K,
    "log |Sigma|": lambda s, b, f: np.linalg.slogdet(s.Sigma[s.Z[2]])[1],
    "|beta|": lambda s, b, f: np.log((b**2).sum()),
    "likelihood": lambda s, b, f: f,
}


def draw_from_model(C, rng):
    """State, weights, inputs and labels, with the log likelihood."""
    X = 2.0 * rng.standard_normal((N, 2))
    state = draw_state(PRIOR, M, rng)
    Phi = plain_features(X, state.W, TREND)
    beta = draw_beta(state, Phi.shape[1], C - 1, rng)
    y = draw_labels(beta @ Phi.T, rng)
    return state, beta, X, y


def chain_at(kernel, engine, model, state, beta):
    if kernel is joint_move:
        return joint_move.place(engine, model, state, beta)
    return sweep.Chain(state, None, None, beta)


def sweep_from_model(n, C, kernel, tuning, sweeps, seed):
    """Everything from the model, then some sweeps given the labels, n times."""
    out, model = [], Model(PRIOR, Logistic(C), TREND)
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        state, beta, X, y = draw_from_model(C, rng)
        engine, streams = MemoryEngine(X, y), Streams(seed, i)
        chain = chain_at(kernel, engine, model, state, beta)
        for j in range(1, sweeps + 1):
            chain, _ = kernel.step(chain, engine, model, tuning, streams, j)
        out.append((chain.state, chain.beta, X, y))
    return out


def _values(draws):
    """(state, beta, log likelihood) of each draw."""
    out = []
    for state, beta, X, y in draws:
        p = stick(beta @ plain_features(X, state.W, TREND).T)
        f = np.log(p[y.astype(int), np.arange(N)]).sum()
        out.append((state, beta, f))
    return out


def smallest_p(swept, forward):
    """The smallest p value of all comparisons, and all of them."""
    swept, forward = _values(swept), _values(forward)
    p = {
        name: kstest([get(*v) for v in swept], law.cdf).pvalue for name, (get, law) in LAWS.items()
    }
    for name, get in FUNCTIONS.items():
        left, right = ([get(*v) for v in group] for group in (swept, forward))
        p[name] = ks_2samp(left, right, method="asymp").pvalue
    return min(p.values()), p

"""Components moved together with their frequencies.

Given its members a component hardly moves, and given the component its members hardly move
together: with m members both take of the order of m sweeps to forget. So the components are also
moved with the whitened members V_j = L^-1 (W_j - mu_Zj) held fixed, the other parametrisation of
the same model (ancillarity-sufficiency interweaving, Yu and Meng 2011). Three random walks:

- *one* component: Sigma_k' = D Sigma_k D, mu_k' = mu_k + shift, W_j' = mu_k' + D (W_j - mu_k) with
  D = diag(exp(step xi)). The ratio has the NIW densities and the Jacobian |D|^(d + 1) of
  Sigma -> D Sigma D;
- *stretch*: all components, psi and frequencies scaled by one D about zero, W_j' = D W_j;
- *share* of two components: their mass is divided anew. With f ~ Beta(m_a, m_b) the share of a
  and u_j uniform below (members of a) or above f (members of b), logit f moves and members whose
  u_j comes to lie on the other side change components, keeping V_j. The law of f under the
  Dirichlet process is f^-1 (1 - f)^-1, which the Jacobian of the logit cancels: nothing but
  evidence is left in the ratio.

Each takes one pass over the data, and is accepted with its prior ratio times that of evidences.
A walk whose step warm-up had to make tiny is dropped: with much data the frequencies are known
one by one, and the ordinary updates carry their components along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model import niw
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import cholesky, solve_lower
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler.precision import Solved

Array = NDArray[np.float64]
Kind = Literal["one", "stretch", "share"]
KINDS: tuple[Kind, ...] = ("one", "stretch", "share")
#: Statistic and factors at given frequencies.
Evaluate = Callable[[Array], tuple[Gram, Solved]]

#: Acceptance that warm-up aims at, and the steps between which it stays.
TARGET, SMALLEST, LARGEST = 0.3, 0.02, 3.0


@dataclass(frozen=True)
class InterweaveTuning:
    """The step of each walk in the order of KINDS; 0 drops it."""

    steps: tuple[float, ...] = (0.1, 0.1, 0.3)


def update(
    state: State,
    gram: Gram,
    solved: Solved,
    evaluate: Evaluate,
    tuning: InterweaveTuning,
    prior: Prior,
    streams: Streams,
    sweep: int,
) -> tuple[State, Gram, Solved, Array]:
    """The three walks in turn; returns the new state and statistic, and acceptance by kind."""
    acceptance = np.full(len(KINDS), np.nan)
    for i, (kind, step) in enumerate(zip(KINDS, tuning.steps, strict=True)):
        rng = streams.at(Purpose.INTERWEAVE, sweep, block=i)
        proposed = propose(kind, state, step, prior, rng) if step else None
        if proposed is None:
            continue
        new, log_ratio = proposed
        new_gram, new_solved = evaluate(new.W)
        log_ratio += new_solved.log_evidence - solved.log_evidence
        if not np.isfinite(log_ratio):
            log_ratio = -np.inf
        acceptance[i] = np.exp(min(log_ratio, 0.0))
        if np.log(rng.random()) < log_ratio:
            state, gram, solved = new, new_gram, new_solved
    return state, gram, solved, acceptance


def adapt(tuning: InterweaveTuning, acceptance: Array, sweep: int) -> InterweaveTuning:
    """Warm-up only: steps towards the target acceptance, dropped when they get tiny."""
    change = np.nan_to_num((acceptance - TARGET) / np.sqrt(1.0 + 0.1 * sweep))
    steps = np.minimum(np.array(tuning.steps) * np.exp(change), LARGEST)
    return replace(tuning, steps=tuple(float(s) if s >= SMALLEST else 0.0 for s in steps))


def propose(
    kind: Kind, state: State, step: float, prior: Prior, rng: np.random.Generator
) -> tuple[State, float] | None:
    """The proposed state and the log of its prior ratio; None where nothing can be proposed."""
    if kind == "share":
        return divide_anew(state, step, rng)
    if kind == "stretch":
        return stretch(state, step, prior, rng)
    k = int(state.Z[rng.integers(state.M)])
    new = move_component(k, state, step, prior, rng)
    return new, log_prior_ratio(k, new, state, prior)


def move_component(
    k: int, state: State, step: float, prior: Prior, rng: np.random.Generator
) -> State:
    """The state with component k and its members moved."""
    d = state.W.shape[1]
    D = np.exp(step * rng.standard_normal(d))
    # psi does not change in this move, so the walk is symmetric.
    shift = step * np.sqrt(state.psi / prior.nu0) * rng.standard_normal(d)
    members = state.Z == k
    mu, Sigma, W = state.mu.copy(), state.Sigma.copy(), state.W.copy()
    mu[k] = state.mu[k] + shift
    Sigma[k] = D[:, None] * state.Sigma[k] * D
    W[members] = mu[k] + D * (state.W[members] - state.mu[k])
    return state.with_(W=W, mu=mu, Sigma=Sigma)


def log_prior_ratio(k: int, new: State, old: State, prior: Prior) -> float:
    """log of p(mu', Sigma') |D|^(d + 1) / p(mu, Sigma); the evidence comes on top."""
    base = prior.base(old.psi)
    d = len(old.psi)
    log_D = 0.5 * float(
        np.log(np.diagonal(new.Sigma[k])).sum() - np.log(np.diagonal(old.Sigma[k])).sum()
    )
    return (
        niw.log_density(base, new.mu[k], new.Sigma[k])
        - niw.log_density(base, old.mu[k], old.Sigma[k])
        + (d + 1) * log_D
    )


def stretch(
    state: State, step: float, prior: Prior, rng: np.random.Generator
) -> tuple[State, float]:
    """Everything in the space of frequencies scaled, psi too unless the prior fixes it."""
    d = state.W.shape[1]
    log_D = step * rng.standard_normal(d)
    D = np.exp(log_D)
    new = state.with_(
        W=state.W * D,
        mu=state.mu * D,
        Sigma=state.Sigma * D * D[:, None],
        psi=state.psi if prior.psi_shape is None else state.psi * D**2,
    )
    # Jacobians: |D| of each mu, |D|^(d + 1) of each Sigma, |D|^2 of psi.
    powers = state.K * (d + 2) + (0 if prior.psi_shape is None else 2)
    ratio = prior.log_psi(new.psi) - prior.log_psi(state.psi) + powers * float(np.sum(log_D))
    for law, at, sign in ((prior.base(new.psi), new, 1.0), (prior.base(state.psi), state, -1.0)):
        for mu, Sigma in zip(at.mu, at.Sigma, strict=True):
            ratio += sign * niw.log_density(law, mu, Sigma)
    return new, ratio


def divide_anew(state: State, step: float, rng: np.random.Generator) -> tuple[State, float] | None:
    """Two components share their members anew."""
    if state.K < 2:
        return None
    a, b = rng.choice(state.K, 2, replace=False)
    pair = np.flatnonzero((state.Z == a) | (state.Z == b))
    in_a = state.Z[pair] == a
    f = rng.beta(in_a.sum(), (~in_a).sum())
    u = np.where(in_a, f * rng.random(len(pair)), f + (1.0 - f) * rng.random(len(pair)))
    odds = np.log(f) - np.log1p(-f) + step * rng.standard_normal()
    now_a = u < 1.0 / (1.0 + np.exp(-odds))
    if now_a.all() or not now_a.any() or np.array_equal(now_a, in_a):
        return None  # neither may be left empty; and a pass over the data for nothing is saved
    Z, W = state.Z.copy(), state.W.copy()
    for source, target, moving in ((a, b, in_a & ~now_a), (b, a, ~in_a & now_a)):
        rows = pair[moving]
        V = solve_lower(cholesky(state.Sigma[source]), (W[rows] - state.mu[source]).T)
        W[rows] = state.mu[target] + V.T @ cholesky(state.Sigma[target]).T
        Z[rows] = target
    return state.with_(W=W, Z=Z), 0.0

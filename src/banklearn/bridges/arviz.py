"""Draws to ArviZ: an InferenceData with version 0.x, a DataTree with version 1.x."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from banklearn.bridges.needed import needed
from banklearn.model.kernel import mixture_kernel
from banklearn.posterior.draws import Draw

Array = NDArray[np.float64]


def to_arviz(estimator: Any) -> Any:
    """The kept draws of a fitted estimator, for ArviZ's diagnostics and plots.

    Frequencies and components have no fixed labels, so what is exported are quantities that mean
    the same in every draw. Group ``posterior``: ``components`` (their number), ``alpha``,
    ``lam``, ``kernel`` (its value at a lag of one scale along each input) and, for regression,
    ``noise_std`` in the target's units. Group ``sample_stats``: ``lp``, the log evidence.

    Chains of unequal length, after an interruption, are cut to the shortest.
    """
    with needed("arviz", "to_arviz"):
        import arviz

    check_is_fitted(estimator)
    chains = _chains(estimator.draws_)
    names = _input_names(estimator)
    posterior: dict[str, Array] = {
        "components": _each(chains, lambda draw: len(draw.pi) - 1),
        "alpha": _each(chains, lambda draw: draw.alpha),
        "lam": _each(chains, lambda draw: draw.lam),
        "kernel": _each(chains, _kernel_at_scale),
    }
    if hasattr(estimator, "target_scaling_"):
        scale = estimator.target_scaling_.scale
        posterior["noise_std"] = _each(chains, lambda draw: scale * np.sqrt(draw.noise))
    groups = {"posterior": posterior}
    lp = _each(chains, lambda draw: draw.log_evidence)
    if np.isfinite(lp).all():
        groups["sample_stats"] = {"lp": lp}
    labels = {"coords": {"input": names}, "dims": {"kernel": ["input"]}}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups, **labels)
    return arviz.from_dict(**groups, **labels)


def _chains(draws: list[Draw]) -> list[list[Draw]]:
    """Draws by chain, all of the same length."""
    found = [[d for d in draws if d.chain == c] for c in sorted({d.chain for d in draws})]
    shortest = min(len(chain) for chain in found)
    return [chain[:shortest] for chain in found]


def _each(chains: list[list[Draw]], value: Any) -> Array:
    """A quantity of every draw, (chains, draws, ...)."""
    return np.array([[value(draw) for draw in chain] for chain in chains], dtype=np.float64)


def _kernel_at_scale(draw: Draw) -> Array:
    """The mixture kernel at the unit vectors of scaled inputs, (d,)."""
    return mixture_kernel(np.eye(draw.W.shape[1]), draw.pi, draw.mu, draw.Sigma)


def _input_names(estimator: Any) -> list[str]:
    """Names of the inputs that vary."""
    used = np.flatnonzero(estimator.input_scaling_.used)
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" if names is None else str(names[i]) for i in used]

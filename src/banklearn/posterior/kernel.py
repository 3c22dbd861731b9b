"""The learned kernel as an object that other tools can use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import fourier_features
from banklearn.model.kernel import empirical_kernel, mixture_kernel, mixture_spectral_density
from banklearn.posterior.column_names import refuse_other_columns
from banklearn.posterior.draws import Draw
from banklearn.posterior.scaling import InputScaling

Array = NDArray[np.float64]


class Mixture(NamedTuple):
    """A Gaussian mixture spectral density: weights, means, covariances (model units)."""

    pi: Array
    mu: Array
    Sigma: Array


class Band(NamedTuple):
    """Posterior mean and credible band of a curve."""

    mean: Array
    lower: Array
    upper: Array


class LearnedKernel:
    """The posterior over stationary kernels.

    Called with two sets of rows it gives the posterior mean kernel matrix, as a scikit-learn
    kernel does; :meth:`at_lags` and :meth:`spectral_density` give curves with credible bands.
    names are those of the inputs, if they had some: rows of a data frame must have the same.
    """

    def __init__(
        self,
        draws: Sequence[Draw],
        scaling: InputScaling,
        max_draws: int = 32,
        names: Sequence[str] | None = None,
    ) -> None:
        self.draws, self.scaling, self.max_draws = list(draws), scaling, max_draws
        self.names = names

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """K(x, y), the mean over draws of phi(x)'phi(y), (n, m); rows in the user's units.

        Two single rows (d,) give a number, as scikit-learn's pairwise functions expect. At most
        max_draws draws, evenly spaced, are used.
        """
        if Y is not None and np.ndim(X) == 1 and np.ndim(Y) == 1:
            lag = self._rows(X)[0] - self._rows(Y)[0]
            return float(np.mean([empirical_kernel(lag, draw.W) for draw in self.chosen()]))
        A = self._rows(X)
        B = A if Y is None else self._rows(Y)
        K = np.zeros((len(A), len(B)))
        chosen = self.chosen()
        for draw in chosen:
            K += fourier_features(A, draw.W) @ fourier_features(B, draw.W).T
        return K / len(chosen)

    def diag(self, X: Any) -> Array:
        """k(0) = 1 for every row."""
        return np.ones(len(self._rows(X)))

    def mixture(self, draw: int) -> Mixture:
        """The spectral mixture of one draw; its last component stands for all unseen ones."""
        d = self.draws[draw]
        return Mixture(d.pi, d.mu, d.Sigma)

    def curves(self, lags: Any, kind: str = "mixture") -> Array:
        """k at lags, one row per draw, (S, n).

        kind "mixture" is the kernel of the spectral density (eq. mixkern), "features" that of
        the M frequencies in use. Lags are (n, d), or (n,) along the first input that varies, in
        the user's units; see :meth:`at_lags`.
        """
        t = self._lags(lags)
        if kind == "mixture":
            return np.stack([mixture_kernel(t, d.pi, d.mu, d.Sigma) for d in self.draws])
        if kind == "features":
            return np.stack([empirical_kernel(t, d.W) for d in self.draws])
        raise ValueError(f"kind must be 'mixture' or 'features', not {kind!r}.")

    def at_lags(self, lags: Any, coverage: float = 0.9, kind: str = "mixture") -> Band:
        """Posterior mean and pointwise credible band of k at lags."""
        return _band(self.curves(lags, kind), coverage)

    def spectral_density(self, omega: Any, coverage: float = 0.9) -> Band:
        """Posterior mean and band of the (symmetric) spectral density at frequencies omega.

        omega is (n, d) or, for one input, (n,), in radians per user unit.
        """
        if not self.scaling.linear:
            raise ValueError(_NOT_LINEAR)
        scale = self.scaling.scale
        omega = _numbers(omega, "omega")
        omega = omega[:, None] if omega.ndim == 1 else self._varying(omega, "omega")
        if omega.shape[1] != len(scale):
            raise ValueError(
                f"omega has {omega.shape[1]} columns; this kernel has {len(scale)} varying inputs."
            )
        jacobian = float(np.prod(scale))
        curves = [
            jacobian * mixture_spectral_density(omega * scale, d.pi, d.mu, d.Sigma)
            for d in self.draws
        ]
        return _band(np.stack(curves), coverage)

    def as_gp_kernel(self) -> Any:
        """This kernel for scikit-learn's GaussianProcessRegressor, with fixed parameters."""
        from banklearn.posterior.gp_kernel import BankKernel

        return BankKernel(self)

    def __repr__(self) -> str:
        M, d = self.draws[0].W.shape
        return f"LearnedKernel({len(self.draws)} draws of {M} frequencies, {d} inputs)"

    def _repr_html_(self) -> str:
        """A few facts, for notebooks."""
        M = len(self.draws[0].W)
        K = [len(draw.pi) - 1 for draw in self.draws]
        used = int(self.scaling.used.sum())
        rows = {
            "draws": f"{len(self.draws)} of {M} frequencies",
            "spectral components": f"{min(K)} to {max(K)}, {np.mean(K):.1f} on average",
            "inputs": f"{used} of {len(self.scaling.used)} vary; scaling {self.scaling.kind}",
            "as a function of": "lags in your units" if self.scaling.linear else "rows only",
        }
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table><caption>LearnedKernel</caption>{cells}</table>"

    def chosen(self) -> list[Draw]:
        """The draws that stand for all: at most max_draws, evenly spaced."""
        if len(self.draws) <= self.max_draws:
            return self.draws
        picks = np.linspace(0, len(self.draws) - 1, self.max_draws).round().astype(int)
        return [self.draws[i] for i in picks]

    def _rows(self, X: Any) -> Array:
        refuse_other_columns(X, self.names)
        X = _numbers(X, "X")
        if X.ndim == 1:
            X = X[None]
        if X.shape[1] != len(self.scaling.used):
            raise ValueError(
                f"X has {X.shape[1]} columns, but this kernel was learned on "
                f"{len(self.scaling.used)}."
            )
        return self.scaling(X)

    def _lags(self, lags: Any) -> Array:
        if not self.scaling.linear:
            raise ValueError(_NOT_LINEAR)
        t = _numbers(lags, "lags")
        if t.ndim == 1:
            full = np.zeros((len(t), len(self.scaling.scale)))
            full[:, 0] = t
            t = full
        else:
            t = self._varying(t, "lags")
        return np.asarray(t / self.scaling.scale)

    def _varying(self, A: Array, name: str) -> Array:
        """The columns of the inputs that vary."""
        expected = len(self.scaling.used)
        if A.shape[1] != expected:
            raise ValueError(
                f"{name} has {A.shape[1]} columns, but this kernel was learned on {expected}."
            )
        return A[:, self.scaling.used]


def learned_kernel(estimator: Any) -> LearnedKernel:
    """The kernel of an estimator that has draws."""
    names = getattr(estimator, "feature_names_in_", None)
    return LearnedKernel(estimator.draws_, estimator.input_scaling_, names=names)


_NOT_LINEAR = (
    "This kernel was learned on transformed inputs (arcsinh or quantile), so it is not a function "
    "of lags in your units. Fit with input_scaling='standard' to get one, or call the kernel on "
    "rows."
)


def _numbers(values: Any, name: str) -> Array:
    """Finite numbers in one or two dimensions."""
    try:
        A = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from error
    if A.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions, but has {A.ndim}.")
    if not np.isfinite(A).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return A


def _band(curves: Array, coverage: float) -> Band:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1, but is {coverage!r}.")
    tail = 0.5 * (1.0 - coverage)
    lower, upper = np.quantile(curves, [tail, 1.0 - tail], axis=0)
    return Band(curves.mean(axis=0), lower, upper)

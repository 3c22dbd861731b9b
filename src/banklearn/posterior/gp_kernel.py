"""The learned kernel in the form that scikit-learn's Gaussian processes expect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel, NormalizedKernelMixin

Array = NDArray[np.float64]


class BankKernel(NormalizedKernelMixin, Kernel):
    """A learned kernel with nothing left to optimise; combine it with a constant and noise."""

    def __init__(self, learned: Any) -> None:
        self.learned = learned

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """K (n, m), and an empty gradient if asked."""
        K = self.learned(X, Y)
        if Y is None:
            np.fill_diagonal(K, 1.0)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def __sklearn_clone__(self) -> BankKernel:
        """The same learned kernel, which nothing here changes: equal, and without its draws copied.

        scikit-learn clones kernels with every fit, and takes two for equal if their parameters
        are; copies of all draws would neither be cheap nor be equal.
        """
        return BankKernel(self.learned)

    def is_stationary(self) -> bool:
        """Stationary in the transformed inputs."""
        return bool(self.learned.scaling.linear)

    def __repr__(self) -> str:
        return f"BankKernel({len(self.learned.draws)} draws)"

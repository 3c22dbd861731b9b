"""Gaussian processes as rivals beyond the paper: exact ones, and GPyTorch's sparse variational one.

All have a Matern-5/2 kernel with one length scale per input, on standardised inputs.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from banklearn.numerics.threads import threads

Array = NDArray[np.float64]

#: Beyond so many training rows an exact Gaussian process takes too long.
EXACT_ROWS = 2000
#: Least variance of the noise that is allowed, where the target has variance one.
LEAST_NOISE = 1e-8


class ExactGPRegressor(RegressorMixin, BaseEstimator):
    """scikit-learn's exact Gaussian process.

    Parameters
    ----------
    optimise : find the hyper-parameters by marginal likelihood, or leave them where they start.
    """

    def __init__(self, optimise: bool = True, random_state: int | None = None) -> None:
        self.optimise = optimise
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ExactGPRegressor:
        """Fit X (N, d) and y (N,)."""
        kernel = matern(np.shape(X)[1]) + WhiteKernel(0.1, (1e-8, 1e1))
        model = GaussianProcessRegressor(
            kernel,
            optimizer="fmin_l_bfgs_b" if self.optimise else None,
            normalize_y=True,
            random_state=self.random_state,
        )
        self.model_ = fit_scaled(model, X, y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean (n,) of the predictive law; with return_std also its standard deviation."""
        return self.model_.predict(X, return_std=return_std)


class ExactGPClassifier(ClassifierMixin, BaseEstimator):
    """scikit-learn's Gaussian process classifier (Laplace approximation)."""

    def __init__(self, optimise: bool = True, random_state: int | None = None) -> None:
        self.optimise = optimise
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ExactGPClassifier:
        """Fit X (N, d) and labels y (N,)."""
        model = GaussianProcessClassifier(
            matern(np.shape(X)[1]),
            optimizer="fmin_l_bfgs_b" if self.optimise else None,
            random_state=self.random_state,
        )
        self.model_ = fit_scaled(model, X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, C)."""
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        return np.asarray(self.model_.predict(X))


def fit_scaled(model: Any, X: Any, y: Any) -> Any:
    """Fit behind a scaler. An input that does not matter takes its length scale to the bound,
    of which scikit-learn warns; that is what a length scale per input is for."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", ".*close to the specified upper bound", ConvergenceWarning
        )
        return make_pipeline(StandardScaler(), model).fit(X, y)


def matern(n_inputs: int) -> Any:
    """A scaled Matern-5/2 kernel with a length scale for each input."""
    return ConstantKernel() * Matern(np.ones(n_inputs), (1e-2, 1e4), nu=2.5)


class _SVGP(BaseEstimator):
    """A sparse variational Gaussian process trained by Adam on minibatches."""

    def __init__(
        self,
        n_inducing: int = 512,
        epochs: int = 100,
        batch_rows: int = 1024,
        learning_rate: float = 0.01,
        random_state: int = 0,
        max_time: float | None = None,
        wide_start: bool = False,
    ) -> None:
        self.n_inducing = n_inducing
        self.epochs = epochs
        self.batch_rows = batch_rows
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.max_time = max_time
        self.wide_start = wide_start

    def _train(self, X: Array, target: Array, classify: bool) -> None:
        import gpytorch
        import torch

        begin = time.monotonic()
        torch.manual_seed(self.random_state)
        torch.set_num_threads(threads())
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.scaler_ = StandardScaler().fit(X)
        X_t, y_t = self._tensor(self.scaler_.transform(X)), self._tensor(target)
        first = torch.randperm(len(X_t))[: self.n_inducing].to(self._device)
        laws = gpytorch.likelihoods
        # The library's own bound, 1e-4 of the variance, is far above the noise of some sets.
        least = gpytorch.constraints.GreaterThan(LEAST_NOISE)
        self.likelihood_ = (
            laws.BernoulliLikelihood()
            if classify
            else laws.GaussianLikelihood(noise_constraint=least)
        )
        self.model_ = _sparse_model(X_t[first].clone())
        if self.wide_start:
            self.model_.covar_module.base_kernel.lengthscale = float(np.sqrt(X.shape[1]))
        self.likelihood_.to(self._device, torch.float64)
        self.model_.to(self._device, torch.float64)
        bound = gpytorch.mlls.VariationalELBO(self.likelihood_, self.model_, num_data=len(X_t))
        parameters = [*self.model_.parameters(), *self.likelihood_.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        batches = -(-len(X_t) // self.batch_rows)
        self.model_.train()
        self.likelihood_.train()
        self.n_steps_ = 0

        def share() -> float:
            """How much of the training is done."""
            if self.max_time is None:
                return self.n_steps_ / (self.epochs * batches)
            return (time.monotonic() - begin) / self.max_time

        while (done := share()) < 1.0:
            if self.n_steps_ % batches == 0:
                parts = torch.randperm(len(X_t)).to(self._device).split(self.batch_rows)
            rows = parts[self.n_steps_ % batches]
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * 0.5 * (1.0 + np.cos(np.pi * done))
            optimiser.zero_grad()
            loss = -bound(self.model_(X_t[rows]), y_t[rows])
            loss.backward()
            optimiser.step()
            self.n_steps_ += 1
        self.model_.eval()
        self.likelihood_.eval()

    def _tensor(self, A: Array) -> Any:
        import torch

        return torch.as_tensor(np.asarray(A, dtype=float), device=self._device)

    def _laws(self, X: Any) -> Any:
        """Predictive laws of batches of rows."""
        import torch

        rows = self._tensor(self.scaler_.transform(np.asarray(X, dtype=float)))
        with torch.no_grad():
            for part in rows.split(4096):
                yield self.likelihood_(self.model_(part))


def _sparse_model(inducing: Any) -> Any:
    """GPyTorch's model with these inducing inputs; a function because the library is optional."""
    import gpytorch

    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            law = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
            super().__init__(
                gpytorch.variational.VariationalStrategy(
                    self, inducing, law, learn_inducing_locations=True
                )
            )
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=inducing.shape[1])
            )

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    return Sparse()


class SVGPRegressor(RegressorMixin, _SVGP):
    """Sparse variational Gaussian process regression with Gaussian noise.

    Parameters
    ----------
    n_inducing : inducing inputs, started at training rows and learned.
    epochs, batch_rows, learning_rate : of Adam, whose rate falls to zero along a cosine.
    max_time : seconds to train for, whatever the number of epochs; the rate then falls with time.
    wide_start : length scales start at sqrt(d), about the distance of two rows, instead of at
        the library's 0.69, from where many inputs take thousands of steps.
    """

    def fit(self, X: Any, y: Any) -> SVGPRegressor:
        """Train on X (N, d) and y (N,)."""
        y = np.asarray(y, dtype=float)
        self.y_mean_, self.y_scale_ = float(y.mean()), float(y.std()) or 1.0
        self._train(np.asarray(X, dtype=float), (y - self.y_mean_) / self.y_scale_, False)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean (n,) of the predictive law; with return_std also its standard deviation."""
        laws = [(law.mean.cpu().numpy(), law.stddev.cpu().numpy()) for law in self._laws(X)]
        mean = self.y_mean_ + self.y_scale_ * np.concatenate([m for m, _ in laws])
        std = self.y_scale_ * np.concatenate([s for _, s in laws])
        return (mean, std) if return_std else mean


class SVGPClassifier(ClassifierMixin, _SVGP):
    """Sparse variational Gaussian process classification, two classes (probit)."""

    def fit(self, X: Any, y: Any) -> SVGPClassifier:
        """Train on X (N, d) and labels y (N,)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"SVGPClassifier tells two classes apart, not {len(self.classes_)}.")
        self._train(np.asarray(X, dtype=float), codes.astype(float), True)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, 2)."""
        p = np.concatenate([law.mean.cpu().numpy() for law in self._laws(X)])
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

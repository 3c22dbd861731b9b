"""BankRegressor: regression with a learned kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from banklearn.estimators import parameters as check
from banklearn.estimators.base import BankBase
from banklearn.estimators.block_fitting import first_pass, fit_blocks
from banklearn.estimators.blockwise import Preparation, Standardised, block_data, summarise_numbers
from banklearn.estimators.data import check_weight, rows_and_numbers, target_values
from banklearn.estimators.resumption import keeping_what_was
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.threads import limited_to
from banklearn.posterior.draws import regression_draw
from banklearn.posterior.error_law import ErrorLaw, LearnedLaw, fit_error_law, least_std
from banklearn.posterior.leave_one_out import POWER, left_out_errors
from banklearn.posterior.predict import (
    Law,
    features_of,
    noise_variance,
    regression_law,
    regression_mean,
    row_blocks,
)
from banklearn.posterior.scaling import (
    TargetScaling,
    fit_target_scaling,
    target_scaling,
)
from banklearn.warned import warn_caller

Array = NDArray[np.float64]

#: Rows and draws from which on a law of errors is learned.
LEAST_ROWS = 200
LEAST_DRAWS = 8


class BankRegressor(RegressorMixin, BankBase):
    """Bayesian nonparametric kernel learning for regression.

    The spectral density of the kernel is a Dirichlet process mixture of Gaussians; frequencies,
    mixture and hyper-parameters are sampled, the weights and the noise are integrated out. Time
    is linear in the number of rows.

    Parameters
    ----------
    n_frequencies : int, default=384
        Random frequencies M; the model has 2M features.
    n_chains : int, default=4
        Independent chains; predictions average over all of them.
    n_warmup, n_draws, thin : int, default=200, 50 and 3
        Sweeps of warm-up per chain, draws kept per chain, and sweeps per kept draw. With
        n_draws="auto" the chains run until they have settled: 50 to 400 draws.
    max_time : float or None, default=None
        Seconds after which the fit ends with the draws it has (choosing the start
        may take a fifth of it, warm-up 60 % of what is left then).
    trend : {"auto", "linear", "constant", "none"}
        Columns that are always there beside the random features; "auto" lets the evidence choose.
    input_scaling : {"auto", "standard", "arcsinh", "quantile", "none"}
        How inputs are brought to a common scale: standardised, transformed first by arcsinh (heavy
        tails) or to normal scores of their quantiles, or left as they are ("none"). "auto" lets
        the evidence choose; a transform must be clearly better, since it bends distances.
    spectral_scale : float or "auto"
        Prior standard deviation of the frequencies within a component, for scaled inputs; their
        means vary more, by 1 / sqrt(kappa0). "auto": the best fixed kernel by evidence, from
        which short chains go on to faster ones.
    scale_shape : float or None, default=1.0
        Shape of the gamma prior on the diagonal of Psi0; None fixes it, as the paper does.
    kappa0, nu0, alpha_shape, alpha_rate, a0, b0 : float, default=0.1, None, 4, 1, 1 and 1e-6
        The other hyper-parameters; nu0=None means the number of inputs plus 2.
    error_law : {"learned", "normal"}
        Shape of the predictive law. "learned": that of leave-one-out errors of up to 4000 training
        rows, so that intervals hold what they say where noise has heavy tails (where its size
        depends on the inputs, on average over rows); "normal": the model's own, as for fewer than
        200 different rows or 8 draws in all.
    jump_probability : float, default=0.5
        Share of jumps among the proposals of sweeps that do not exchange; the others are local.
    switch_probability : float, default=0.5
        Share of jumps that redraw the component too; 0 and exchange_share=0 leave the paper's
        jump alone.
    exchange_share : float, default=0.8
        Share of sweeps whose proposals may replace any frequency, not each its own (with
        proposal="in-turn").
    interweave_every : int, default=1
        Components are moved together with their frequencies every so many sweeps (0: never),
        as long as warm-up finds steps that are worth making.
    proposal : {"in-turn", "at-once"}
        Decide frequencies one after another, or all together (the paper's other variant), for
        comparison.
    growing_warmup : bool, default=True
        Warm up on growing subsamples of the rows, from 5000 rows on.
    gradient_every, gradient_length : int or "auto", and int, default="auto" and 24
        A Hamiltonian move of all frequencies every so many sweeps (0: never; "auto": where few
        candidates are taken in warm-up, the fewer, the more often, and on a GPU with few rows,
        where they are cheap), and its steps.
    merge_duplicates : bool, default=True
        Merge rows that are equal in X and y into one with their weight. Rows that come in blocks
        are never merged; switch it off here for the same draws as there.
    arithmetic : {"double", "mixed"}
        "mixed" forms the products of features in single precision, which is faster, and sums
        them in double precision. A chain whose log evidence differs by more than 0.05 for it goes
        on in double precision, with a warning at the end. On the CPU only.
    device : str, default="auto"
        "cpu", a PyTorch device such as "cuda", or "auto": the GPU where there is one.
    random_state : int, RandomState or None
        Seed; the same seed gives the same draws.
    verbose : int
        1 shows a progress bar.
    checkpoint : path or None
        Folder in which the state of all chains is kept while the fit runs, for
        ``fit(..., resume=True)``.
    checkpoint_every : float, default=30
        Seconds between two checkpoints of a chain; 0 writes one after every sweep.
    warm_start : bool
        With True, another ``fit`` on the same data adds draws, up to the new n_draws.

    Attributes
    ----------
    kernel_ : LearnedKernel
        The posterior over kernels.
    draws_ : list of Draw
        The kept draws.
    error_law_ : ErrorLaw or None
        The law of errors in units of the predictive deviation at training rows; None is the
        model's own.
    trace_ : list of dict
        Per chain: log evidence, acceptance, number of components and more, for every sweep.
    schedule_ : list of dict
        Per chain: the moves that warm-up left, and their steps.
    settling_ : dict or None
        Whether the chains have settled, and what has not: R-hat, bulk and tail effective sample
        sizes by quantity, the climb of the log likelihood. None for fewer than 8 draws per chain.
    provenance_ : dict
        Rows, seconds, seed, what ended the fit, versions; settling_ and schedule_ too.
    doubt_threshold_ : float
        The share of the kernel's prior variance above which :meth:`extrapolation` doubts a row.
    trend_, input_scaling_ : str and InputScaling
        The trend and the scaling of inputs that were chosen.
    starting_point_ : StartingPoint
        The fixed kernel of highest evidence, where the search for a start began.
    n_sweeps_ : list of int
        Per chain: sweeps that were made.
    feature_names_in_, n_features_in_ : array of str, and int
        Names of the inputs, if they have any, and their number.
    """

    error_law_: ErrorLaw | None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle; one without a law of errors is of the time when there was none."""
        super().__setstate__(state)
        if not hasattr(self, "error_law"):
            self.error_law = "normal"
        if hasattr(self, "draws_") and not hasattr(self, "error_law_"):
            self.error_law_ = None

    @keeping_what_was
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        client: Any = None,
        resume: bool = False,
    ) -> BankRegressor:
        """Learn kernel and function from X (N, d) and y (N,); weight w means w such rows.

        X may also be what need not fit in memory: a path or glob of Parquet or CSV files or a
        pyarrow dataset (target names the column to predict, sample_weight one of weights), an
        HDF5 or Zarr array, a large numpy.memmap, an object that gives blocks (X, y) each time it
        is iterated over, or a Dask array or dataframe (on the cluster of client, or of the
        default client). For arrays in memory, a client runs the chains on its cluster, each on
        one core. resume=True goes on from the checkpoint, where there is one, as if never
        stopped.
        """
        self._begin(resume)
        data = block_data(X, y, sample_weight, target, client)
        if data is not None:
            found = first_pass(self, data, summarise_numbers)
            self.target_scaling_: TargetScaling = target_scaling(found.target)
            self._check_target(
                found.n_rows, float(found.target.low[0]), float(found.target.high[0])
            )
            prepare = Preparation(Standardised(self.target_scaling_))
            likelihood = Gaussian(float(self.a0), float(self.b0))
            fit_blocks(self, data, found, prepare, likelihood, regression_draw)
            return self
        X, y = self._arrays(X, y)
        X, y = rows_and_numbers(self, X, y)
        weight = check_weight(sample_weight, X)
        if weight is not None and not weight.all():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.target_scaling_ = fit_target_scaling(y, weight)
        self._check_target(len(y), float(y.min()), float(y.max()))
        self._fit_posterior(
            X,
            y,
            weight,
            Gaussian(float(self.a0), float(self.b0)),
            regression_draw,
            standardise=Standardised(self.target_scaling_),
            client=client,
        )
        return self

    def _check_target(self, n_rows: int, low: float, high: float) -> None:
        if n_rows < 2:
            raise ValueError(
                "Regression needs at least two rows, but n_samples = 1 (rows of weight zero do not "
                "count): one row says nothing about the spread of the target."
            )
        if high == low:
            warn_caller(
                f"y does not vary, so only the prior of the noise (a0, b0) says how far new values "
                f"may lie from {low:g}: intervals will be very narrow.",
                UserWarning,
            )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the predictive law, (n,); with return_std also its standard deviation."""
        rows = self._rows(X)
        mean = np.empty(len(rows))
        std = np.empty(len(rows)) if return_std else None
        for part in row_blocks(rows):
            if std is None:
                mean[part] = regression_mean(self.draws_, rows[part], self.trend_)
            else:
                law = self._law(rows[part])
                mean[part], std[part] = law.mean(), law.std()
        mean = self.target_scaling_.value(mean)
        return mean if std is None else (mean, self.target_scaling_.spread(std))

    def predict_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Central interval of the predictive law: (lower, upper), (n,) each."""
        check.inside("coverage", coverage)
        tail = 0.5 * (1.0 - coverage)
        if 1.0 - tail == 1.0:
            raise ValueError(
                f"coverage is {float(coverage)!r}, so near 1 that the interval has no ends. At "
                "most 1 - 2**-52 can be asked for."
            )
        quantiles = self.predict_quantiles(X, [tail, 1.0 - tail])
        return quantiles[:, 0], quantiles[:, 1]

    def predict_quantiles(self, X: Any, quantiles: Any) -> Array:
        """Quantiles of the predictive law, (n, number of quantiles)."""
        try:
            levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError("quantiles must be numbers strictly between 0 and 1.") from error
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"quantiles must lie strictly between 0 and 1, but are {quantiles!r}.")
        rows = self._rows(X)
        out = np.empty((len(rows), len(levels)))
        for part in row_blocks(rows):
            law = self._law(rows[part])
            for i, q in enumerate(levels):
                out[part, i] = law.quantile(float(q))
        return self.target_scaling_.value(out)

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """log p(y_i | x_i, training data) for each row, (n,)."""
        rows = self._rows(X)
        y = target_values(y)
        if y.shape != (len(rows),):
            raise ValueError(f"y has shape {y.shape}, but X has {len(rows)} rows.")
        if np.isnan(y).any():
            raise ValueError("y contains NaN, which has no density.")
        with np.errstate(over="ignore"):  # infinitely far out, which the law cuts
            scaled = (y - self.target_scaling_.shift) / self.target_scaling_.scale
        out = np.empty(len(rows))
        for part in row_blocks(rows):
            out[part] = self._law(rows[part]).log_density(scaled[part])
        return out - float(np.log(self.target_scaling_.scale))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = None, noise: bool = True
    ) -> Array:
        """Joint draws at the rows of X, (n, n_samples), with noise unless switched off."""
        rows = self._rows(X)
        check.whole("n_samples", n_samples, 1)
        check.seed("random_state", random_state)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        out = np.empty((len(rows), n_samples))
        for s in range(n_samples):
            draw = self.draws_[rng.integers(len(self.draws_))]
            # So few degrees of freedom that the draw rounds to zero: the smallest number instead.
            variance = draw.noise * draw.dof / max(rng.chisquare(draw.dof), np.finfo(float).tiny)
            root = draw.root[0]
            if root.shape[0] == root.shape[1]:
                step = root @ rng.standard_normal(root.shape[1])
            else:
                # The columns of a sketch are exact draws divided by sqrt(R).
                column = rng.integers(root.shape[1])
                step = root[:, column] * np.sqrt(root.shape[1]) * rng.choice((-1.0, 1.0))
            beta = draw.mu_n[0] + np.sqrt(variance) * step
            for part in row_blocks(rows):
                out[part, s] = beta @ features_of(draw, rows[part], self.trend_)
            if noise:
                error = np.sqrt(variance) * rng.standard_normal(len(rows))
                law = self.error_law_
                out[:, s] += error if law is None else error * law.factors(len(rows), rng)
        return self.target_scaling_.value(out)

    def _law(self, rows: Array) -> Law | LearnedLaw:
        law = regression_law(self.draws_, rows, self.trend_)
        if self.error_law_ is None:
            return law
        noise = np.full(len(rows), noise_variance(self.draws_))
        return LearnedLaw(
            law.mean(), noise, np.maximum(law.std() ** 2 - noise, 0.0), self.error_law_
        )

    def _look_back(self, rows: RowKeys, X: Array, y: Array, weight: Array | None) -> None:
        """The law of errors, where there is enough to learn it from.

        Copies of a row, and rows that its weight stands for, are one error.
        """
        self.error_law_ = None
        if self.error_law == "normal" or len(self.draws_) < LEAST_DRAWS:
            return
        if (different := rows.different) < LEAST_ROWS:
            return
        self.error_law_ = self._law_of_errors(different, X, y, weight)

    def _law_of_errors(
        self,
        different: int,
        X: Array,
        y: Array,
        weight: Array | None,
        power: float = POWER,
        reach: float | None = None,
    ) -> ErrorLaw | None:
        """The law of the errors of training rows, draws counting by this power of 1 / p.

        X (n, d) are some of the rows, of which so many differ in all. None where errors are no
        numbers: whatever went wrong, draws of a long fit are worth keeping.
        """
        with limited_to(1):  # the same bits on any number of cores
            errors = left_out_errors(self.draws_, X, y, weight, self.trend_, power)
            if not np.isfinite(errors).all():
                return None
            draw = self.draws_[0]
            least = least_std(min(draw.dof, different), draw.mu_n.shape[-1])
            return fit_error_law(errors, weight, least, reach)

"""BankClassifier: classification with a learned kernel."""

from __future__ import annotations

import inspect
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from banklearn.engines.mixed import Arithmetic
from banklearn.estimators import parameters as check
from banklearn.estimators.base import EXCHANGE_SHARE, BankBase
from banklearn.estimators.block_fitting import first_pass, fit_blocks
from banklearn.estimators.blockwise import (
    BlockData,
    Positions,
    Preparation,
    block_data,
    summarise_labels,
)
from banklearn.estimators.class_weights import class_factors, weigh_classes
from banklearn.estimators.data import (
    are_text,
    check_weight,
    refuse_one_class,
    refuse_strange_labels,
    refuse_too_many_rows,
    rows_and_labels,
)
from banklearn.estimators.resumption import keeping_what_was
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.class_tree import grow, stick
from banklearn.model.features import Trend
from banklearn.posterior.classify import (
    latent_samples,
    mean_probabilities,
    probability_samples,
)
from banklearn.posterior.draws import classification_draw, weights_draw
from banklearn.posterior.predict import row_blocks
from banklearn.sampler import joint_move
from banklearn.sampler import sweep as collapsed

Array = NDArray[np.float64]

#: Bytes of sampled probabilities that an interval is taken from at once; twice that is in use.
INTERVAL_BYTES = 32 << 20


#: What inference="laplace-mh" has no use for.
NOT_OF_THE_JOINT_MOVE = (
    "switch_probability",
    "exchange_share",
    "interweave_every",
    "proposal",
    "gradient_every",
    "gradient_length",
    "arithmetic",
)


class BankClassifier(ClassifierMixin, BankBase):
    """Bayesian nonparametric kernel learning for classification, two classes or many.

    Labels follow a logistic model in the random features (for C classes, C - 1 of them in a
    tree, sharing frequencies and kernel). The parameters of :class:`BankRegressor` are here
    too and mean the same, but for those that concern noise: a0, b0 and error_law.

    Parameters
    ----------
    n_frequencies, n_chains, n_warmup, n_draws, thin, max_time, ...
        As for :class:`BankRegressor`.
    inference : {"polya-gamma", "laplace-mh"}
        Polya-Gamma augmentation with the weights integrated out, or the paper's joint
        Metropolis-Hastings move on a frequency and its two weights.
    class_weight : dict, "balanced" or None
        Weights of the classes; they multiply sample_weight.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The labels.
    stick_ : array of shape (C,)
        Positions in classes_, the most frequent class first (of two classes, the second).
    tree_ : ClassTree
        C - 1 decisions between two ranges of that order: node t, ``tree_.nodes[t]``, decides
        between ``classes_[stick_[first:middle]]`` and ``classes_[stick_[middle:last]]``.
    kernel_, draws_, trace_, schedule_, settling_, provenance_, doubt_threshold_
        As for :class:`BankRegressor`.
    trend_, input_scaling_, starting_point_, n_sweeps_, feature_names_in_, n_features_in_
        As for :class:`BankRegressor`.
    """

    #: Log odds have a prior deviation 1 / sqrt(lam) between 1 and 20. Labels that frequencies can
    #: separate would take any: then this law alone keeps probabilities from 0 and 1.
    _lam_law = (-3.0, 1.5)

    def __init__(
        self,
        n_frequencies: int = 384,
        *,
        inference: Literal["polya-gamma", "laplace-mh"] = "polya-gamma",
        class_weight: Any = None,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int | Literal["auto"] = 50,
        thin: int = 3,
        max_time: float | None = None,
        trend: Trend | Literal["auto"] = "auto",
        input_scaling: Literal["auto", "none", "standard", "arcsinh", "quantile"] = "auto",
        spectral_scale: float | Literal["auto"] = "auto",
        scale_shape: float | None = 1.0,
        kappa0: float = 0.1,
        nu0: float | None = None,
        alpha_shape: float = 4.0,
        alpha_rate: float = 1.0,
        jump_probability: float = 0.5,
        switch_probability: float = 0.5,
        exchange_share: float = EXCHANGE_SHARE,
        interweave_every: int = 1,
        proposal: Literal["in-turn", "at-once"] = "in-turn",
        growing_warmup: bool = True,
        gradient_every: int | Literal["auto"] = "auto",
        gradient_length: int = 24,
        merge_duplicates: bool = True,
        arithmetic: Arithmetic = "double",
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            n_frequencies,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
            max_time=max_time,
            trend=trend,
            input_scaling=input_scaling,
            spectral_scale=spectral_scale,
            scale_shape=scale_shape,
            kappa0=kappa0,
            nu0=nu0,
            alpha_shape=alpha_shape,
            alpha_rate=alpha_rate,
            jump_probability=jump_probability,
            switch_probability=switch_probability,
            exchange_share=exchange_share,
            interweave_every=interweave_every,
            proposal=proposal,
            growing_warmup=growing_warmup,
            gradient_every=gradient_every,
            gradient_length=gradient_length,
            merge_duplicates=merge_duplicates,
            arithmetic=arithmetic,
            device=device,
            random_state=random_state,
            verbose=verbose,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            warm_start=warm_start,
        )
        self.inference = inference
        self.class_weight = class_weight

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle; one without a tree is of the time when all classes were on the stick."""
        super().__setstate__(state)
        if hasattr(self, "stick_") and not hasattr(self, "tree_"):
            self.tree_ = stick(len(self.stick_))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check.one_of("inference", self.inference, ("polya-gamma", "laplace-mh"))
        if self.inference == "laplace-mh":
            self._refuse_what_the_joint_move_has_not()

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
    ) -> BankClassifier:
        """Learn kernel and class probabilities; a row of weight w counts as w rows.

        X, target, client and resume are as for :meth:`BankRegressor.fit`.
        """
        self._begin(resume)
        data = block_data(X, y, sample_weight, target, client)
        if data is not None:
            self._fit_labels(data)
            return self
        X, y = self._arrays(X, y)
        X, y = rows_and_labels(self, X, y)
        weight = check_weight(sample_weight, X)
        if self.class_weight is not None:
            weight = weigh_classes(self.class_weight, y, weight)
        if weight is not None and not weight.all():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        classes, codes = np.unique(y, return_inverse=True)
        mass = np.bincount(codes, weights=weight).astype(np.float64)
        self._set_classes(classes, mass, weight is not None)
        position = np.argsort(self.stick_)[codes].astype(np.float64)
        laplace = self.inference == "laplace-mh"
        if laplace:
            self._device = "cpu"  # its loop over rows is compiled for the CPU
        self._fit_posterior(
            X,
            position,
            weight,
            Logistic(self.tree_),
            weights_draw if laplace else classification_draw,
            kernel=joint_move if laplace else collapsed,
            client=client,
        )
        return self

    def _refuse_what_the_joint_move_has_not(self) -> None:
        """A setting that would be ignored is refused; the defaults mean nothing there.

        No gradient moves are what it has.
        """
        defaults = inspect.signature(type(self)).parameters
        for name in NOT_OF_THE_JOINT_MOVE:
            value = getattr(self, name)
            never = name == "gradient_every" and value == 0
            if value != defaults[name].default and not never:
                raise ValueError(
                    f"{name}={value!r} has no meaning with inference='laplace-mh', which moves a "
                    "frequency together with its weights. Leave it out, or use "
                    "inference='polya-gamma'."
                )
        if self.device not in ("auto", "cpu"):
            raise ValueError(
                f"inference='laplace-mh' computes on the CPU, but device is {self.device!r}. Use "
                "device='cpu', or inference='polya-gamma'."
            )

    def _fit_labels(self, data: BlockData) -> None:
        """Fit to rows that come in blocks."""
        if self.inference == "laplace-mh":
            raise ValueError(
                "inference='laplace-mh' carries several numbers for every row and needs arrays in "
                "memory; rows that come in blocks are fitted with inference='polya-gamma'."
            )
        found = first_pass(self, data, summarise_labels)
        classes, mass = found.target.labels, found.target.mass
        factor = (
            None if self.class_weight is None else class_factors(self.class_weight, classes, mass)
        )
        if factor is not None and not factor.all():
            raise ValueError(
                "A class weight of zero is for arrays in memory; leave the rows of that class out."
            )
        if factor is not None:
            with np.errstate(over="ignore"):  # infinitely many rows, which are refused
                mass = mass * factor
            refuse_too_many_rows("class_weight times the weight of all rows", mass)
        self._set_classes(classes, mass, found.weighted)
        prepare = Preparation(
            Positions(classes, np.argsort(self.stick_)),
            factor=None if factor is None else factor[self.stick_],
            levels=np.arange(float(len(classes))),
            mass=mass[self.stick_],
        )
        fit_blocks(self, data, found, prepare, Logistic(self.tree_), classification_draw)

    def _set_classes(self, classes: NDArray[Any], mass: Array, weighted: bool) -> None:
        """classes_, stick_: most frequent first (of two classes, the second), and tree_."""
        refuse_one_class(classes, "y, where weights are above zero," if weighted else "y")
        refuse_strange_labels(classes)
        self.classes_ = classes
        # Balanced classes weigh the same up to rounding, which must not decide their order.
        share = np.round(mass / mass.max(), 9)
        two = len(classes) == 2
        self.stick_ = np.array([1, 0]) if two else np.argsort(-share, kind="stable")
        self.tree_ = self._resumption.tree(len(classes)) or grow(mass[self.stick_])

    def _reach(self, X: Any) -> Array | None:
        """The probability that a row's class is among those of each decision, (T, n)."""
        if len(self.tree_.nodes) == 1:
            return None
        p = mean_probabilities(self.draws_, X, self.trend_, self.tree_)
        return np.stack([p[node.first : node.last].sum(axis=0) for node in self.tree_.nodes])

    def predict_proba(self, X: Any) -> Array:
        """Posterior mean of the class probabilities, (n, C)."""
        rows = self._rows(X)
        out = np.empty((len(rows), len(self.classes_)))
        for part in row_blocks(rows):
            out[part] = self._in_class_order(
                mean_probabilities(self.draws_, rows[part], self.trend_, self.tree_)
            )
        return out

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class (n,), or log probabilities of all classes (n, C)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def predict_proba_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Credible interval of the class probabilities: (lower, upper), (n, C) each."""
        check.inside("coverage", coverage)
        tail = 0.5 * (1.0 - coverage)
        rows = self._rows(X)
        bounds = np.empty((2, len(rows), len(self.classes_)))
        samples = sum(2 * max(draw.root.shape[2], 1) for draw in self.draws_)
        at_once = INTERVAL_BYTES // (8 * samples * len(self.classes_))
        for part in row_blocks(rows, min(max(at_once, 1), 512)):
            found = probability_samples(self.draws_, rows[part], self.trend_, self.tree_)
            ends = np.quantile(
                np.concatenate(list(found)), [tail, 1.0 - tail], axis=0, overwrite_input=True
            )
            for i, q in enumerate(ends):
                bounds[i, part] = self._in_class_order(q)
        return bounds[0], bounds[1]

    def predict_latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of the latent functions: (n,) for two classes, else (n, C-1).

        For more than two classes column t belongs to node t of the tree, ``first, middle, last =
        tree_.nodes[t]``: log odds of the classes ``classes_[stick_[first:middle]]`` against
        ``classes_[stick_[middle:last]]``, for rows in one of them.
        """
        rows = self._rows(X)
        tasks = len(self.classes_) - 1
        mean, std = np.empty((len(rows), tasks)), np.empty((len(rows), tasks))
        for part in row_blocks(rows):
            first = second = np.zeros((tasks, part.stop - part.start))
            for draw in self.draws_:
                f = latent_samples(draw, rows[part], self.trend_)
                first = first + f.mean(axis=0) / len(self.draws_)
                second = second + (f**2).mean(axis=0) / len(self.draws_)
            mean[part] = first.T
            std[part] = np.sqrt(np.maximum(second - first**2, 0.0)).T
        return (mean[:, 0], std[:, 0]) if tasks == 1 else (mean, std)

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """log P(y_i | x_i, training data) for each row, (n,)."""
        log_p = self.predict_log_proba(X)
        if np.shape(y) != (len(log_p),):
            raise ValueError(f"y has shape {np.shape(y)}, but X has {len(log_p)} rows.")
        y = np.asarray(y)
        if are_text(y) != are_text(self.classes_):
            raise ValueError(
                "y holds labels that cannot be compared with those of the fit, such as "
                f"{self.classes_[:1].tolist()[0]!r}: it has {y[:1].tolist()[0]!r}."
            )
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        known = self.classes_[codes] == y
        return np.where(known, log_p[np.arange(len(y)), codes], -np.inf)

    def _in_class_order(self, p: Array) -> Array:
        """(C, n) in the order of the tree to (n, C) in the order of classes_, summing to one."""
        out = np.empty((p.shape[1], len(self.classes_)))
        out[:, self.stick_] = p.T
        return out

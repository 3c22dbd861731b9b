"""What a fitted estimator says about its kernel and about rows far from its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.estimators import parameters as check
from banklearn.numerics.threads import limited_to
from banklearn.posterior.diagnostics import Agreement, agreement
from banklearn.posterior.explain import KernelExplanation, explain_kernel
from banklearn.posterior.extrapolation import THRESHOLD, Extrapolation, prior_share
from banklearn.posterior.functions import functions_by_chain
from banklearn.posterior.predict import row_blocks
from banklearn.posterior.relevance import any_order

#: Training rows at which the prior share is looked at, and the quantile of it that is kept.
KNOWN_ROWS, KNOWN = 400, 0.99


class Explains:
    """The methods `explain`, `agreement`, `extrapolation`; the estimator brings its results."""

    _rows: Any
    draws_: Any
    kernel_: Any
    trend_: Any
    provenance_: Any

    def _reach(self, X: Any) -> NDArray[np.float64] | None:
        """By how much each function (T, n) counts at rows in model units; None: all alike."""
        return None

    def explain(
        self, X: Any, *, names: Sequence[str] | None = None, coverage: float = 0.9
    ) -> KernelExplanation:
        """Periods, length scales and relevance of inputs, in the units of the data.

        Of a classifier they are those of its latent function, the log odds. With three or more
        classes there is one for each decision of ``tree_``; relevance is of all of them together,
        and that with the largest log odds counts most.

        Parameters
        ----------
        X : rows (n, d) at which to look, for example those of the fit. Relevance is that for
            inputs distributed as in X, and periods are looked for in the range of X.
        names : names of the inputs; None takes those of the training table.
        coverage : posterior probability of the intervals.
        """
        check.inside("coverage", coverage)
        rows = self._rows(X)
        if len(rows) < 2:
            raise ValueError(f"explain needs at least 2 rows to compare, but X has {len(rows)}.")
        d = rows.X.shape[1]
        if names is None:
            own = getattr(self, "feature_names_in_", None)
            plain = ["input"] if d == 1 else [f"input {i}" for i in range(d)]
            names = plain if own is None else [str(name) for name in own]
        if len(names) != d:
            raise ValueError(f"names holds {len(names)} names, but there are {d} inputs.")
        has_noise = hasattr(self, "target_scaling_")
        return explain_kernel(self.kernel_, self.trend_, rows.X, list(names), coverage, has_noise)

    def agreement(self, X: Any) -> Agreement:
        """R-hat and effective sample size of the function at each row of X.

        Chains that find different frequencies can still agree on the function, which is what
        predictions need. At least 8 draws per chain are needed.
        """
        rows = self._rows(X)
        parts = [functions_by_chain(self.draws_, rows[p], self.trend_) for p in row_blocks(rows)]
        values = np.concatenate(parts, axis=2)
        if values.shape[1] < 8:
            raise ValueError(
                f"agreement needs at least 8 draws per chain, but there are {values.shape[1]}."
            )
        return agreement(values)

    @property
    def doubt_threshold_(self) -> float:
        """The prior share from which a row is doubtful: a quarter, or what training rows have.

        That is what 99 % of them stay below, where it is more. Models of the time when fits did
        not look at it have a quarter.
        """
        return max(THRESHOLD, float(self.provenance_.get("prior_share") or 0.0))

    def _prior_share_known(self, X: Any) -> float:
        """The prior share that 99 % of training rows X, in model units, stay below."""
        rows = X[any_order(X)[np.linspace(0, len(X) - 1, min(len(X), KNOWN_ROWS)).astype(int)]]
        with limited_to(1):  # the same bits on any number of cores
            share = prior_share(self.draws_, rows, self.trend_, self._reach(rows))
        return float(np.quantile(share, KNOWN))

    def extrapolation(self, X: Any, threshold: float | None = None) -> Extrapolation:
        """How far the predictive law of each row has fallen back to the prior.

        `prior_share` (n,) is the posterior variance of the latent function over the prior
        variance of the kernel's part, at most 1; `doubtful` (n,) marks rows where it exceeds the
        threshold, `doubt_threshold_` if None: a quarter, or more where training rows have more.
        With several decisions between classes each counts by the probability that the row comes
        to it. A row that is not marked can still be predicted wrongly: a smooth kernel may
        continue with confidence.
        """
        if threshold is None:
            threshold = self.doubt_threshold_
        else:
            check.inside("threshold", threshold)
        rows = self._rows(X)
        share = np.empty(len(rows))
        for part in row_blocks(rows):
            reach = self._reach(rows[part])
            share[part] = prior_share(self.draws_, rows[part], self.trend_, reach)
        return Extrapolation(share, share > threshold)

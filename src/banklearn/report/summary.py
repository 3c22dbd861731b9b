"""Everything a report says, as a dictionary of plain numbers, strings and lists."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import _num_samples

from banklearn._version import __version__
from banklearn.posterior.calibration import is_no_label
from banklearn.posterior.settling import least_draws
from banklearn.report import checks
from banklearn.report.classes import summarise_classes
from banklearn.report.scores import bank_scores, rival_scores, score_names
from banklearn.viz.marginal import Marginal, along, fitted_kernel, input_names
from banklearn.viz.trace import chain_traces

Array = NDArray[np.float64]

BAND = 0.9
INTERVAL = 0.95
#: What rows are to the fit.
STANDINGS = ("kept out", "seen", "unknown")
#: Inputs whose kernel and spectral density the page offers, and whose values it tabulates.
MOST_CURVES, MOST_INPUTS = 8, 40


def summarise(
    estimator: Any,
    X_test: Any,
    y_test: Any,
    baseline: Any = None,
    *,
    feature: int | str | None = None,
    names: Sequence[str] | None = None,
    title: str = "Kernel learning report",
    target: str = "target",
    standing: Literal["kept out", "seen", "unknown"] = "kept out",
) -> dict[str, Any]:
    """What a fitted estimator learned and how it does on rows that it should not have seen.

    Parameters
    ----------
    estimator : fitted BankRegressor or BankClassifier
    X_test, y_test : rows to judge by, best those kept out of the fit.
    baseline : fitted estimator to compare with, for example RKSRegressor; None for none.
    feature : input along which kernel and spectral density are drawn; None takes the one along
        which the kernel falls fastest.
    names : names of the inputs; None takes those of the training table.
    title, target : words for the page's head and for what is predicted.
    standing : whether the rows were kept out of the fit, are part of it ("seen"), or nobody knows;
        the page calls them so, and warns where they were not kept out.
    """
    classifier = hasattr(estimator, "predict_proba_interval")
    if not classifier and not hasattr(estimator, "predict_interval"):
        raise TypeError(
            "summarise reports on estimators with predict_interval or predict_proba_interval; "
            f"{type(estimator).__name__} has neither."
        )
    if standing not in STANDINGS:
        raise ValueError(
            f"standing must be one of {', '.join(map(repr, STANDINGS))}, but is {standing!r}."
        )
    y_test = _one_target_a_row(X_test, y_test, classifier)
    learned = fitted_kernel(estimator)
    names = input_names(estimator) if names is None else list(names)
    parts = {
        i: replace(along(estimator, i), name=name)
        for i, name in enumerate(names)
        if learned.scaling.used[i]
    }
    half = {i: _half_lag(part) for i, part in parts.items()}
    shown = _fastest(parts, half) if feature is None else _index(feature, names, list(parts))
    special = summarise_classes if classifier else _regression
    explanation = estimator.explain(X_test, names=names, coverage=BAND)
    far = estimator.extrapolation(X_test)
    shares = {i: one.relevance.value for i, one in enumerate(explanation.inputs) if one.relevance}
    ranked = sorted(shares, key=lambda i: -shares[i])
    drawn = [shown, *(i for i in ranked if i != shown)][:MOST_CURVES]
    chains = [_plain(chain) for chain in chain_traces(estimator)]
    summary = {
        "title": title,
        "target": target,
        "standing": standing,
        "interval": INTERVAL,
        "band": BAND,
        "inputs": [_input(name, half.get(i), parts.get(i)) for i, name in enumerate(names)],
        "scaling": learned.scaling.kind,
        "kernel": _kernel(parts[shown]),
        "spectrum": _spectrum(parts[shown], marginal=len(parts) > 1),
        "curves": [_curves(estimator, parts[i], len(parts)) for i in drawn],
        "explanation": {**explanation.as_dict(), "words": explanation.in_words()},
        "extrapolation": {
            "doubtful": int(far.doubtful.sum()),
            "rows": len(far.doubtful),
            "threshold": estimator.doubt_threshold_,
        },
        "chains": chains,
        "diagnostics": [checks.agreement(estimator, X_test), *checks.diagnostics(chains)],
        "mixture": _mixture(parts[shown]),
        "components": _spread([len(draw.pi) - 1 for draw in estimator.draws_]),
        "reproduce": _reproduce(estimator, baseline),
        **special(estimator, X_test, y_test, baseline),
    }
    if not classifier:
        y = np.asarray(y_test, dtype=float)
        summary["residuals"] = checks.residuals(estimator, X_test, y, names)
        summary["calibration"] = checks.calibration(estimator, X_test, y)
    summary["data"]["inputs"] = _inputs(X_test, names)
    summary["warnings"] = checks.warnings_of(summary)
    return summary


def _one_target_a_row(X: Any, y: Any, classifier: bool) -> NDArray[Any]:
    """The targets (n,) of rows X, none of them missing."""
    values: NDArray[Any] = column_or_1d(y, **({} if classifier else {"dtype": np.float64}))
    if len(values) != _num_samples(X):
        raise ValueError(f"X_test has {_num_samples(X)} rows, but y_test has {len(values)}.")
    if values.dtype.kind == "O":
        for row, label in enumerate(values):
            if is_no_label(label):
                raise ValueError(f"y_test has no label in row {row} (it holds {label!r}).")
    assert_all_finite(values, input_name="y_test")
    return values


def _regression(estimator: Any, X: Any, y_test: Any, baseline: Any) -> dict[str, Any]:
    """The part of a summary that only regressors have."""
    y = np.asarray(y_test, dtype=float)
    lower, upper = estimator.predict_interval(X, INTERVAL)
    own, rival = score_names(estimator, baseline)
    scores = {own: bank_scores(estimator, X, y, INTERVAL)}
    if baseline is not None:
        scores[rival] = rival_scores(baseline, X, y, INTERVAL)
    return {
        "task": "regression",
        "scores": {name: _known(found) for name, found in scores.items()},
        "noise_std": _spread(
            estimator.target_scaling_.scale * np.sqrt([draw.noise for draw in estimator.draws_])
        ),
        "predictions": _plain(
            {"observed": y, "predicted": estimator.predict(X), "lower": lower, "upper": upper}
        ),
        "data": {
            "training_rows": float(estimator.draws_[0].dof - 2.0 * estimator.a0),
            "test_rows": len(y),
            "training_mean": estimator.target_scaling_.shift,
            "training_std": estimator.target_scaling_.scale,
            "test_mean": float(y.mean()),
            "test_std": float(y.std()),
            "test_range": [float(y.min()), float(y.max())],
        },
    }


def _known(found: dict[str, float]) -> dict[str, float | None]:
    """Scores with None, which JSON can hold, in the place of those that do not exist."""
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def _half_lag(part: Marginal) -> float | None:
    """The smallest distance at which the mean kernel is 1/2; None if it stays above."""
    lags = np.linspace(0.0, 12.0 * part.scale, 2401)
    mean = part.kernel.at_lags(lags).mean
    below = np.flatnonzero(mean <= 0.5)
    if len(below) == 0:
        return None
    i = int(below[0])
    share = (mean[i - 1] - 0.5) / (mean[i - 1] - mean[i])
    return float(lags[i - 1] + share * (lags[i] - lags[i - 1]))


def _fastest(parts: dict[int, Marginal], half: dict[int, float | None]) -> int:
    def relative(i: int) -> float:
        return np.inf if (lag := half[i]) is None else lag / parts[i].scale

    return min(parts, key=relative)


def _index(feature: int | str, names: list[str], varying: list[int]) -> int:
    """The position of an input that varies, by position or name."""
    found = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if found not in varying:
        known = ", ".join(names[i] for i in varying)
        raise ValueError(
            f"feature must be an input that varies in the training rows ({known}), by name or "
            f"position, but is {feature!r}."
        )
    return int(found)


def _input(name: str, half: float | None, part: Marginal | None) -> dict[str, Any]:
    return {
        "name": name,
        "varies": part is not None,
        "half_lag": half,
        "half_lag_in_deviations": None if half is None or part is None else half / part.scale,
    }


def _kernel(part: Marginal) -> dict[str, Any]:
    lags = part.default_lags()
    band = part.kernel.at_lags(lags, BAND)
    return {**_plain({"lags": lags, **band._asdict()}), "name": part.name, "unit": part.unit}


def _spectrum(part: Marginal, marginal: bool) -> dict[str, Any]:
    omega = part.default_frequencies()
    band = part.kernel.spectral_density(omega, BAND)
    curves = _plain({"frequencies": omega, **band._asdict()})
    return {**curves, "name": part.name, "unit": part.unit, "marginal": marginal}


def _curves(estimator: Any, part: Marginal, inputs: int) -> dict[str, Any]:
    """Kernel and spectral density along one input, with the RBF kernel that the fit began with."""
    kernel, spectrum = _kernel(part), _spectrum(part, marginal=inputs > 1)
    length_scale = part.scale / float(estimator.starting_point_.scale)
    kernel["rbf"] = np.exp(-0.5 * (np.array(kernel["lags"]) / length_scale) ** 2).tolist()
    return {"name": part.name, "unit": part.unit, "kernel": kernel, "spectrum": spectrum}


def _mixture(part: Marginal, most: int = 6) -> list[dict[str, float]]:
    """The heaviest components of the last draw's spectral density, per unit of the plot."""
    pi, mu, Sigma = part.kernel.mixture(len(part.kernel.draws) - 1)
    return [
        {
            "weight": float(pi[k]),
            "frequency": abs(float(mu[k, 0])) / part.scale,
            "spread": float(np.sqrt(Sigma[k, 0, 0])) / part.scale,
        }
        for k in np.argsort(-pi, kind="stable")[:most]
    ]


def _inputs(X: Any, names: list[str]) -> list[dict[str, Any]]:
    """Least, middle, greatest and number of different values of each input, kept-out rows."""
    values = np.asarray(X, dtype=float)[:, :MOST_INPUTS]
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0], axis=0)
    return [
        {
            "name": name,
            "low": float(low[i]),
            "middle": float(middle[i]),
            "high": float(high[i]),
            "different": len(np.unique(values[:, i])),
        }
        for i, name in enumerate(names[:MOST_INPUTS])
    ]


def _spread(values: Any) -> dict[str, float]:
    values = np.asarray(values, dtype=float)
    low, high = np.quantile(values, [0.05, 0.95])
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}


def _plain(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays as lists, NumPy scalars as Python's."""
    return {name: np.asarray(value).tolist() for name, value in arrays.items()}


def _reproduce(estimator: Any, baseline: Any) -> dict[str, Any]:
    packages = {"banklearn": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "numba"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: _text(v) for name, v in sorted(estimator.get_params().items())},
        "arguments": {name: _code(v) for name, v in sorted(estimator.get_params().items())},
        "baseline": None if baseline is None else _text(baseline),
        "seed": _text(estimator.get_params().get("random_state")),
        "sweeps": [int(n) for n in estimator.n_sweeps_],
        "planned_sweeps": estimator.n_warmup + least_draws(estimator.n_draws) * estimator.thin,
        "draws": len(estimator.draws_),
        "versions": packages,
    }


def _code(value: Any) -> str:
    """A value as it is written in a call; what cannot be written is told beside it."""
    if isinstance(value, np.generic):
        value = value.item()
    text = " ".join(repr(value).split())
    objects = (np.random.RandomState, np.random.Generator)
    return f"None,  # was {text}" if isinstance(value, objects) else f"{text},"


def _text(value: Any) -> Any:
    """A value that JSON can hold: itself, or its representation on one line."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return " ".join(repr(value).split())

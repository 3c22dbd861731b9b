"""Whether to trust a fit: diagnostics of the chains, calibration of the law, and warnings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing as rows_of

from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.posterior.extrapolation import THRESHOLD
from banklearn.report.figures import TRACED, thinned
from banklearn.report.words import judged

Array = NDArray[np.float64]

#: Quantile levels at which calibration is looked at, and the most rows that it looks at.
LEVELS = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
CALIBRATION_ROWS = 500
#: What predictions are called among the traced quantities, and at how many rows they are watched.
PREDICTIONS, PROBES = "predictions (median over rows)", 40
#: Above this R-hat, chains disagree; below this many effective draws, averages are rough.
HIGH_R_HAT, FEW_EFFECTIVE = 1.1, 30.0


def diagnostics(chains: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """R-hat and effective sample size of each traced quantity after the warm-up."""
    out = []
    for name, label, log in TRACED:
        if not all(name in chain for chain in chains):
            continue
        parts = [
            np.asarray(chain[name], dtype=float)[0 if name == "noise_std" else chain["warmup"] :]
            for chain in chains
        ]
        n = min(map(len, parts))
        row: dict[str, Any] = {"name": label, "draws": n * len(parts), "r_hat": None, "ess": None}
        if n >= 8:  # four in each half of a chain
            values = np.stack([part[-n:] for part in parts])
            values = np.log(values) if log and (values > 0).all() else values
            row["r_hat"], row["ess"] = (
                _finite(r_hat(values)),
                _finite(effective_sample_size(values)),
            )
        out.append(row)
    return out


def agreement(estimator: Any, X: Any) -> dict[str, Any]:
    """R-hat and effective sample size of the function itself: medians over some rows."""
    per_chain = np.bincount([draw.chain for draw in estimator.draws_])
    per_chain = per_chain[per_chain > 0]
    draws = int(per_chain.min()) * len(per_chain)
    row: dict[str, Any] = {"name": PREDICTIONS, "draws": draws, "r_hat": None, "ess": None}
    if per_chain.min() >= 8:
        n = len(np.asarray(X))
        picks = np.linspace(0, n - 1, min(n, PROBES)).round().astype(int)
        found = estimator.agreement(rows_of(X, picks))
        row["r_hat"] = _finite(float(np.median(found.r_hat)))
        row["ess"] = _finite(float(np.median(found.effective)))
    return row


def calibration(estimator: Any, X: Any, y: Array) -> dict[str, Any]:
    """Share of targets below the predicted quantiles, with what chance allows around it."""
    rows = np.sort(thinned(y, CALIBRATION_ROWS))
    below = y[rows][:, None] <= estimator.predict_quantiles(rows_of(X, rows), LEVELS)
    share = below.mean(axis=0)
    chance = 2.0 * np.sqrt(np.array(LEVELS) * (1.0 - np.array(LEVELS)) / len(rows))
    return {
        "levels": list(LEVELS),
        "observed": share.tolist(),
        "low": np.maximum(share - chance, 0.0).tolist(),
        "high": np.minimum(share + chance, 1.0).tolist(),
        "rows": len(rows),
    }


def residuals(estimator: Any, X: Any, y: Array, names: list[str]) -> dict[str, Any]:
    """Observed minus predicted, with what it may be drawn against."""
    predicted = np.asarray(estimator.predict(X))
    inputs = np.asarray(X, dtype=float)
    rows = thinned(predicted)
    against = [{"name": "predicted", "x": predicted[rows].tolist()}]
    used = estimator.kernel_.scaling.used
    for i, name in enumerate(names):
        if used[i] and len(against) <= 8:
            against.append({"name": name, "x": inputs[rows, i].tolist()})
    error = y - predicted
    size = np.abs(error)
    low, high = np.array_split(np.argsort(predicted, kind="stable"), 2)
    return {
        "residual": error[rows].tolist(),
        "against": against,
        "mean": float(error.mean()),
        "std": float(error.std()),
        "spread_low": float(size[low].mean()),
        "spread_high": float(size[high].mean()) if len(high) else float("nan"),
    }


def warnings_of(summary: dict[str, Any]) -> list[str]:
    """What a reader should know before trusting the page, one sentence each."""
    return [
        *_standing(summary),
        *_chains(summary),
        *_extrapolated(summary),
        *_coverage(summary),
        *_residuals(summary),
        *_inputs(summary),
        *_labels(summary),
    ]


def _standing(summary: dict[str, Any]) -> list[str]:
    if summary.get("standing", "kept out") == "kept out":
        return []
    return [
        f"The scores on this page are of {judged(summary)}, and better than new rows would give: "
        "they say little about how good the predictions are."
    ]


def _chains(summary: dict[str, Any]) -> list[str]:
    rows = summary["diagnostics"]
    apart = [r for r in rows if r["r_hat"] is not None and r["r_hat"] > HIGH_R_HAT]
    rough = [r for r in rows if r["ess"] is not None and r["ess"] < FEW_EFFECTIVE]
    out = []
    if apart:
        listed = ", ".join(f"{row['name']} {row['r_hat']:.2f}" for row in apart)
        known = any(r["name"] == PREDICTIONS and r["r_hat"] is not None for r in rows)
        agree = known and all(r["name"] != PREDICTIONS for r in apart)
        consequence = (
            "Predictions agree, so they can be used; the band of the kernel may be too narrow."
            if agree
            else "Averages over them are not yet those of the posterior."
        )
        out.append(
            f"R-hat is above {HIGH_R_HAT:g} ({listed}): the chains have not settled at the same "
            f"level. {consequence} A longer warm-up (n_warmup) or more chains help."
        )
    if rough:
        listed = ", ".join(f"{row['name']} {row['ess']:.0f}" for row in rough)
        out.append(
            f"Fewer than {FEW_EFFECTIVE:.0f} effective draws ({listed}): averages are rough. More "
            "draws (n_draws, thin) help."
        )
    if all(row["r_hat"] is None for row in summary["diagnostics"]):
        out.append("Too few draws were kept to judge whether the chains agree.")
    planned = summary["reproduce"]["planned_sweeps"]
    if min(summary["reproduce"]["sweeps"]) < planned:
        out.append(
            f"The fit ended early: {min(summary['reproduce']['sweeps'])} of {planned} sweeps."
        )
    return out


def _extrapolated(summary: dict[str, Any]) -> list[str]:
    part = summary["extrapolation"]
    if not part["doubtful"]:
        return []
    told = (
        f"For {part['doubtful']} of {part['rows']} {judged(summary)} the predictive law has "
        f"fallen back to the prior (over {100 * part['threshold']:.0f} % of the prior variance is "
        f"left{', more than at nearly all training rows' if part['threshold'] > THRESHOLD else ''})"
    )
    if 2 * part["doubtful"] > part["rows"]:
        return [
            f"{told}. If most of them lie far from the training data, do not rely on their "
            "predictions; if not, the data say little about the kernel's part of the function "
            "anywhere, and this mark cannot tell far rows from near ones."
        ]
    return [
        f"{told}: they lie far from the training data, or the data say little about the function "
        "there."
    ]


def _coverage(summary: dict[str, Any]) -> list[str]:
    own = next(iter(summary["scores"].values()))
    if "coverage" not in own:
        return []
    nominal, n = summary["interval"], summary["data"]["test_rows"]
    if own["coverage"] >= nominal - 3.0 * math.sqrt(nominal * (1 - nominal) / n):
        return []
    other = ""
    if summary.get("standing", "kept out") == "kept out":
        other = "the rows kept out may differ from those of the fit, or "
    return [
        f"The {100 * nominal:.0f} % intervals hold only {100 * own['coverage']:.1f} % of the "
        f"targets: {other}the noise is not of one size."
    ]


def _residuals(summary: dict[str, Any]) -> list[str]:
    part = summary.get("residuals")
    if part is None or summary["data"]["test_rows"] < 40:
        return []
    low, high = sorted((part["spread_low"], part["spread_high"]))
    if not high > 2.0 * low:
        return []
    where = "large" if part["spread_high"] > part["spread_low"] else "small"
    return [
        f"Residuals are {high / max(low, 1e-300):.1f} times as wide where predictions are {where}: "
        "the model assumes noise of one size, so intervals are too narrow there."
    ]


def _inputs(summary: dict[str, Any]) -> list[str]:
    still = [one["name"] for one in summary["inputs"] if not one["varies"]]
    if not still:
        return []
    return [f"These inputs did not vary in the fit and were left out: {', '.join(still)}."]


def _labels(summary: dict[str, Any]) -> list[str]:
    """Rows to judge by of classes that the model cannot know."""
    data = summary["data"]
    if not data.get("unknown_rows"):
        return []
    labels = ", ".join(data["unknown_labels"][:5])
    return [
        f"{data['unknown_rows']} of {data['test_rows']} rows have labels that did not occur in "
        f"training ({labels}). They count as wrong, and are not in the table of classes."
    ]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

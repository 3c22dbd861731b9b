"""A model as a Python file that needs NumPy and nothing else."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from banklearn._version import __version__
from banklearn.bridges.point import point_model
from banklearn.posterior.scaling import FAR

_HEAD = '''"""{what}, written by banklearn {version}.

Needs NumPy and, beside it, {arrays}. {usage}
"""

from pathlib import Path

import numpy as np

with np.load(Path(__file__).with_name("{arrays}"), allow_pickle=False) as _file:
    _A = {{name: _file[name] for name in _file.files}}
_LARGEST = np.finfo(np.float64).max
_NAMES = {names}
'''

_SCALED = '''

def _scores(u, knots, heights):
    """Piecewise linear maps, one per column, that go on beyond the outer knots."""
    inside = [np.interp(a, k, h) for a, k, h in zip(u.T, knots.T, heights.T)]
    u, low, high = 0.5 * u, 0.5 * knots[0], 0.5 * knots[-1]  # differences of halves are numbers
    beyond = np.minimum(u - low, 0) + np.maximum(u - high, 0)
    beyond /= np.where(high > low, high - low, 1.0)
    return np.stack(inside, axis=1) + (heights[-1] - heights[0]) * beyond


def _scaled(v):
    """Inputs in units of the model; rows further out than these have numbers are cut."""
    if _A["kind"] in ("arcsinh", "quantile"):
        v = np.clip((v - _A["centre"]) / _A["spread"], -_LARGEST, _LARGEST)
        v = np.arcsinh(v) if _A["kind"] == "arcsinh" else _scores(v, _A["knots"], _A["heights"])
    return np.clip((v - _A["shift"]) / _A["scale"], -_A["far"], _A["far"])


def _each_draw(X):
    """Each draw's numbers per row, from inputs in the order {names}."""
    columns = list(getattr(X, "columns", ()))
    if columns and _NAMES and columns != _NAMES:
        raise ValueError(f"X has the columns {{columns}}, but the model was trained on {{_NAMES}}.")
    v = np.asarray(X, dtype=np.float64)
    if v.ndim != 2 or v.shape[1] != len(_A["used"]):
        raise ValueError(f"X must have shape (n, {{len(_A['used'])}}), not {{v.shape}}.")
    with np.errstate(over="ignore"):
        v = _scaled(v[:, _A["used"]])
    for W, offset, linear, cosine, sine in zip(
        *(_A[name] for name in ("W", "offset", "linear", "cosine", "sine"))
    ):
        angle = v @ W.T
        yield offset + v @ linear + np.cos(angle) @ cosine + np.sin(angle) @ sine
'''

_REGRESSION = '''

def predict(X):
    """The predicted mean of each row, (n,)."""
    mean = sum(f[:, 0] for f in _each_draw(X)) / len(_A["W"])
    with np.errstate(over="ignore"):
        return np.clip(_A["target_shift"] + _A["target_scale"] * mean, -_LARGEST, _LARGEST)
'''

_CLASSIFICATION = '''

classes = _A["classes"]


def predict_proba(X):
    """Class probabilities of each row, (n, C), in the order of `classes`.

    Node (first, middle, last) of the tree cuts a range of classes in two.
    """
    total = 0.0
    for f in _each_draw(X):
        f = f.reshape(len(f), -1, len(_A["tree"]))
        p = np.ones((*f.shape[:2], len(classes)))
        for t, (first, middle, _) in enumerate(_A["tree"]):
            with np.errstate(over="ignore"):  # infinite odds
                p[:, :, middle] = p[:, :, first] / (1 + np.exp(f[:, :, t]))
                p[:, :, first] /= 1 + np.exp(-f[:, :, t])
        total = total + p.mean(axis=1)[:, _A["order"]]
    return total / len(_A["W"])


def predict(X):
    """The most probable class of each row."""
    return classes[predict_proba(X).argmax(axis=1)]
'''

_SCALING = ("used", "kind", "centre", "spread", "shift", "scale")
_WEIGHTS = ("W", "offset", "linear", "cosine", "sine")


def write_numpy_module(
    estimator: Any, path: str | PathLike[str], max_draws: int | None = None
) -> tuple[Path, Path]:
    """Write ``NAME.py`` with a function ``predict`` and ``NAME.npz`` with its arrays.

    The Python file imports NumPy only, so it can serve predictions where this package is not
    installed; classifiers also get ``predict_proba``. max_draws as in :func:`point_model`.
    Returns both paths.
    """
    path = Path(path)
    if path.suffix != ".py" or not re.fullmatch(r"[A-Za-z_]\w*", path.stem):
        raise ValueError(
            f"{path.name!r} cannot be imported; use letters, digits and underscores, then .py."
        )
    point = point_model(estimator, max_draws)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    arrays = {name: getattr(point, name) for name in _WEIGHTS}
    arrays |= {name: getattr(point.scaling, name) for name in _SCALING}
    arrays["far"] = FAR
    if point.target is not None:
        arrays |= {"target_shift": point.target.shift, "target_scale": point.target.scale}
    if point.scaling.scores is not None:
        arrays |= point.scaling.scores._asdict()
    if point.tree is not None:
        labels = np.asarray(point.classes)
        if labels.dtype == object:
            labels = np.array([str(label) for label in labels])
        arrays |= {"order": point.order, "classes": labels, "tree": point.tree.ranges}
    beside = path.with_suffix(".npz")
    np.savez_compressed(beside, **arrays)
    call = "predict(X) and predict_proba(X)" if point.classes is not None else "predict(X)"
    text = _HEAD.format(
        what=f"A {type(estimator).__name__} for serving",
        version=__version__,
        arrays=beside.name,
        usage=f"{call} take a table of {len(point.scaling.used)} inputs.",
        names=repr(names),
    ) + _SCALED.format(names=", ".join(map(_in_docstring, names)) or "of training")
    path.write_text(
        text + (_REGRESSION if point.tree is None else _CLASSIFICATION), encoding="utf-8"
    )
    return path, beside


def _in_docstring(name: str) -> str:
    """A name as it can stand in a docstring: no escapes, line ends or quotation marks."""
    return repr(name.replace('"', "'"))[1:-1]

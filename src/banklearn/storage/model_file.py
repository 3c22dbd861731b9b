"""Version 1 of the model file: what a fitted estimator knows, as a header and arrays.

docs/model_file.md describes it. Writing and reading go through the same checks
(:mod:`.model_checks`), so that nothing is written that could not be read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model.class_tree import ClassTree, stick
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.posterior.draws import Draw
from banklearn.posterior.error_law import ErrorLaw
from banklearn.posterior.normal_scores import NormalScores
from banklearn.posterior.scaling import InputScaling, TargetScaling
from banklearn.sampler.start import StartingPoint
from banklearn.storage import container, model_checks
from banklearn.storage.errors import ModelFileError
from banklearn.storage.extra import pack_extra, unpack_extra
from banklearn.storage.strings import pack_strings, unpack_strings

Arrays = dict[str, NDArray[Any]]
#: The same, with those of all draws or chains as lists of one array each.
Parts = dict[str, Any]

KIND = "model"
SCHEMA = 1
#: Larger files are refused unless the caller says otherwise: loading takes the file's size in
#: memory and somewhat more, and a file that is all zeros takes no room where it came from.
MAX_MODEL = 1 << 30

#: Fields of a draw that are one number, and their dtype in the file.
SCALARS = {
    "noise": "f8",
    "dof": "f8",
    "lam": "f8",
    "alpha": "f8",
    "log_evidence": "f8",
    "chain": "i8",
    "sweep": "i8",
}
#: Fields of a draw with one entry per component, whose number differs between draws.
RAGGED = ("pi", "mu", "Sigma")
#: Fields of a draw whose shape is the same in all draws.
STACKED = ("W", "mu_n", "root")
SCALING = ("used", "shift", "scale", "centre", "spread")


@dataclass(frozen=True)
class StoredModel:
    """Everything in a model file, as objects of this library."""

    estimator: str
    parameters: dict[str, Any]
    trend: Trend
    input_scaling: InputScaling
    starting_point: StartingPoint
    prior: Prior
    draws: list[Draw]
    trace: list[dict[str, Any]]
    feature_names: list[str] | None
    target_scaling: TargetScaling | None
    error_law: ErrorLaw | None
    classes: NDArray[Any] | None
    stick: NDArray[Any] | None
    tree: ClassTree | None
    provenance: dict[str, Any]
    extra: dict[str, Any] | None = None


def write_model(path: Path, model: StoredModel) -> None:
    """Write atomically, after the checks that reading will make."""
    try:
        meta, arrays = to_parts(model)
        model_checks.check_meta(meta)
        table = {n: (container.code(a.dtype), a.shape) for n, a in arrays.items()}
        model_checks.check_shapes(meta, table)
        model_checks.check_values(meta, _cut(meta, arrays))
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"This model cannot be saved: {error}") from error
    container.write(path, KIND, meta, arrays)


def read_model(path: Path, limit: int = MAX_MODEL) -> StoredModel:
    """Read and check; ModelFileError whatever is wrong with the file."""
    advice = " If you trust it, load it with a larger max_bytes; it takes as much memory."
    with container.opened(path, ModelFileError, limit, advice) as file:
        if file.kind != KIND:
            file.fail(f"it holds a {file.kind[:40]!r}, not a model.")
        try:
            model_checks.check_meta(file.meta)
            table = {name: (e.dtype, e.shape) for name, e in file.entries.items()}
            model_checks.check_shapes(file.meta, table)
            counts = file.read("draws/components")
            model_checks.check_components(counts, file.entries["draws/pi"].shape[0])
            lengths = _lengths(file.meta, counts.tolist(), file.entries)
            # Every draw and every chain has memory of its own, so that one kept alone is small.
            parts: Parts = {
                name: file.read_pieces(name, lengths[name]) if name in lengths else file.read(name)
                for name in file.entries
            }
            model_checks.check_values(file.meta, parts)
            return from_parts(file.meta, parts)
        except ModelFileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            file.fail(f"{error}")


def to_parts(model: StoredModel) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model."""
    arrays = _draw_arrays(model.draws)
    arrays |= {f"scaling/{n}": np.asarray(getattr(model.input_scaling, n)) for n in SCALING}
    if model.input_scaling.scores is not None:
        arrays |= {f"scaling/{n}": A for n, A in model.input_scaling.scores._asdict().items()}
    prior = {f.name: getattr(model.prior, f.name) for f in fields(Prior)}
    for name in ("mu0", "psi_mean"):
        arrays[f"prior/{name}"] = np.asarray(prior.pop(name), dtype=np.float64)
    for name in model.trace[0]:
        if name != "warmup":
            arrays[f"trace/{name}"] = _joined([t[name] for t in model.trace])
    if model.feature_names is not None:
        arrays |= _string_arrays("features", model.feature_names)
    if model.error_law is not None:
        arrays |= _error_arrays(model.error_law)
    if model.extra:
        arrays["extra"] = pack_extra(model.extra)
    label = None
    if model.classes is not None:
        assert model.stick is not None
        assert model.tree is not None
        arrays["stick"] = np.asarray(model.stick, dtype=np.int64)
        if not model.tree.is_stick:  # on which all classes once were
            arrays["tree"] = model.tree.ranges
        label, parts = _label_arrays(model.classes)
        arrays |= parts
    start, target = model.starting_point, model.target_scaling
    meta = {
        "schema": SCHEMA,
        "estimator": model.estimator,
        "parameters": model.parameters,
        "trend": model.trend,
        "scaling": model.input_scaling.kind,
        "start": {f.name: float(getattr(start, f.name)) for f in fields(StartingPoint)},
        "prior": {n: None if v is None else float(v) for n, v in prior.items()},
        "target": None if target is None else {"shift": target.shift, "scale": target.scale},
        "labels": label,
        "sweeps": [len(t["K"]) for t in model.trace],
        "warmup": [int(t["warmup"]) for t in model.trace],
        "provenance": model.provenance,
    }
    return meta, arrays


def _lengths(
    meta: Mapping[str, Any], components: list[int], names: Iterable[str]
) -> dict[str, list[int]]:
    """Of arrays that hold all draws or all chains: the rows that belong to each."""
    found = {f"draws/{name}": [1] * len(components) for name in STACKED}
    found |= {f"draws/{name}": components for name in RAGGED}
    return found | {name: meta["sweeps"] for name in names if name.startswith("trace/")}


def _cut(meta: dict[str, Any], arrays: Arrays) -> Parts:
    """Arrays as a file gives them: those of all draws or chains in pieces, here views."""
    counts = arrays["draws/components"]
    model_checks.check_components(counts, len(arrays["draws/pi"]))
    parts: Parts = dict(arrays)
    for name, lengths in _lengths(meta, counts.tolist(), arrays).items():
        parts[name] = np.split(arrays[name], np.cumsum(lengths)[:-1])
    return parts


def from_parts(meta: dict[str, Any], arrays: Parts) -> StoredModel:
    """The model of a checked header and checked arrays."""
    target = meta["target"]
    classes = meta["labels"] and _labels(meta["labels"], arrays)
    names = None
    if "features/lengths" in arrays:
        names = unpack_strings(arrays["features/lengths"], arrays["features/bytes"])
    return StoredModel(
        estimator=meta["estimator"],
        parameters=meta["parameters"],
        trend=meta["trend"],
        input_scaling=_input_scaling(meta["scaling"], arrays),
        starting_point=StartingPoint(**{n: float(v) for n, v in meta["start"].items()}),
        prior=_prior(meta["prior"], arrays),
        draws=_draws(arrays),
        trace=_traces(meta, arrays),
        feature_names=names,
        target_scaling=target and TargetScaling(float(target["shift"]), float(target["scale"])),
        error_law=_error_law(arrays),
        classes=classes,
        stick=arrays.get("stick"),
        tree=None if classes is None else _tree(arrays),
        provenance=meta["provenance"],
        extra=unpack_extra(arrays["extra"]) if "extra" in arrays else None,
    )


def _draw_arrays(draws: Sequence[Draw]) -> Arrays:
    out: Arrays = {f"draws/{n}": np.stack([getattr(d, n) for d in draws]) for n in STACKED}
    for name, dtype in SCALARS.items():
        out[f"draws/{name}"] = np.array([getattr(d, name) for d in draws], dtype=dtype)
    out["draws/components"] = np.array([len(d.pi) for d in draws], dtype=np.int64)
    for name in RAGGED:
        out[f"draws/{name}"] = np.concatenate([getattr(d, name) for d in draws])
    return out


def _draws(arrays: Parts) -> list[Draw]:
    draws = []
    for s in range(len(arrays["draws/components"])):
        parts: dict[str, Any] = {n: arrays[f"draws/{n}"][s][0] for n in STACKED}
        parts |= {n: arrays[f"draws/{n}"][s] for n in RAGGED}
        parts |= {n: arrays[f"draws/{n}"][s].item() for n in SCALARS}
        draws.append(Draw(**parts))
    return draws


def _traces(meta: dict[str, Any], arrays: Parts) -> list[dict[str, Any]]:
    names = [name for name in arrays if name.startswith("trace/")]
    return [
        {name.removeprefix("trace/"): arrays[name][chain] for name in names} | {"warmup": warmup}
        for chain, warmup in enumerate(meta["warmup"])
    ]


def _prior(scalars: dict[str, Any], arrays: Parts) -> Prior:
    known: dict[str, Any] = {
        name: value if value is None else float(value) for name, value in scalars.items()
    }
    return Prior(mu0=arrays["prior/mu0"], psi_mean=arrays["prior/psi_mean"], **known)


def _input_scaling(kind: Any, arrays: Parts) -> InputScaling:
    scores = None
    if kind == "quantile":
        scores = NormalScores(*(arrays[f"scaling/{n}"] for n in NormalScores._fields))
    parts: dict[str, Any] = {n: arrays[f"scaling/{n}"] for n in SCALING}
    return InputScaling(kind, **parts, scores=scores)


def _error_law(arrays: Parts) -> ErrorLaw | None:
    if "errors/scale" not in arrays:  # the model's own, as all once were
        return None
    reach = arrays.get("errors/reach")  # once there was no limit
    limit = {} if reach is None else {"reach": float(reach[0])}
    return ErrorLaw(arrays["errors/scale"], arrays["errors/share"], **limit)


def _error_arrays(law: ErrorLaw) -> Arrays:
    reach = {"errors/reach": np.array([law.reach])} if np.isfinite(law.reach) else {}
    return {"errors/scale": law.scale, "errors/share": law.share} | reach


def _joined(traces: Sequence[Any]) -> NDArray[Any]:
    """One trace of all chains, as float64, int64 or bool."""
    # A chain without sweeps has an empty trace whose dtype means nothing.
    values = np.concatenate([t for t in traces if len(t)] or traces[:1])
    return values if values.dtype.kind == "b" else values.astype(f"{values.dtype.kind}8")


def _string_arrays(name: str, words: Sequence[str]) -> Arrays:
    lengths, data = pack_strings(words)
    return {f"{name}/lengths": lengths, f"{name}/bytes": data}


def _label_arrays(classes: NDArray[Any]) -> tuple[str, Arrays]:
    """Labels and the dtype that they had: numbers and truth values as they are, or strings."""
    kind = classes.dtype.kind
    words = classes.tolist()
    if kind in "UO" and all(type(word) is str for word in words):
        return "str" if kind == "U" else "object", _string_arrays("classes", words)
    if kind == "b":
        return "bool", {"classes": classes}
    if kind in "iuf" and np.array_equal(wide := classes.astype(_LABELS[kind]), classes):
        return classes.dtype.name, {"classes": wide}
    raise ModelFileError(
        f"Labels of dtype {classes.dtype} cannot be saved in a model file; numbers (whole ones up "
        "to 2**63 - 1), truth values and strings can."
    )


def _tree(arrays: Parts) -> ClassTree:
    if "tree" in arrays:
        return ClassTree.of(arrays["tree"])
    return stick(len(arrays["stick"]))


def _labels(dtype: str, arrays: Parts) -> NDArray[Any]:
    if dtype in ("str", "object"):
        words = unpack_strings(arrays["classes/lengths"], arrays["classes/bytes"])
        return np.array(words, dtype=dtype)
    return arrays["classes"].astype(dtype)


_LABELS = {"i": np.int64, "u": np.int64, "f": np.float64}

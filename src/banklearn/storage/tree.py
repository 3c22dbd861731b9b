"""Dataclasses of numbers and arrays as JSON beside named arrays, and back by their type hints.

The type hints of the class that is asked for say what is rebuilt; the data names no class, so
reading it can construct nothing else.
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """JSON for a value; its arrays are put into `arrays` under names that begin with `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {"fields": {k: encode(v, f"{name}/{k}", arrays) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        if value and all(dataclasses.is_dataclass(v) and type(v) is type(value[0]) for v in value):
            return _encode_rows(value, name, arrays)
        return {"items": [encode(v, f"{name}/{i}", arrays) for i, v in enumerate(value)]}
    raise TypeError(f"{name} is a {type(value).__name__}, which cannot be stored.")


def decode(hint: Any, tree: Any, arrays: Arrays) -> Any:
    """The value of type `hint` that `tree` stands for; ValueError where it does not fit."""
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"float"}:
        return float(tree["float"])
    if "array" in tree:
        values = arrays[tree["array"]]
        return values.T if tree.get("order") == "F" else values
    if "joined" in tree:
        return _split(tree, arrays)
    if "rows" in tree:
        (item,) = get_args(hint)
        return _decode_rows(item, tree, arrays)
    if set(tree) == {"items"}:
        found = [decode(Any, item, arrays) for item in tree["items"]]
        return tuple(found) if get_origin(hint) is tuple else found
    if set(tree) != {"fields"}:
        raise ValueError("a record of the wrong form")
    cls = _dataclass_of(hint)
    if cls is None:
        return {k: decode(Any, v, arrays) for k, v in tree["fields"].items()}
    hints = get_type_hints(cls)
    _same_names(cls, tree["fields"])
    return cls(**{k: decode(hints[k], v, arrays) for k, v in tree["fields"].items()})


def _encode_array(value: NDArray[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    # The order is kept: products of the same numbers in another order may round differently.
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        arrays[name] = value.T
        return {"array": name, "order": "F"}
    arrays[name] = value
    return {"array": name}


def _encode_rows(rows: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    """Column by column: numbers and arrays of all rows together."""
    columns = {
        f.name: _encode_column([getattr(r, f.name) for r in rows], f"{name}/{f.name}", arrays)
        for f in dataclasses.fields(rows[0])
    }
    return {"rows": len(rows), "columns": columns}


def _encode_column(values: list[Any], name: str, arrays: Arrays) -> Any:
    if all(isinstance(v, bool | int | float | np.generic) for v in values):
        column = np.array(values)
        wide = column.dtype if column.dtype.kind == "b" else f"{column.dtype.kind}8"
        arrays[name] = column.astype(wide, copy=False)
        return {"array": name}
    if all(isinstance(v, np.ndarray) and v.ndim for v in values) and (
        len({(v.shape[1:], v.dtype) for v in values}) == 1
    ):
        arrays[name] = np.concatenate(values)
        arrays[f"{name}/lengths"] = np.array([len(v) for v in values], dtype=np.int64)
        return {"joined": name}
    if all(v is None for v in values):
        return None
    return {"items": [encode(v, f"{name}/{i}", arrays) for i, v in enumerate(values)]}


def _decode_rows(cls: Any, tree: dict[str, Any], arrays: Arrays) -> list[Any]:
    columns = {name: decode(Any, column, arrays) for name, column in tree["columns"].items()}
    _same_names(cls, columns)
    count = tree["rows"]
    if any(c is not None and len(c) != count for c in columns.values()):
        raise ValueError("columns of different lengths")
    rows = []
    for i in range(count):
        row = {n: None if c is None else c[i] for n, c in columns.items()}
        plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in row.items()}
        rows.append(cls(**plain))
    return rows


def _split(tree: dict[str, Any], arrays: Arrays) -> list[NDArray[Any]]:
    joined, lengths = arrays[tree["joined"]], arrays[f"{tree['joined']}/lengths"]
    if (lengths < 0).any() or lengths.sum() != len(joined):
        raise ValueError("joined arrays of other lengths")
    return [part.copy() for part in np.split(joined, np.cumsum(lengths)[:-1])]


def _same_names(cls: Any, found: Any) -> None:
    names = {f.name for f in dataclasses.fields(cls)}
    if set(found) != names:
        raise ValueError(f"{cls.__name__} with other fields: {sorted(set(found) ^ names)}")


def _dataclass_of(hint: Any) -> Any:
    """The dataclass that a hint names, also as one of several types."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((o for o in options if isinstance(o, type) and dataclasses.is_dataclass(o)), None)

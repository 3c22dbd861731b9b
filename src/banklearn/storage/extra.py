"""What others want to keep beside a model: plain data, as JSON in an array of bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

#: Enough for the plan of a table whose texts have 50 000 levels.
MAX_BYTES = 1 << 21
#: An empty list takes two bytes here and thirty times as many in memory.
MAX_LISTS = 1 << 16
MAX_DEPTH = 12


def pack_extra(extra: Mapping[str, Any]) -> NDArray[np.uint8]:
    """UTF-8 JSON; ValueError for what it cannot hold, such as NaN, arrays or objects."""
    try:
        text = json.dumps(extra, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        data = text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra must be plain data that JSON can hold: {error}.") from error
    array = np.frombuffer(data, dtype=np.uint8)
    unpack_extra(array)
    return array


def unpack_extra(data: NDArray[Any]) -> dict[str, Any]:
    """The data; ValueError where the bytes are no JSON object of finite numbers and texts."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"extra has {len(data)} bytes; at most {MAX_BYTES} can be stored.")
    lists = int(np.count_nonzero((data == ord("[")) | (data == ord("{"))))
    if lists > MAX_LISTS:
        raise ValueError(
            f"extra has {lists} opening brackets and braces; at most {MAX_LISTS} can be stored."
        )
    try:
        text = data.tobytes().decode("utf-8")
        found = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"extra cannot be read ({str(error)[:80]}).") from error
    if not isinstance(found, dict) or _depth(found) > MAX_DEPTH:
        raise ValueError("extra should be an object, not nested too deeply.")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _finite(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _refuse(word)


def _depth(value: Any) -> int:
    """How many objects and lists stand inside each other."""
    level, deepest = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        deepest += 1
        if deepest > MAX_DEPTH:
            break
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return deepest

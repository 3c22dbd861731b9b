"""Which engine a fit uses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.mixed import Arithmetic

Array = NDArray[np.float64]


def device_of(X: Any) -> str | None:
    """The device of a PyTorch or CuPy array that is not in memory; None for everything else."""
    module = type(X).__module__.partition(".")[0]
    if module == "torch" and X.device.type != "cpu":
        return str(X.device)
    return "cuda" if module == "cupy" else None


def of_dask(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or series."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def to_memory(X: Any) -> Any:
    """PyTorch and CuPy arrays as NumPy arrays, Dask's as what their partitions are of.

    Everything else as it is. scikit-learn would not read the names of columns of a Dask frame.
    """
    module = type(X).__module__.partition(".")[0]
    if module == "torch":
        return X.detach().cpu().numpy()
    if of_dask(X):
        return X.compute()
    return X.get() if module == "cupy" else X


def gpu_present() -> bool:
    """Whether PyTorch can use a GPU here, without importing it where there is no driver."""
    if "torch" not in sys.modules and not Path("/dev/nvidiactl").exists():
        return False
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def make_engine(
    device: str,
    X: Any,
    y: Array,
    weight: Array | None,
    dtype: str = "float64",
    arithmetic: Arithmetic = "double",
) -> MemoryEngine | DeviceEngine:
    """An engine for rows in memory (see MemoryEngine): "cpu", a PyTorch device, or "auto"."""
    if device == "cpu" or (device == "auto" and not gpu_present()):
        return MemoryEngine(X, y, weight, arithmetic=arithmetic)
    if arithmetic != "double":
        raise ValueError(
            f"arithmetic={arithmetic!r} is for the CPU, but this fit would run on a GPU "
            f"(device={device!r}). Leave arithmetic at 'double', or fit with device='cpu' and X in "
            "memory."
        )
    if importlib.util.find_spec("torch") is None:
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed. Install banklearn[gpu], or "
            "fit with device='cpu'."
        )
    import torch
    from array_api_compat import torch as xp

    name = "cuda" if device == "auto" else device
    try:
        where = torch.device(name)
        there = torch.empty(1, device=where).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} cannot be used here: {error}. Fit with device='cpu'."
        ) from error
    # With its number, if it has one: threads of chains have a current device of their own.
    where = where if there.index is None else there
    return DeviceEngine(X[:], y, weight, xp=xp, device=where, dtype=dtype)

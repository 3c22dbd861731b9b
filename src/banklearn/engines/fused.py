"""Kernels that PyTorch has no single operation for; each may be absent, and then is not used."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

#: Fills out (2M, n) with the cosines and sines of U (M, n); rows are dense, steps may differ.
CosSin = Callable[[Any, Any], None]

_SOURCE = """
extern "C" __global__ void cos_sin(const double* U, double* out, int n, int U_step, int out_step) {
    long long row = blockIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < n) {
        double sine, cosine;
        sincos(U[row * U_step + column], &sine, &cosine);
        out[2 * row * out_step + column] = cosine;
        out[(2 * row + 1) * out_step + column] = sine;
    }
}
"""


def _triton() -> CosSin:
    from banklearn.engines._triton import cos_sin_rows

    return cos_sin_rows


def _nvrtc() -> CosSin:
    import torch

    kernel = torch.cuda._compile_kernel(_SOURCE, "cos_sin")

    def cos_sin_rows(U: Any, out: Any) -> None:
        M, n = U.shape
        steps = (U.stride(0), out.stride(0))
        kernel(grid=(-(-n // 256), M, 1), block=(256, 1, 1), args=[U, out, n, *steps])

    return cos_sin_rows


_TRYING = threading.Lock()
KERNELS: dict[str, Callable[[], CosSin]] = {"triton": _triton, "nvrtc": _nvrtc}


def _at(device: Any) -> AbstractContextManager[Any]:
    """Where kernels are compiled and run: on the tensors' device, which need not be the current."""
    import torch

    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def cos_sin_kernel(name: str, device: Any) -> CosSin | None:
    """A kernel that was seen to give PyTorch's values on this device, or None.

    Chains side by side must not try it at the same time: all of them get what the first one found.
    """
    with _TRYING:
        return _tried(name, device)


@lru_cache(maxsize=8)
def _tried(name: str, device: Any) -> CosSin | None:
    """The kernel, if it works.

    A missing compiler or an unknown card shows only when a kernel is first run, in errors of many
    kinds: whatever happens, there is PyTorch itself to compute with.
    """
    import torch

    def there(U: Any, out: Any) -> None:
        with _at(device):
            kernel(U, out)

    try:
        with _at(device):
            kernel = KERNELS[name]()
        U = torch.linspace(-1e5, 1e5, 3000, dtype=torch.float64, device=device).view(3, 1000)
        U = U[:, :777]
        out = torch.empty((6, 1024), dtype=torch.float64, device=device)[:, :777]
        there(U, out)
        plain = torch.stack([torch.cos(U), torch.sin(U)], dim=1).view(6, 777)
        return there if float((out - plain).abs().max()) < 1e-14 else None
    except Exception:
        return None


def first_kernel(names: Iterable[str], device: Any) -> CosSin | None:
    """The first of these kernels that works on a device, or None."""
    kernels = (cos_sin_kernel(name, device) for name in names)
    return next((kernel for kernel in kernels if kernel is not None), None)


@lru_cache(maxsize=1)
def _dsyrk() -> Any:
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            routine = ctypes.CDLL(name).cublasDsyrk_v2
        except (OSError, AttributeError):
            continue
        number, whole, place = ctypes.c_double, ctypes.c_int, ctypes.c_void_p
        routine.argtypes = [
            place, whole, whole, whole, whole, ctypes.POINTER(number), place, whole,
            ctypes.POINTER(number), place, whole,
        ]  # fmt: skip
        routine.restype = whole
        return routine
    return None


def add_lower_square(C: Any, A: Any, factor: float) -> bool:
    """C += factor A A', lower triangle, by cuBLAS's symmetric product; False where there is none.

    Rows of A (Q, n) and C (Q, Q) are contiguous, float64, on a CUDA device.
    """
    import torch

    routine = _dsyrk()
    if routine is None:
        return False
    alpha, beta = ctypes.c_double(factor), ctypes.c_double(1.0)
    upper, transposed = 1, 1  # the library counts columns first
    with _at(A.device):
        status = routine(
            torch.cuda.current_blas_handle(), upper, transposed, A.shape[0], A.shape[1],
            ctypes.byref(alpha), A.data_ptr(), A.stride(0), ctypes.byref(beta), C.data_ptr(),
            C.stride(0),
        )  # fmt: skip
    if status != 0:
        raise RuntimeError(f"cublasDsyrk failed with status {status}.")
    return True

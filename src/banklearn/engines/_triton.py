"""Cosine and sine of every phase in one pass over memory, as a Triton kernel.

Imported only where Triton is installed. The functions are CUDA's own, so that results are those of
PyTorch's cosine and sine.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language.extra import libdevice


# One version for all sizes: another would be compiled when several threads already run.
@triton.jit(do_not_specialize=["n", "U_step", "out_step"])
def _cos_sin(U, out, n, U_step, out_step, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = column < n
    row = tl.program_id(1).to(tl.int64)
    phase = tl.load(U + row * U_step + column, mask=inside)
    tl.store(out + 2 * row * out_step + column, libdevice.cos(phase), mask=inside)
    tl.store(out + (2 * row + 1) * out_step + column, libdevice.sin(phase), mask=inside)


def cos_sin_rows(U: Any, out: Any) -> None:
    """Fill out (2M, n) with cos(U_1), sin(U_1), cos(U_2), ... of U (M, n), both with dense rows."""
    M, n = U.shape
    grid = (triton.cdiv(n, 512), M)
    _cos_sin[grid](U, out, n, U.stride(0), out.stride(0), BLOCK=512, num_warps=4)

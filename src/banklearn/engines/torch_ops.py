"""PyTorch's in-place operations where the array API would copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.device import ArrayOps
from banklearn.model.features import Trend, trend_columns

Array = NDArray[np.float64]


class TorchOps(ArrayOps):
    """:class:`ArrayOps` for tensors: features written once, products added where they belong."""

    def __init__(self, xp: Any, device: Any = None, dtype: str = "float64") -> None:
        super().__init__(xp, device, dtype)
        import torch

        self.torch = torch
        self._work: dict[str, Any] = {}

    def _space(self, name: str, rows: int, columns: int) -> Any:
        """Work space that the next call with the same name overwrites."""
        flat = self._work.get(name)
        if flat is None or flat.numel() < rows * columns:
            flat = self.torch.empty(rows * columns, dtype=self.dtype, device=self.device)
            self._work[name] = flat
        return flat[: rows * columns].view(rows, columns)

    def features(self, X: Any, W: Array, trend: Trend, scale: float, name: str) -> Any:
        """Cosines and sines straight into their rows."""
        torch = self.torch
        n, d = X.shape
        h = trend_columns(trend, d)
        out = self._space(name, h + 2 * len(W), n)
        U = torch.as_tensor(np.ascontiguousarray(W), device=self.device).to(X.dtype) @ X.T
        U = U.to(self.dtype) if self.dtype != U.dtype else U
        torch.cos(U, out=out[h::2])
        torch.sin(U, out=out[h + 1 :: 2])
        out[h:].mul_(float(scale))
        if h:
            out[0] = 1.0
        if h > 1:
            torch.mul(X.T, 1.0 / float(np.sqrt(d)), out=out[1:h])
        return out

    def weigh(self, A: Any, weight: Array) -> Any:
        """Columns times the square roots of weights, in work space."""
        out = self._space("weighted", *A.shape)
        return self.torch.mul(A, self.array(np.sqrt(weight)[None]), out=out)

    def add_square(self, C: Any, t: int, A: Any) -> None:
        """Lower triangle in blocks of rows, accumulated by the product itself."""
        Q = A.shape[0]
        width = max(192, -(-Q // 4))
        for start in range(0, Q, width):
            stop = min(start + width, Q)
            self._accumulate(C[t, start:stop, :stop], A[start:stop], A[:stop])

    def add_cross(self, C: Any, A: Any, B: Any) -> None:
        """C += A B'."""
        self._accumulate(C, A, B)

    def _accumulate(self, C: Any, A: Any, B: Any) -> None:
        if A.dtype == C.dtype:
            C.addmm_(A, B.T)
        else:
            C.add_(A @ B.T)

    def add_slope(
        self, slope: Any, Phi: Any, R: Any, A: Array, residual: Array, mu: Array, rows: Any
    ) -> Any:
        """In place: R becomes mu residual - A R."""
        if rows is not None:
            return super().add_slope(slope, Phi, R, A, residual, mu, rows)
        R.mul_(self.array(-A[None])).addmm_(self.array(mu[:, None]), self.array(residual[None]))
        R = R.to(slope.dtype)
        slope.addcmul_(Phi[0::2], R[1::2])
        return slope.addcmul_(Phi[1::2], R[0::2], value=-1.0)

    def host(self, values: Any) -> Array:
        """Copy to memory through page-locked space, as float64."""
        if values.device.type == "cpu":
            return np.array(values.numpy(), dtype=np.float64)
        values = values.contiguous()
        pinned = self._work.get("pinned")
        if pinned is None or pinned.numel() * 8 < values.numel() * values.element_size():
            pinned = self.torch.empty(values.numel(), dtype=self.torch.float64, pin_memory=True)
            self._work["pinned"] = pinned
        flat = pinned.view(values.dtype)[: values.numel()].view(values.shape)
        flat.copy_(values)
        return np.array(flat.numpy(), dtype=np.float64)

"""PyTorch's in-place operations where the array API would copy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.device import ArrayOps
from banklearn.engines.fused import CosSin, add_lower_square, first_kernel
from banklearn.engines.repeated import Repeated, Step
from banklearn.engines.triangular import inverse_by_halves
from banklearn.model.evidence import Ridge
from banklearn.model.features import Trend, trend_columns
from banklearn.numerics.linalg import JitterCount

Array = NDArray[np.float64]

#: Matrices of the accept step up to this size are decided in memory.
ON_HOST = 384
#: From this many phases on, compiling a kernel for them is worth it.
FUSE_FROM = 2**22
#: With fewer rows a symmetric product is one whole product: parts would take longer to start.
WORTH_PARTS = 4096
#: Rows of work space begin at multiples of this many numbers, which products like.
ALIGNED = 16


def guards_products(version: str) -> bool:
    """Whether this PyTorch may multiply on one GPU in several threads.

    Before 2.10 threads looked up the work space of cuBLAS in a table that others wrote to
    (pytorch/pytorch#167928).
    """
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) >= (2, 10)


def _aligned(columns: int) -> int:
    """The step from row to row of so many columns."""
    return -(-columns // ALIGNED) * ALIGNED


@lru_cache(maxsize=8)
def _load_factorisations(device: Any) -> None:
    """PyTorch loads what it factors with on a GPU at first use, and fails where two threads are."""
    import torch

    one = torch.ones((1, 1), dtype=torch.float64, device=device)
    torch.linalg.solve_triangular(one, one, upper=False)
    torch.linalg.cholesky_ex(one)


class TorchOps(ArrayOps):
    """:class:`ArrayOps` for tensors: features written once, products added where they belong."""

    def __init__(self, xp: Any, device: Any = None, dtype: str = "float64") -> None:
        super().__init__(xp, device, dtype)
        import torch

        self.torch = torch
        _load_factorisations(device)
        self.stream: Any = None
        self._lanes: list[TorchOps] = []
        self._work: dict[str, Any] = {}
        self._frequencies: dict[int, tuple[Array, Any]] = {}
        #: Arrays that never change, such as the target; their owner keeps them alive.
        self.constants: list[Array] = []
        self._known: dict[Any, Any] = {}
        #: How it computes, for measurements: kernels of cosines and sines, the first that works
        #: (none: PyTorch's own), row blocks of a symmetric product (0: cuBLAS's own), whether the
        #: target is multiplied together with the features, and factors inverted by halves.
        self.cos_sin: tuple[str, ...] = ("nvrtc", "triton")
        self.square_parts = 4
        self.joined = True
        self.halves = self._on_gpu
        #: Whether steps are recorded and done again (:mod:`.repeated`), the last record, and the
        #: stream that they are recorded on.
        self.repeats = self.waits = self._on_gpu
        self.recorded: Any = None
        self.recorder: Any = None

    @property
    def _on_gpu(self) -> bool:
        where = self.torch.device(self.device or "cpu")
        return bool(where.type == "cuda")

    def lanes(self, count: int) -> list[TorchOps]:
        """This one alone, or copies with work space and a CUDA stream of their own."""
        if count == 1:
            return [self]
        while len(self._lanes) < count:
            lane = TorchOps(self.xp, self.device, str(self.dtype).removeprefix("torch."))
            lane.constants = self.constants
            if self._on_gpu:
                lane.stream = self.torch.cuda.Stream(self.device)
            self._lanes.append(lane)
        for lane in self._lanes:
            lane.cos_sin, lane.square_parts = self.cos_sin, self.square_parts
            lane.joined, lane.halves = self.joined, self.halves
        return self._lanes[:count]

    def at_work(self) -> AbstractContextManager[Any]:
        """On the lane's stream, after what the caller's stream was told so far."""
        if self.stream is None:
            return nullcontext()
        self.stream.wait_stream(self.torch.cuda.current_stream(self.device))
        working: AbstractContextManager[Any] = self.torch.cuda.stream(self.stream)
        return working

    def apart(self) -> AbstractContextManager[Any]:
        """A CUDA stream of its own, so that what is small goes on beside what others do."""
        if not self._on_gpu:
            return nullcontext()
        stream = self.torch.cuda.Stream(self.device)
        stream.wait_stream(self.torch.cuda.current_stream(self.device))
        working: AbstractContextManager[Any] = self.torch.cuda.stream(stream)
        return working

    def after(self, other: Any) -> None:
        """Wait for another lane's stream."""
        if self.stream is not None:
            self.stream.wait_stream(other.stream)

    def join(self, lanes: list[Any], totals: list[list[Any]]) -> None:
        """The caller's stream waits for all lanes; their memory is not reused before it is done."""
        for lane, total in zip(lanes, totals, strict=True):
            if lane.stream is None:
                continue
            here = self.torch.cuda.current_stream(self.device)
            here.wait_stream(lane.stream)
            for part in total:
                if self.torch.is_tensor(part):
                    part.record_stream(here)

    def free_bytes(self) -> float:
        """Of a GPU, with what PyTorch keeps for later; as much as one likes in memory."""
        if not self._on_gpu:
            return super().free_bytes()
        cuda = self.torch.cuda
        with cuda.device(self.device):  # a device without a number is the current one
            kept = cuda.memory_reserved() - cuda.memory_allocated()
            return float(cuda.mem_get_info()[0] + kept)

    def for_many_threads(self) -> bool:
        """On a GPU, where PyTorch guards its table of work spaces for products."""
        return not self._on_gpu or guards_products(str(self.torch.__version__))

    def zeros(self, *shape: int) -> Any:
        """An accumulator, always in float64; rows begin aligned."""
        *rows, columns = shape
        return super().zeros(*rows, _aligned(columns))[..., :columns]

    def _space(self, name: str, rows: int, columns: int) -> Any:
        """Work space that the next call with the same name overwrites; rows begin aligned."""
        step = _aligned(columns)
        flat = self._work.get(name)
        if flat is None or flat.numel() < rows * step:
            flat = self.torch.empty(rows * step, dtype=self.dtype, device=self.device)
            self._work[name] = flat
        return flat[: rows * step].view(rows, step)[:, :columns]

    def work_spaces(self) -> list[Any]:
        """All that there are now."""
        return list(self._work.values())

    def _moved(self, W: Any, dtype: Any) -> Any:
        """Frequencies on the device, moved once for all blocks of a sum."""
        if self.torch.is_tensor(W):
            return W.to(dtype)
        known = self._frequencies.get(id(W))
        if known is None or known[0] is not W:
            if len(self._frequencies) >= 4:
                self._frequencies.clear()
            tensor = self.torch.from_numpy(np.ascontiguousarray(W))
            known = self._frequencies[id(W)] = (W, tensor.to(self.device).to(dtype))
        return known[1]

    def features(
        self, X: Any, W: Array, trend: Trend, scale: float, name: str
    ) -> tuple[Any, float]:
        """Cosines and sines straight into their rows; the products bring their scale.

        The trend is divided by the scale, so that one number serves all columns.
        """
        torch = self.torch
        n, d = X.shape
        h = trend_columns(trend, d)
        out = self._space(name, 1 + h + 2 * len(W), n)[1:]  # the row before is add_proposals'
        frequencies = self._moved(W, X.dtype)
        if X.dtype == self.dtype:
            U = torch.mm(frequencies, X.T, out=self._space("phases", len(W), n))
        else:
            U = (frequencies @ X.T).to(self.dtype)
        kernel = self._kernel(U)
        if kernel is None:
            torch.cos(U, out=out[h::2])
            torch.sin(U, out=out[h + 1 :: 2])
        else:
            kernel(U, out[h:])
        if h:
            out[0] = 1.0 / scale
        if h > 1:
            out[1:h] = X.T * (1.0 / (scale * float(np.sqrt(d))))
        return out, scale

    def _kernel(self, U: Any) -> CosSin | None:
        """One kernel for cosines and sines, where it pays and works."""
        if U.device.type != "cuda" or U.numel() < FUSE_FROM:
            return None
        if U.dtype != self.torch.float64:
            return None
        return first_kernel(self.cos_sin, U.device)

    def index(self, rows: Any) -> Any:
        """Copied to the device, unless it is there."""
        return self.torch.as_tensor(rows, dtype=self.torch.int64, device=self.device)

    def weigh(self, A: Any, weight: Any) -> Any:
        """Columns times the square roots of weights, in work space."""
        out = self._space("weighted", *A.shape)
        return self.torch.mul(A, self.array(weight).sqrt()[None], out=out)

    def add_square(self, C: Any, t: int, A: Any, factor: float) -> None:
        """Lower triangle in blocks of rows, accumulated by the product itself."""
        Q = A.shape[0]
        if self.square_parts == 0 and A.dtype == C.dtype and add_lower_square(C[t], A, factor):
            return
        parts = (self.square_parts or 4) if A.shape[1] >= WORTH_PARTS else 1
        width = max(128, -(-Q // parts))
        for start in range(0, Q, width):
            stop = min(start + width, Q)
            self._accumulate(C[t, start:stop, :stop], A[start:stop], A[:stop], factor)

    def add_cross(self, C: Any, A: Any, B: Any, factor: float) -> None:
        """C += factor A B'."""
        self._accumulate(C, A, B, factor)

    def add_proposals(self, total: list[Any], star: Any, Phi: Any, At: Array, unit: float) -> bool:
        """Add a block of unweighted rows to (Phi*'[t | Phi], Phi*'Phi*); False if it does not.

        The row before Phi holds the target: one product for both costs no more than one for Phi.
        """
        both = self._space("Phi", 1 + len(Phi), Phi.shape[1])
        if not self.joined or Phi.data_ptr() != both[1:].data_ptr():
            return False
        cross, square = total
        self.torch.div(self.array(At), unit, out=both[0])  # as Phi is
        self._accumulate(cross, star, both, unit**2)
        self.add_square(square, 0, star, unit**2)
        return True

    def _accumulate(self, C: Any, A: Any, B: Any, factor: float) -> None:
        if A.dtype == C.dtype:
            C.addmm_(A, B.T, alpha=factor)
        else:
            C.add_(A @ B.T, alpha=factor)

    def add_slope(
        self, slope: Any, Phi: Any, R: Any, A: Any, residual: Any, mu: Array, rows: Any
    ) -> Any:
        """In place: R becomes mu residual - A R."""
        (R.neg_() if A is None else R.mul_(-A)).addmm_(self.array(mu[:, None]), residual)
        if rows is not None:
            part = Phi[0::2] * R[1::2] - Phi[1::2] * R[0::2]
            return slope.index_add_(1, self.index(rows), part.to(slope.dtype))
        slope.addcmul_(Phi[0::2], R[1::2])
        return slope.addcmul_(Phi[1::2], R[0::2], value=-1.0)

    def inverse(self, L: Array) -> Any:
        """(L L')^-1 on the device, from L^-1: half of the time that PyTorch's own takes."""
        lower = self.torch.as_tensor(np.ascontiguousarray(L), device=self.device)
        root = self.inverse_factor(lower)
        return (root.T @ root).to(self.dtype)

    def factor(self, A: Any, added: Any = None, jitter: float = 0.0) -> Any:
        """Lower Cholesky factors of A + added I, with jitter; NaN if that fails."""
        if added is not None or jitter:
            A = A.clone()
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            more = jitter * diagonal.mean(dim=-1, keepdim=True)
            diagonal.add_(more if added is None else more + added)
        L, info = self.torch.linalg.cholesky_ex(A)
        L.diagonal(dim1=-2, dim2=-1).masked_fill_((info != 0)[..., None], float("nan"))
        return L

    def inverse_factor(self, L: Any) -> Any:
        """L^-1 for factors (..., P, P)."""
        if self.halves and L.ndim == 2:
            return inverse_by_halves(self.torch, L)
        return self.torch.linalg.solve_triangular(L, self._eye(L), upper=False)

    def repeated(self, function: Step) -> Step:
        """The same function of tensors, which a GPU does again with one call."""
        return Repeated(function, self)

    def _eye(self, like: Any) -> Any:
        """Made once for a size; nobody writes to it."""
        name = f"eye {like.shape[-1]}"
        if name not in self._work:
            self._work[name] = super()._eye(like)
        return self._work[name].expand(like.shape)

    def ridge(self, G: Any, r: Array, lam: float, count: JitterCount) -> Ridge:
        """Factored on the device; in memory, with jitter, where that fails."""
        L = self.factor(G, lam)
        right = self.array(r[:, None]).to(L.dtype)
        v = self.torch.linalg.solve_triangular(L, right, upper=False)
        solution = Ridge(self.host(L), self.host(v[:, 0]), lam)
        if np.isnan(solution.L.diagonal()).any():
            return super().ridge(G, r, lam, count)
        return solution

    def array(self, values: Any) -> Any:
        """Copy to the device; views of a constant are copied once."""
        if self.torch.is_tensor(values):
            return values.to(self.dtype)
        if not any(values.base is constant for constant in self.constants):
            return super().array(values)
        key = (values.__array_interface__["data"][0], values.shape)
        if key not in self._known:
            self._known[key] = super().array(values)
        return self._known[key]

    def eliminate(
        self, S: Any, r: Array, keep: tuple[slice, slice], drop: NDArray[np.intp]
    ) -> tuple[Any, Array, float]:
        """Schur complement of `keep` after `drop` on the device; a small one comes to memory."""
        torch = self.torch
        index = torch.as_tensor(drop, device=self.device)
        kept = torch.cat([torch.arange(k.start, k.stop, device=self.device) for k in keep])
        rows = S[index]
        L, info = torch.linalg.cholesky_ex(rows[:, index])
        target = torch.as_tensor(r, device=self.device)
        right = torch.cat([rows[:, kept], target[index, None]], dim=1)
        B = torch.linalg.solve_triangular(L, right, upper=False)
        v, B = B[:, -1], B[:, :-1]
        reduced = S[kept][:, kept].addmm_(B.T, B, alpha=-1.0)
        vector = torch.cat([target[kept] - v @ B, (v @ v)[None], info[None].to(v.dtype)])
        *new_r, quadratic, failed = self.host(vector)
        if failed:
            raise np.linalg.LinAlgError("not positive definite")
        if len(reduced) <= ON_HOST:
            reduced = self.host(reduced)
        return reduced, np.array(new_r), float(quadratic)

    def host(self, values: Any) -> Array:
        """Copy to memory through page-locked space, as float64."""
        if values.device.type == "cpu":
            return np.array(values.numpy(), dtype=np.float64, order="C")
        values = values.contiguous()
        pinned = self._work.get("pinned")
        if pinned is None or pinned.numel() * 8 < values.numel() * values.element_size():
            pinned = self.torch.empty(values.numel(), dtype=self.torch.float64, pin_memory=True)
            self._work["pinned"] = pinned
        flat = pinned.view(values.dtype)[: values.numel()].view(values.shape)
        flat.copy_(values)
        return np.array(flat.numpy(), dtype=np.float64)

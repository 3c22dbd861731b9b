"""Work on a GPU that is told once and done again with one call: a CUDA graph.

A step of a trajectory is a hundred small kernels. To tell a GPU of them one by one takes longer
than to compute them, and chains in threads wait for each other's turn to tell.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: A function of arrays that is called again and again.
Step = Callable[..., tuple[Any, ...]]

#: One thread records at a time.
_recording = threading.Lock()
#: Records that failed, which PyTorch may still refer to.
_failed: list[Any] = []


class Repeated:
    """A function of tensors, recorded when it is called first.

    The libraries that it computes with must be loaded and in use in this thread. What it returns is
    overwritten by the next call. Other tensors that it reads must stay where they are; what is
    written to them later counts. Where it cannot be recorded it runs as it is.
    """

    def __init__(self, function: Step, ops: Any) -> None:
        self.function: Step | None = function
        self.ops, self.torch = ops, ops.torch
        self._graph: Any = None
        self._inputs: list[Any] = []
        self._outputs: tuple[Any, ...] = ()
        self._spaces: list[Any] = []

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The function at these values."""
        if self.function is not None and self.ops.repeats:
            self._record(self.function, values)
        if self.function is not None:
            return self.function(*values)
        for mine, value in zip(self._inputs, values, strict=True):
            mine.copy_(value)
        self._graph.replay()
        return self._outputs

    def _record(self, function: Step, values: tuple[Any, ...]) -> None:
        cuda, ops = self.torch.cuda, self.ops
        with cuda.device(ops.device), _recording:
            where, graph = cuda.current_device(), cuda.CUDAGraph()
            # A stream where nobody else works or records: PyTorch hands out few streams of a
            # priority, again and again, and nothing else asks for this one; and a record that goes
            # takes the work space of products on its stream with it (pytorch/pytorch#193402).
            if ops.recorder is None:
                ops.recorder = cuda.Stream(priority=-1)
            recorder, spaces = ops.recorder, ops.work_spaces()
            self._inputs = [value.clone() for value in values]
            # Records of one chain share memory: nothing that one leaves there is read after
            # another was done.
            pool = cuda.graph_pool_handle() if ops.recorded is None else ops.recorded.pool()
            recorder.wait_stream(cuda.current_stream())
            with cuda.stream(recorder):
                try:
                    graph.capture_begin(pool, capture_error_mode="thread_local")
                    try:
                        self._outputs = function(*self._inputs)
                    finally:
                        graph.capture_end()
                    if list(map(id, ops.work_spaces())) != list(map(id, spaces)):
                        raise RuntimeError("work space was made while it was recorded")
                except RuntimeError as error:
                    self._give_up(graph, where, pool, error)
                    return
            cuda.current_stream().wait_stream(recorder)
        self._graph = ops.recorded = graph
        # Work space that grows later is new memory: the old one is this record's.
        self._spaces, self.function = spaces, None

    def _give_up(self, graph: Any, where: Any, pool: Any, error: Exception) -> None:
        """Steps run as they are from now on; PyTorch would take memory for a record for ever."""
        self.ops.repeats = False
        _failed.append(graph)
        stop = getattr(self.torch._C, "_cuda_endAllocateToPool", None)
        if stop is not None:
            with suppress(RuntimeError):  # where it had not begun
                stop(where, pool)
        warnings.warn(
            f"Steps of trajectories could not be recorded on the GPU ({error}); they are told one "
            "by one, which takes longer and changes no result.",
            RuntimeWarning,
            stacklevel=2,
        )

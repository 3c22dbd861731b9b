"""Work on a GPU that is told once and done again with one call: a CUDA graph.

A step of a trajectory is a hundred small kernels. To tell a GPU of them one by one takes longer
than to compute them, and chains in threads wait for each other's turn to tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Step = Callable[..., tuple[Any, ...]]

#: One thread records at a time: PyTorch's generators of random numbers take note of it.
_recording = threading.Lock()


class Repeated:
    """A function of tensors, recorded when it is called first.

    It must have run before in this thread, so that everything it needs is loaded. What it returns
    is overwritten by the next call. Where it cannot be recorded it runs as it is.
    """

    def __init__(self, function: Step, ops: Any) -> None:
        self.function, self.ops, self.torch = function, ops, ops.torch
        self._graph: Any = None
        self._inputs: list[Any] = []
        self._outputs: tuple[Any, ...] = ()

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The function at these values."""
        if self._graph is None and self.ops.repeats:
            self._record(values)
        if self._graph is None:
            return self.function(*values)
        for mine, value in zip(self._inputs, values, strict=True):
            mine.copy_(value)
        self._graph.replay()
        return self._outputs

    def _record(self, values: tuple[Any, ...]) -> None:
        cuda, ops = self.torch.cuda, self.ops
        with cuda.device(ops.device):
            if ops.recorder is None:
                ops.recorder = cuda.Stream()
            self._inputs = [value.clone() for value in values]
            graph, last = cuda.CUDAGraph(), ops.recorded
            ops.recorder.wait_stream(cuda.current_stream())
            with _recording, cuda.stream(ops.recorder):
                try:
                    # What the last record took, which is not done again, is there for this one.
                    pool = () if last is None else (last.pool(),)
                    graph.capture_begin(*pool, capture_error_mode="thread_local")
                    try:
                        self._outputs = self.function(*self._inputs)
                    finally:
                        graph.capture_end()
                except RuntimeError:
                    ops.repeats = False
                    return
            cuda.current_stream().wait_stream(ops.recorder)
        self._graph = ops.recorded = graph

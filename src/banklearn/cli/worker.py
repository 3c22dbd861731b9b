"""A process that computes, and can be ended when its time is up."""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NamedTuple


class Unfinished(NamedTuple):
    """Why there is no result, and whether that was an error rather than the time."""

    reason: str
    failed: bool = False


class Worker:
    """Calls functions in a process of its own, one after another, each within its seconds.

    A function gets ``shared`` as its first argument; both must be importable by name or plain
    data. Where time is up the process is killed, and the next call has a fresh one.
    """

    def __init__(self, modules: tuple[str, ...] = ()) -> None:
        """modules are imported at once, while there is nothing else to do."""
        self._modules = modules
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._pipe: Any = None
        self._shared: Any = None
        self._told = self._ready = False

    def __enter__(self) -> Worker:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def ready(self, seconds: float | None) -> bool:
        """Wait until the process has imported its modules, for at most so long."""
        if self._process is None:
            self._start()
        if not self._ready and self._pipe.poll(seconds):
            try:
                self._ready = self._pipe.recv()
            except EOFError:
                self._end()
        return self._ready

    def share(self, shared: Any) -> None:
        """What every function is given first; sent to the process once."""
        self._shared, self._told = shared, False

    def call(self, function: Callable[..., Any], *args: Any, seconds: float | None) -> Any:
        """The function's value, or :class:`Unfinished` if it took too long or was killed."""
        if seconds is not None and seconds <= 0:
            return Unfinished("there was no time left")
        begin = time.monotonic()
        if not self.ready(seconds):
            return Unfinished("its process was not ready in time")
        try:
            if not self._told:
                self._pipe.send(self._shared)
                self._told = True
            self._pipe.send((function, args))
            left = None if seconds is None else max(seconds - (time.monotonic() - begin), 0.0)
            if not self._pipe.poll(left):
                self._end()
                return Unfinished(f"it was stopped after {seconds:.0f} seconds")
            value, problem = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self._end()
            return Unfinished(f"its process ended with code {code}, perhaps for want of memory")
        if problem is not None:
            raise RuntimeError(problem)
        return value

    def _start(self) -> None:
        self._pipe, there = self._context.Pipe()
        self._process = self._context.Process(
            target=serve, args=(there, self._modules), daemon=True
        )
        self._process.start()
        there.close()
        self._told = self._ready = False

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def serve(pipe: Connection, modules: tuple[str, ...]) -> None:
    """The process: what is shared comes first, then calls until nobody is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers an interrupt, and ends us
    for name in modules:
        importlib.import_module(name)
    try:
        pipe.send(True)
        shared = pipe.recv()
        while True:
            function, args = pipe.recv()
            try:
                answer: tuple[Any, str | None] = (function(shared, *args), None)
            except Exception:
                answer = (None, traceback.format_exc())
            pipe.send(answer)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return

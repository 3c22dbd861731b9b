"""scikit-learn's callbacks, where the installed scikit-learn has them (1.9 and later).

The tasks of a fit are its chains, and those of a chain its sweeps: ``ProgressBar`` shows them, and
a callback whose ``on_fit_task_end`` returns True after a sweep ends the fit with the draws so far.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from banklearn.sampler.run import Monitor, Plan
from banklearn.sampler.sweep import Info

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # an older scikit-learn: there are no callbacks to support

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to add."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method itself."""
        return method


class Hooks:
    """Calls the hooks of an estimator's callbacks; chains in threads take turns."""

    def __init__(self, estimator: Any, n_chains: int) -> None:
        self._estimator, self._lock = estimator, threading.Lock()
        self._root = estimator._init_callback_context(
            max_subtasks=n_chains, sequential_subtasks=False
        )
        self._chains: dict[int, Any] = {}

    def begin(self) -> None:
        """The fit begins."""
        self._root.call_on_fit_task_begin(estimator=self._estimator)

    def end(self) -> None:
        """The fit has ended; a callback that fails at the end of a chain hears of the rest."""
        with ExitStack() as ends:
            for task in (self._root, *reversed(self._chains.values())):
                ends.callback(task.call_on_fit_task_end, estimator=self._estimator)

    def sweep(self, chain: int, plan: Plan) -> bool:
        """A sweep of a chain has ended; whether a callback asks to stop."""
        with self._lock:
            if chain not in self._chains:
                context = self._root.subcontext("chain", chain, max_subtasks=plan.n_sweeps)
                context.call_on_fit_task_begin(estimator=self._estimator)
                self._chains[chain] = context
            task = self._chains[chain].subcontext("sweep")
            task.call_on_fit_task_begin(estimator=self._estimator)
            return bool(task.call_on_fit_task_end(estimator=self._estimator))


class Watch:
    """Makes monitors for chains, which tell both the given monitor and the callbacks.

    A callback that raises KeyboardInterrupt interrupts the fit as Ctrl-C does: chains end with what
    they have, and interrupted says so; asked, that a callback asked for the end in either way.
    """

    def __init__(self, monitor: Monitor, hooks: Hooks | None) -> None:
        self._monitor, self._hooks = monitor, hooks
        self.interrupted = self.asked = False

    def __call__(self, stop: threading.Event) -> Monitor:
        """The monitor of a chain that ends when stop is set."""
        hooks = self._hooks
        if hooks is None:
            return self._monitor

        def tell(chain: int, sweep: int, plan: Plan, info: Info) -> None:
            self._monitor(chain, sweep, plan, info)
            if self.heard(lambda: hooks.sweep(chain, plan)):
                self.asked = True
                stop.set()

        return tell

    def heard(self, hook: Callable[[], bool | None]) -> bool:
        """Whether a hook asks to stop, or interrupts the fit."""
        try:
            return bool(hook())
        except KeyboardInterrupt:
            self.interrupted = True
            return True


@contextmanager
def watched(estimator: Any, n_chains: int, monitor: Monitor) -> Iterator[Watch]:
    """Tell an estimator's callbacks, if it has any, of the fit in the body and of its sweeps."""
    if not any(hasattr(estimator, name) for name in ("_skl_callbacks", "_parent_callback_ctx")):
        yield Watch(monitor, None)
        return
    hooks = Hooks(estimator, n_chains)
    watch = Watch(monitor, hooks)
    hooks.begin()
    try:
        yield watch
    except BaseException:
        with suppress(Exception):  # it would hide why the fit failed
            watch.heard(hooks.end)
        raise
    watch.heard(hooks.end)

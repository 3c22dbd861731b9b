"""scikit-learn's callbacks, where the installed scikit-learn has them (1.9 and later).

The tasks of a fit are its chains, and those of a chain its sweeps: ``ProgressBar`` shows them, and
a callback whose ``on_fit_task_end`` returns True after a sweep ends the fit with the draws so far.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        """The fit has ended."""
        for chain in self._chains.values():
            chain.call_on_fit_task_end(estimator=self._estimator)
        self._root.call_on_fit_task_end(estimator=self._estimator)

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


@contextmanager
def watched(
    estimator: Any, n_chains: int, monitor: Monitor
) -> Iterator[Callable[[threading.Event], Monitor]]:
    """Make monitors for chains, which tell both the given monitor and the callbacks.

    Without callbacks the given monitor is used as it is.
    """
    if not any(hasattr(estimator, name) for name in ("_skl_callbacks", "_parent_callback_ctx")):
        yield lambda stop: monitor
        return
    hooks = Hooks(estimator, n_chains)

    def make(stop: threading.Event) -> Monitor:
        def tell(chain: int, sweep: int, plan: Plan, info: Info) -> None:
            monitor(chain, sweep, plan, info)
            if hooks.sweep(chain, plan):
                stop.set()

        return tell

    hooks.begin()
    yield make
    hooks.end()

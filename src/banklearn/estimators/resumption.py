"""How a fit begins where an earlier one stopped: from a checkpoint, or from memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, wraps
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sklearn.utils import check_random_state

from banklearn._version import __version__
from banklearn.estimators.files import plain_parameters
from banklearn.model.class_tree import ClassTree, stick
from banklearn.posterior.scaling import InputScaling
from banklearn.sampler.start import StartingPoint
from banklearn.storage.checkpoint import Identity, Memory, Shelf, read_identity, stored_chains
from banklearn.storage.errors import CheckpointError
from banklearn.storage.fingerprint import Fingerprint, units_fingerprint

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase

P = ParamSpec("P")
R = TypeVar("R")

#: Parameters that may differ when a fit goes on: they do not change the chain.
FREE = ("max_time", "verbose", "checkpoint_every", "warm_start")


def keeping_what_was(fit: Callable[P, R]) -> Callable[P, R]:
    """A `fit` that adds to an earlier one (`warm_start`), and leaves that as it was if it fails."""

    @wraps(fit)
    def kept(*args: P.args, **options: P.kwargs) -> R:
        estimator: Any = args[0]
        adds = estimator.warm_start and hasattr(estimator, "draws_")
        before = dict(vars(estimator)) if adds else None
        try:
            return fit(*args, **options)
        except BaseException:
            if before is not None and not hasattr(estimator, "draws_"):
                vars(estimator).clear()
                vars(estimator).update(before)
            raise

    return kept


@dataclass(frozen=True)
class Resumption:
    """What a fit goes on from, if anything."""

    folder: Path | None
    resume: bool
    memory: Memory | None

    @classmethod
    def of(cls, estimator: BankBase, resume: bool) -> Resumption:
        """What the parameters ask for; a contradiction is refused."""
        if resume and estimator.checkpoint is None:
            raise ValueError(
                "resume=True needs a checkpoint to go on from: set checkpoint to its folder."
            )
        memory = None
        if estimator.warm_start and hasattr(estimator, "draws_"):
            memory = getattr(estimator, "_memory", None)
            if memory is None:
                raise ValueError(
                    "warm_start=True adds draws to the chains of the last fit, but this estimator "
                    "has none: it was fitted with warm_start=False, or read from a model file. "
                    "Fit a new one with warm_start=True from the beginning."
                )
        folder = None if estimator.checkpoint is None else Path(estimator.checkpoint)
        if folder is not None and folder.exists() and not folder.is_dir():
            raise CheckpointError(f"checkpoint must be a folder, but {folder} is a file.")
        return cls(folder, bool(resume), memory)

    @cached_property
    def stored(self) -> Identity | None:
        """The fit that is to go on, where there is one."""
        if self.memory is not None:
            return self.memory.identity
        if self.resume and self.folder is not None:
            for path in stored_chains(self.folder).values():
                return read_identity(path)
        return None

    def seed(self, random_state: Any) -> int:
        """The seed of the stored fit, where the parameters leave it open; else a new one."""
        if not isinstance(random_state, Integral) and self.stored is not None:
            return self.stored.seed
        return int(check_random_state(random_state).randint(2**31 - 1))

    def start(self) -> dict[str, Any] | None:
        """What the stored fit chose before its chains began, which may have depended on time."""
        return None if self.stored is None else self.stored.data.get("start")

    def tree(self, n_classes: int) -> ClassTree | None:
        """How the stored fit tells so many classes apart; None where there is none to go on from.

        Checkpoints say so only where it is not along the stick, on which all classes once were.
        """
        if self.stored is None:
            return None
        try:
            tree = ClassTree.of(self.stored.data["tree"])
        except (KeyError, ValueError):
            tree = stick(n_classes)
        # Another number of classes: other data, which is refused in words of its own.
        return tree if tree.n_classes == n_classes else None

    def shelf(self, estimator: BankBase, engine: Any, seed: int) -> Shelf | None:
        """The bookmarks of all chains; None where nothing is to be kept."""
        several_runs = estimator.warm_start or estimator.n_draws == "auto"
        if self.folder is None and not several_runs:
            return None
        identity = identify(estimator, engine, seed)
        every = float(estimator.checkpoint_every)
        return Shelf(identity, self.folder, every, self.resume, self.memory)


def identify(estimator: BankBase, engine: Any, seed: int) -> Identity:
    """Version, parameters and data of a fit, from its engine and its scalings."""
    parameters = plain_parameters(estimator)
    scaling = estimator.input_scaling_
    target = getattr(estimator, "target_scaling_", None)
    labels, tree = (getattr(estimator, name, None) for name in ("classes_", "tree_"))
    data = {
        "engine": type(engine).__name__,
        "rows": int(engine.n_rows),
        "inputs": len(scaling.used),
        **engine.sum(Fingerprint()),
        "units of X": units_fingerprint(*_units_of(scaling)),
        "units of y": units_fingerprint(target, labels),
        "start": {
            "kind": scaling.kind,
            "trend": estimator.trend_,
            "fixed": _plain(estimator.starting_point_),
            "start": _plain(estimator._start),
        },
    }
    if tree is not None and not tree.is_stick:
        data["tree"] = tree.ranges.tolist()
    return Identity(
        version=__version__,
        estimator=type(estimator).__name__,
        seed=seed,
        parameters={n: v for n, v in parameters.items() if n not in FREE},
        data=data,
    )


def _units_of(scaling: InputScaling) -> list[Any]:
    """What makes model units of the user's, as arrays."""
    parts = [scaling.used, scaling.shift, scaling.scale]
    if not scaling.linear:
        parts += [scaling.centre, scaling.spread, *(scaling.scores or ())]
    return parts


def _plain(point: StartingPoint) -> dict[str, float]:
    return {name: float(value) for name, value in asdict(point).items()}

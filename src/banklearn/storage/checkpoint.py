"""Checkpoints: one file per chain, replaced atomically, refused where they do not belong."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from banklearn.model.joint import State
from banklearn.posterior.draws import Draw
from banklearn.sampler.run import Run
from banklearn.sampler.sweep import Info, Tuning
from banklearn.storage import container
from banklearn.storage.atomic import clear_unfinished
from banklearn.storage.errors import CheckpointError
from banklearn.storage.tree import decode, encode

KIND = "checkpoint"
SCHEMA = 3
#: Fields of a Run that are plain numbers or words.
PLAIN = ("warmup", "cut", "stage", "done", "sweep", "arithmetic")


@dataclass(frozen=True)
class Identity:
    """Which fit a checkpoint belongs to."""

    version: str
    estimator: str
    seed: int
    parameters: dict[str, Any]
    data: dict[str, Any]

    def differences(self, stored: Identity) -> list[str]:
        """How this fit differs from the stored one, in words; more draws are no difference."""
        found = [
            f"{name} was {getattr(stored, name)!r} and is now {getattr(self, name)!r}"
            for name in ("version", "estimator", "seed")
            if getattr(stored, name) != getattr(self, name)
        ]
        missing = object()
        for name in sorted({*stored.parameters, *self.parameters}):
            old, new = (p.get(name, missing) for p in (stored.parameters, self.parameters))
            if old != new and not (name == "n_draws" and _more(old, new)):
                found.append(f"{name} was {_words(old, missing)} and is now {_words(new, missing)}")
        for name in sorted({*stored.data, *self.data}):
            old, new = stored.data.get(name), self.data.get(name)
            if old != new:
                hashed = isinstance(old, str) and len(old) == 32
                found.append(
                    f"the {name} are others" if hashed else f"{name} was {old} and is now {new}"
                )
        return found

    def refuse_unless_same(self, stored: Identity, where: str) -> None:
        """Raise CheckpointError with all differences named."""
        if found := self.differences(stored):
            raise CheckpointError(
                f"{where} does not belong to this fit: {'; '.join(found)}. Fit with the same data "
                "and parameters to go on from it, or begin anew elsewhere."
            )


@dataclass
class Memory:
    """The last state of all chains of a finished fit, for more draws later."""

    identity: Identity
    runs: dict[int, Run[Draw]] = field(default_factory=dict)


class Shelf:
    """The bookmarks of all chains of one fit: files in a folder, or memory, or both."""

    def __init__(
        self,
        identity: Identity,
        folder: Path | None = None,
        every: float = 0.0,
        resume: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.identity, self.folder, self.every = identity, folder, every
        self.memory = Memory(identity)
        self.known: dict[int, Run[Draw]] = {}
        self._lock, self._told = threading.Lock(), False
        if memory is not None:
            identity.refuse_unless_same(memory.identity, "The earlier fit")
            self.known = dict(memory.runs)
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        clear_unfinished(folder)
        found = stored_chains(folder)
        if resume:
            for chain, path in found.items():
                stored, run = read_chain(path)
                identity.refuse_unless_same(stored, str(path))
                self.known[chain] = run
        elif found and memory is None:
            raise CheckpointError(
                f"{folder} holds the checkpoint of an earlier fit. Call fit with resume=True to go "
                "on from it, or remove it to begin anew."
            )

    def chain(self, number: int) -> Bookmark:
        """The bookmark of one chain."""
        return Bookmark(self, number)

    def turn_page(self) -> None:
        """Chains that have ended go on from there when they run again."""
        self.known.update(self.memory.runs)

    def write(self, chain: int, run: Run[Draw]) -> None:
        """Write the file of one chain; a disk that does not take it is reported once."""
        assert self.folder is not None
        try:
            write_chain(self.folder / file_name(chain), self.identity, run)
        except OSError as error:
            with self._lock:
                told, self._told = self._told, True
            if not told:
                warnings.warn(
                    f"A checkpoint could not be written to {self.folder}: {error}. The fit goes "
                    "on, and tries again later; the last checkpoint that was whole stays as it is.",
                    RuntimeWarning,
                    stacklevel=2,
                )


class Bookmark:
    """Where one chain's progress is kept (:class:`banklearn.sampler.run.Bookmark`)."""

    def __init__(self, shelf: Shelf, chain: int) -> None:
        self.shelf, self.number = shelf, chain
        self._last = time.monotonic()

    def load(self) -> Run[Draw] | None:
        """A copy that the chain may change."""
        run = self.shelf.known.get(self.number)
        return None if run is None else _copy(run, run.link)

    def save(self, run: Run[Draw], pack: Callable[[], dict[str, Any]], ended: bool) -> None:
        """To the file when its time has come; at the end, to memory too."""
        due = ended or time.monotonic() - self._last >= self.shelf.every
        if due and (ended or self.shelf.folder is not None):
            stored = _copy(run, pack())
            if self.shelf.folder is not None:
                self.shelf.write(self.number, stored)
            if ended:
                self.shelf.memory.runs[self.number] = stored
            self._last = time.monotonic()


def file_name(chain: int) -> str:
    """Name of a chain's file."""
    return f"chain-{chain:04d}.bank"


def stored_chains(folder: Path) -> dict[int, Path]:
    """The files in a folder by chain."""
    paths = sorted(folder.glob("chain-[0-9][0-9][0-9][0-9].bank"))
    return {int(path.stem.removeprefix("chain-")): path for path in paths}


def write_chain(path: Path, identity: Identity, run: Run[Draw]) -> None:
    """One chain's file."""
    arrays: dict[str, Any] = {}
    parts = {name: getattr(run, name) for name in ("draws", "trace", "tuning", "link")}
    meta = {
        "schema": SCHEMA,
        "identity": encode(identity, "identity", arrays),
        "plain": {name: getattr(run, name) for name in PLAIN},
        **{name: encode(value, name, arrays) for name, value in parts.items()},
    }
    container.write(path, KIND, meta, arrays)


def read_identity(path: Path) -> Identity:
    """Which fit a file belongs to."""
    with container.opened(path, CheckpointError) as file:
        return _identity(file)


def read_chain(path: Path) -> tuple[Identity, Run[Draw]]:
    """One chain's file; CheckpointError where it is damaged."""
    with container.opened(path, CheckpointError) as file:
        identity = _identity(file)
        arrays = file.read_all()
        try:
            run: Run[Draw] = Run(
                draws=_rows(Draw, file.meta["draws"], arrays),
                trace=_rows(Info, file.meta["trace"], arrays),
                tuning=decode(Tuning, file.meta["tuning"], arrays),
                **{name: file.meta["plain"][name] for name in PLAIN},
            )
            link = dict(file.meta["link"]["fields"])
            state = decode(State, link.pop("state"), arrays)
            rest = {name: decode(Any, part, arrays) for name, part in link.items()}
            run.link = {"state": state, **rest}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            file.fail(f"it does not describe a chain of this version ({error}).")
    return identity, run


def _rows(cls: Any, tree: Any, arrays: Any) -> list[Any]:
    return list(decode(list[cls], tree, arrays))


def _identity(file: container.Reader) -> Identity:
    if file.kind != KIND or file.meta.get("schema") != SCHEMA:
        file.fail("it is not a checkpoint of this version.")
    try:
        found = decode(Identity, file.meta["identity"], {})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        file.fail(f"it does not say which fit it belongs to ({error}).")
    return found if isinstance(found, Identity) else file.fail("it does not say whose it is.")


def _copy(run: Run[Draw], link: dict[str, Any] | None) -> Run[Draw]:
    return replace(run, draws=list(run.draws), trace=list(run.trace), link=link)


def _more(old: Any, new: Any) -> bool:
    return isinstance(old, int) and isinstance(new, int) and new > old


def _words(value: Any, missing: object) -> str:
    return "not there" if value is missing else repr(value)

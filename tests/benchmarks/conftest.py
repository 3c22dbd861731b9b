"""What tests of the benchmarks share."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def scripts(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of the benchmarks folder by name; afterwards they are all forgotten."""
    folder = repository / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == folder:
            del sys.modules[name]

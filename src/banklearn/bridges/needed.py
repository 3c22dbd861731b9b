"""Packages that only one bridge needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needed(package: str, function: str) -> Iterator[None]:
    """Around the imports of a function: where the package is not there, how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in (package, "torch"):
            raise  # something that the package itself lacks
        raise ImportError(
            f"{function} needs the package {error.name}, which is not installed: pip install "
            f"{package}.",
            name=error.name,
        ) from error

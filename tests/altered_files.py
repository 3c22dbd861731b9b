"""Files taken apart, changed and put together again with a right checksum; a disk that fills."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from banklearn.storage import container
from banklearn.storage.errors import ModelFileError


def parts(path: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    with container.opened(path, ModelFileError) as file:
        return file.kind, file.meta, file.read_all()


def changed(path: Path, to: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Path:
    """A copy whose header and arrays went through `change`."""
    kind, meta, arrays = parts(path)
    change(meta, arrays)
    container.write(to, kind, meta, arrays)
    return to


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size`: the system refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

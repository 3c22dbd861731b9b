"""Rows that need not fit in memory, as blocks that can be read again and again."""

from banklearn.sources.arrays import ArraySource
from banklearn.sources.base import RawBlock, Source, SourceError
from banklearn.sources.iterables import BlockSource
from banklearn.sources.recognise import as_source

__all__ = [
    "ArraySource",
    "BlockSource",
    "DatasetSource",
    "RawBlock",
    "Source",
    "SourceError",
    "TableSource",
    "as_source",
]


def __getattr__(name: str) -> object:
    if name in ("DatasetSource", "TableSource"):  # pyarrow is imported when files are read
        from banklearn.sources import tables

        return getattr(tables, name)
    raise AttributeError(f"module 'banklearn.sources' has no attribute {name!r}")

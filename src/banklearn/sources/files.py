"""Which files a path, a folder, a glob or a list of paths means."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path

from banklearn.sources.base import SourceError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".csv.bz2")


def find_files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that a path, a folder, a glob or a list of paths means, sorted by name."""
    given: Iterable[str | Path] = [path] if isinstance(path, str | Path) else path
    files: list[Path] = []
    for one in given:
        place = Path(one).expanduser()
        if place.is_dir():
            found = [p for p in place.rglob("*") if p.name.endswith(PARQUET + CSV)]
            found = [p for p in found if not _is_hidden(p.relative_to(place))]
            _refuse_partitions(place, found)
        else:
            matching = glob.glob(str(place), recursive=True)
            found = [place] if place.exists() else [Path(p) for p in matching]
        if not found:
            raise FileNotFoundError(f"No Parquet or CSV file was found at {str(one)!r}.")
        files += sorted(found)
    for kinds in (PARQUET, CSV):
        if all(file.name.endswith(kinds) for file in files):
            return files
    other = next((f.name for f in files if not f.name.endswith(PARQUET + CSV)), None)
    raise SourceError(
        "Files of one kind are needed, Parquet (.parquet) or CSV (.csv, .csv.gz), but "
        + (f"{other!r} is neither." if other else "both kinds were found.")
    )


def _is_hidden(path: Path) -> bool:
    """What programs put aside for themselves, by the rule of Arrow and Spark."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _refuse_partitions(folder: Path, files: Sequence[Path]) -> None:
    """Columns that only the names of folders hold would be lost."""
    for file in sorted(files):
        keys = [part for part in file.relative_to(folder).parts[:-1] if "=" in part]
        if keys:
            raise SourceError(
                f"{str(folder)!r} is partitioned: the name of the folder {keys[0]!r} holds a "
                "column. Pass pyarrow.dataset.dataset(folder, partitioning='hive') instead."
            )

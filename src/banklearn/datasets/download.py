"""Fetch a data set with scikit-learn's own fetchers and turn it into columns."""

from __future__ import annotations

import gzip
import io
import tarfile
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

import numpy as np
from sklearn.datasets import fetch_file, fetch_openml

from .names import UCI, OpenML, Spec
from .parquet import Array

RETRIES = 2


def fetch_columns(spec: Spec) -> dict[str, Array]:
    """Download a data set; its columns, features first and ``y`` last.

    The raw files live in a temporary folder, so a download that fails leaves nothing behind.
    """
    with TemporaryDirectory() as temporary, warnings.catch_warnings():
        folder = Path(temporary)
        warnings.simplefilter("ignore")  # every retry warns; what counts is how it ends
        if isinstance(spec.source, OpenML):
            columns = from_openml(spec.source, folder)
        else:
            columns = from_uci(spec.source, folder)
    n_rows = columns["y"].size
    if n_rows != spec.n_rows:
        raise ValueError(
            f"The download of {spec.name!r} has {n_rows} rows, but {spec.n_rows} were expected; "
            "its source has changed or the file was cut short."
        )
    return columns


def from_openml(source: OpenML, folder: Path) -> dict[str, Array]:
    """Columns of an OpenML data set; fetch_openml checks the MD5 that OpenML names.

    The parser needs no pandas; labels of a nominal feature become their numbers.
    """
    bunch = fetch_openml(
        data_id=source.data_id,
        data_home=str(folder),
        as_frame=False,
        parser="liac-arff",
        n_retries=RETRIES,
        delay=0.2,
    )
    X = np.asarray(bunch.data, dtype=np.float64)
    columns = {
        str(name): np.ascontiguousarray(values)
        for name, values in zip(bunch.feature_names, X.T, strict=True)
    }
    labels = np.asarray(bunch.target)
    if source.also is not None:
        columns[source.also] = labels.astype(np.float64)
    if source.positive is not None:
        columns["y"] = (labels.astype(str) == source.positive).astype(np.float64)
    elif source.negative is not None:
        columns["y"] = (labels.astype(str) != source.negative).astype(np.float64)
    else:
        columns["y"] = labels.astype(np.float64)
    return columns


def from_uci(source: UCI, folder: Path) -> dict[str, Array]:
    """Columns of a text file in a UCI archive; the archive's SHA-256 is checked where known."""
    archive = fetch_file(
        source.url, folder=folder, sha256=source.sha256, n_retries=RETRIES, delay=0.2
    )
    with zipfile.ZipFile(archive) as outer:
        table = read_numbers(open_member(outer, source.path), source)
    target = source.target % table.shape[1]
    dropped = {column % table.shape[1] for column in source.drop} | {target}
    columns = {
        f"x{column}": np.ascontiguousarray(table[:, column])
        for column in range(table.shape[1])
        if column not in dropped
    }
    columns["y"] = np.ascontiguousarray(table[:, target])
    return columns


def open_member(outer: zipfile.ZipFile, path: str) -> IO[bytes]:
    """The file ``path`` of a zip, "inner.tar.gz!file" of a tar in it, or a gzip in it."""
    name, _, inner = path.partition("!")
    if inner:
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as archive:
            for member in archive:
                found = archive.extractfile(member)
                if found is not None and member.name.removeprefix("./") == inner:
                    return io.BytesIO(found.read())
        raise ValueError(f"{name} holds no file {inner}; its source has changed.")
    if name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(outer.open(name)))
    return outer.open(name)


def read_numbers(file: IO[bytes], source: UCI) -> Array:
    """Comma-separated numbers; header lines of ARFF files are comments here."""
    return np.loadtxt(
        io.TextIOWrapper(file, encoding="ascii"),
        delimiter=",",
        comments=("@", "%"),
        skiprows=int(source.header),
        max_rows=source.max_rows,
        ndmin=2,
    )

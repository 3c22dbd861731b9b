"""Data by name: the paper's fourteen sets, its folds, and its synthetic problem."""

from .loading import Dataset, DatasetNotFoundError, load
from .names import NAMES
from .parquet import ChecksumError
from .splits import folds
from .synthetic import Synthetic, make_synthetic, synthetic_kernel

__all__ = [
    "NAMES",
    "ChecksumError",
    "Dataset",
    "DatasetNotFoundError",
    "Synthetic",
    "folds",
    "load",
    "make_synthetic",
    "synthetic_kernel",
]

"""Data by name: the paper's sets, folds and synthetic problem, and a made-up robot arm."""

from .arm import Arm, make_arm
from .loading import Dataset, DatasetNotFoundError, load
from .names import NAMES
from .parquet import ChecksumError
from .splits import folds
from .synthetic import Synthetic, make_synthetic, synthetic_kernel

__all__ = [
    "NAMES",
    "Arm",
    "ChecksumError",
    "Dataset",
    "DatasetNotFoundError",
    "Synthetic",
    "folds",
    "load",
    "make_arm",
    "make_synthetic",
    "synthetic_kernel",
]

"""What is raised about a file that cannot be used."""

from __future__ import annotations


class StoredFileError(ValueError):
    """A file of this library is damaged, or is not one."""


class ModelFileError(StoredFileError):
    """A model file cannot be written as asked, or is damaged, altered or not a model file."""


class CheckpointError(StoredFileError):
    """A checkpoint is damaged, or does not belong to this fit."""

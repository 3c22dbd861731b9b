"""The array libraries with which the engine for devices runs here."""

import array_api_strict
import pytest

LIBRARIES = ["strict", pytest.param("torch", marks=pytest.mark.torch)]


def library(name):
    """The namespace that an engine takes."""
    if name == "strict":
        return array_api_strict
    from array_api_compat import torch

    return torch

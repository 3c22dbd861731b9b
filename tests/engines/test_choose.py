"""Which engine a fit uses, and what is said where it cannot."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

from banklearn.engines.choose import device_of, make_engine, to_memory
from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


def test_rows_stay_in_memory_unless_asked():
    assert isinstance(make_engine("cpu", X, Y, None), MemoryEngine)
    assert to_memory(X) is X
    assert device_of(X) is None


def test_without_pytorch_a_device_is_refused(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torch" else found(name)
    )
    with pytest.raises(ImportError, match=r"needs PyTorch.*Install banklearn\[gpu\]"):
        make_engine("cuda", X, Y, None)
    assert isinstance(make_engine("auto", X, Y, None), MemoryEngine)


@pytest.mark.torch
def test_a_device_of_pytorch():
    import torch

    engine = make_engine("cpu:0", X, Y, None, "float32")
    assert isinstance(engine, DeviceEngine)
    assert engine.X.dtype == torch.float64  # phases are formed in the precision of X
    np.testing.assert_array_equal(to_memory(engine.X), X)
    assert device_of(engine.X) is None
    assert device_of(torch.empty(2, device="meta")) == "meta"
    with pytest.raises(ValueError, match=r"device='cuda:99' cannot be used here.*device='cpu'"):
        make_engine("cuda:99", X, Y, None)
    with pytest.raises(ValueError, match="device='abacus' cannot be used here"):
        make_engine("abacus", X, Y, None)


@pytest.mark.torch
def test_a_device_without_a_number_gets_that_of_the_thread_that_asks(monkeypatch):
    """Other threads have a current device of their own."""
    import torch

    asked = []

    def empty(shape, device):
        asked.append(device)
        return SimpleNamespace(device=torch.device("cpu:0"))

    monkeypatch.setattr(torch, "empty", empty)
    assert make_engine("cuda", X, Y, None).device == torch.device("cpu:0")
    assert asked == [torch.device("cuda")]

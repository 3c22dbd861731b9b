"""What describes a state, a law or a setting does not change behind the back of who holds it."""

import dataclasses
import importlib
import pkgutil

import pytest

import banklearn.model
import banklearn.sampler

#: Records that are filled while a chain or a pilot runs, or while proposals are decided.
GROWING = {"Pilot", "Run", "Walk"}


def dataclasses_of(package):
    """Every dataclass that a module of the package defines."""
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for thing in vars(module).values():
            if dataclasses.is_dataclass(thing) and thing.__module__ == module.__name__:
                yield thing


@pytest.mark.parametrize("package", [banklearn.model, banklearn.sampler])
def test_dataclasses_are_frozen(package):
    found = list(dataclasses_of(package))  # some share a name: both samplers have a Chain
    assert found
    open_to_change = {thing.__name__ for thing in found if not thing.__dataclass_params__.frozen}
    assert open_to_change <= GROWING

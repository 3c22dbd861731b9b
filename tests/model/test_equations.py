"""Each equation of the paper is implemented once."""

import importlib
import pkgutil

import pytest

import banklearn
from banklearn.model.equations import EQUATIONS, PAPER, equation

#: Labels that no function claims yet, each with the reason.
PENDING: dict[str, str] = {}


@pytest.fixture(scope="module", autouse=True)
def _import_everything():
    for module in pkgutil.walk_packages(banklearn.__path__, "banklearn."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as error:  # an optional dependency may be absent
                if (error.name or "banklearn").partition(".")[0] == "banklearn":
                    raise


def test_no_equation_is_claimed_twice():
    claimed_twice = {label: names for label, names in EQUATIONS.items() if len(names) != 1}
    assert not claimed_twice


def test_every_equation_is_claimed():
    missing = [label for label in PAPER if label not in EQUATIONS]
    assert sorted(missing) == sorted(PENDING)
    assert set(EQUATIONS) <= set(PAPER)


def test_a_claim_names_a_function_that_exists():
    for names in EQUATIONS.values():
        for name in names:
            module, _, function = name.rpartition(".")
            assert callable(getattr(importlib.import_module(module), function))


def test_an_unknown_label_is_refused():
    with pytest.raises(ValueError, match="no equation 'pythagoras'; known labels"):
        equation("pythagoras")

"""No two uses of random numbers share an address, from the first row that is chosen to the last."""

from collections import Counter

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.numerics.streams import Purpose, Streams

#: The sweep with which the first of two stages of the warm-up ends.
STAGE_ENDS = 4


def on_purpose(address):
    """Uses that repeat an address and may: nothing that stays depends on both of them."""
    _, _, purpose, sweep, block = address
    if purpose == Purpose.AUGMENTATION:
        return True  # the weights of a block, once per pass over the data
    if purpose == Purpose.WEIGHTS:
        return sweep == STAGE_ENDS  # those of the smaller data are dropped
    return (purpose, sweep, block) == (Purpose.START, 0, 0)  # candidates, compared alike


@pytest.fixture
def addresses(monkeypatch):
    """Every address that is asked for, and how often."""
    seen = Counter()
    real = Streams.at

    def at(self, purpose, sweep=0, block=0):
        seen[self.seed, self.chain, purpose, sweep, block] += 1
        return real(self, purpose, sweep, block)

    monkeypatch.setattr(Streams, "at", at)
    return seen


@pytest.mark.parametrize(
    "model",
    [
        BankRegressor(4, gradient_every=2, growing_warmup=True),
        BankRegressor(4, proposal="at-once"),
        BankClassifier(4, gradient_every=2),
        BankClassifier(4, inference="laplace-mh"),
    ],
    ids=["regression", "at once", "classes", "joint move"],
)
def test_a_fit_uses_no_random_number_twice(model, addresses):
    rng = np.random.default_rng(0)
    n = 5200 if isinstance(model, BankRegressor) and model.growing_warmup else 60
    X = rng.standard_normal((n, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    model.set_params(n_chains=2, n_warmup=6, n_draws=2, thin=2, random_state=0)
    model.fit(X, y > 0 if isinstance(model, BankClassifier) else y)
    assert addresses
    twice = {a for a, times in addresses.items() if times > 1 and not on_purpose(a)}
    assert not twice

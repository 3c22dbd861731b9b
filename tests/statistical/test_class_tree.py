"""Joint distribution tests (Geweke, 2004): five classes in a tree that is no stick, both samplers.

They stand apart from tests/trust.py, whose units and limit do not know them: here the limit is that
this file rejects a right sampler in one of a hundred thousand runs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import geweke
from banklearn.likelihoods import logistic
from banklearn.likelihoods.logistic import Logistic
from banklearn.sampler import joint_move
from banklearn.sampler.sweep import Model
from geweke import ALL_MOVES, JUMPS, REST, STILL, WOVEN, Everything, Kind, by_step, quantities
from helpers import plain_features
from trees import HALVES, draw_labels, log_path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


class InATree(Kind):
    """Five classes, cut in halves."""

    @property
    def model(self) -> Model:
        return Model(geweke.PRIOR, Logistic(HALVES), geweke.TREND)

    def data(self, X, state, beta, rng):
        """New labels given everything else."""
        return draw_labels(HALVES, beta @ plain_features(X, state.W, geweke.TREND).T, rng)

    def link(self, it: Everything) -> float:
        """Log likelihood of the labels."""
        f = it.beta @ plain_features(it.X, it.state.W, geweke.TREND).T
        return float(log_path(HALVES, f)[it.y.astype(int), np.arange(len(it.y))].sum())


FIVE = InATree(5)
ALONE = {
    "weights": (FIVE, by_step(STILL, *REST, "proposals"), 1),
    "jumps": (FIVE, by_step(JUMPS, *REST), 1),
    "interweaving": (FIVE, by_step(WOVEN, *REST, "proposals"), 2),
    "gradient": (FIVE, by_step(replace(STILL, gradient_every=1), *REST, "proposals"), 1),
    "rescaling": (FIVE, by_step(replace(STILL, rescale=True), *REST, "proposals"), 2),
    "joint move: frequencies": (
        FIVE,
        by_step(STILL, *REST, "lam given weights", "trend", kernel=joint_move),
        1,
    ),
}
WHOLE = {
    "polya-gamma": (FIVE, by_step(ALL_MOVES)),
    "laplace-mh": (FIVE, by_step(ALL_MOVES, kernel=joint_move)),
}
#: How often this file may reject a right sampler.
RATE = 1e-5
LIMIT = RATE / (len(quantities(FIVE)) * (len(ALONE) + 2 * len(WHOLE)))


@pytest.mark.parametrize("name", ALONE)
def test_an_update_alone_keeps_the_law_of_the_model(name, master_seed, monkeypatch):
    monkeypatch.setattr(geweke, "ALONE", ALONE)
    p = geweke.alone(name, master_seed, 1000).p
    assert min(p.values()) > LIMIT, p


@pytest.mark.parametrize("name", WHOLE)
def test_sweeps_and_labels_in_turn_simulate_the_model(name, master_seed, monkeypatch):
    monkeypatch.setattr(geweke, "WHOLE", WHOLE)
    p = geweke.whole(name, master_seed, 600).p
    assert min(p.values()) > LIMIT, p


def test_a_node_that_sees_all_rows_is_found(master_seed, monkeypatch):
    """Rows outside of a node's range count as its second part."""

    def careless(tree, t, f, block):
        label = ((block.y >= tree.nodes[t].first) & (block.y < tree.nodes[t].middle)).astype(float)
        return logistic._View(f, label, block.weight, None)

    monkeypatch.setattr(logistic, "look", careless)
    monkeypatch.setattr(geweke, "ALONE", ALONE)
    assert min(geweke.alone("weights", master_seed, 1000).p.values()) < LIMIT

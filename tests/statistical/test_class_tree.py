"""The joint distribution tests of tests/trust.py find a wrong tree of classes."""

import pytest

import geweke
from banklearn.likelihoods import logistic
from trust import LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def test_a_node_that_sees_all_rows_is_found(master_seed, monkeypatch):
    """Rows outside of a node's range count as its second part."""

    def careless(tree, t, f, block):
        label = ((block.y >= tree.nodes[t].first) & (block.y < tree.nodes[t].middle)).astype(float)
        return logistic._View(f, label, block.weight, None)

    monkeypatch.setattr(logistic, "look", careless)
    assert min(geweke.alone("five classes: weights", master_seed, 1000).p.values()) < LIMIT

"""Simulation-based calibration in small: the ranks, and that their test sees what is wrong."""

import numpy as np
import pytest

import calibration
from trust import LIMIT


@pytest.mark.parametrize("name", calibration.SETTINGS)
def test_ranks_are_those_of_the_draws(name, master_seed, monkeypatch):
    seen, describe = [], calibration.describe

    def listen(*rest):
        seen.append(describe(*rest))
        return seen[-1]

    monkeypatch.setattr(calibration, "describe", listen)
    quantities = calibration.names(calibration.SETTINGS[name])
    both = []
    for index in range(2):
        seen.clear()
        both.append(calibration.one_data_set(name, master_seed, index))
        true, *draws = seen
        assert len(draws) == calibration.DRAWS
        for i, (quantity, rank) in enumerate(zip(quantities, both[-1], strict=True)):
            below = sum(draw[i] < true[i] for draw in draws)
            ties = sum(draw[i] == true[i] for draw in draws)
            assert below <= rank <= below + ties
            assert not ties or quantity == "components"
    assert both[0] != both[1]


def test_uniform_ranks_pass_and_others_do_not():
    rng = np.random.default_rng(0)
    top = calibration.DRAWS + 1
    columns = len(calibration.names(calibration.SETTINGS["two classes"]))
    even = rng.integers(0, top, (512, columns))
    assert min(calibration.uniformity(even, "two classes", 0).values()) > LIMIT
    too_sure = (rng.beta(0.6, 0.6, (512, columns)) * top).astype(int)
    shifted = (rng.beta(1.4, 1.0, (512, columns)) * top).astype(int)
    for wrong in (too_sure, shifted):
        assert min(calibration.uniformity(wrong, "two classes", 0).values()) < LIMIT


@pytest.mark.parametrize("name", calibration.SETTINGS)
def test_two_dozen_data_sets_have_uniform_ranks(name, master_seed):
    ranks = np.array([calibration.one_data_set(name, master_seed, i) for i in range(24)])
    assert min(calibration.uniformity(ranks, name, master_seed).values()) > LIMIT
    # So few see gross errors alone: a true value that lies above nearly all draws, say.
    grossly = np.maximum(ranks, calibration.DRAWS - 2)
    assert max(calibration.uniformity(grossly, name, master_seed).values()) < LIMIT

"""Joint distribution tests of every update alone, small; at length in tests/statistical."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import geweke
from banklearn.sampler import precision, scales, sweep
from banklearn.sampler.target import Target
from trust import LIMIT

#: Updates that no other quick test checks by their law; all of them at length elsewhere.
QUICK = (
    "assignments",
    "components",
    "scales",
    "concentration",
    "regression: lam",
    "regression: interweaving",
    "regression: gradient",
    "two classes: weights",
    "two classes: lam",
    "joint move: trend",
    "three classes: rescaling",
)


@pytest.mark.parametrize("name", QUICK)
def test_an_update_alone_keeps_the_law_of_the_model(name, master_seed):
    p = geweke.alone(name, master_seed, 200).p
    assert min(p.values()) > LIMIT, p


def test_a_lam_with_the_wrong_sign_of_its_prior_is_found(monkeypatch, master_seed):
    def careless(solved, prior):
        return solved.log_evidence - prior.log_lam(solved.lam)

    monkeypatch.setattr(precision, "log_conditional", careless)
    assert min(geweke.alone("regression: lam", master_seed, 300).p.values()) < LIMIT


def test_scales_of_the_wrong_shape_are_found(monkeypatch, master_seed):
    real = scales._posterior
    monkeypatch.setattr(scales, "_posterior", lambda s, p: (real(s, p)[0] + 1.5, real(s, p)[1]))
    assert min(geweke.alone("scales", master_seed, 200).p.values()) < LIMIT


def test_components_that_stay_where_a_trajectory_began_are_found(monkeypatch, master_seed):
    monkeypatch.setattr(sweep, "components", SimpleNamespace(update=lambda state, *_: state))
    assert min(geweke.alone("regression: gradient", master_seed, 200).p.values()) < LIMIT


def test_trajectories_that_are_always_accepted_are_found(monkeypatch, master_seed):
    monkeypatch.setattr(Target, "energy", lambda *_: 0.0)
    assert min(geweke.alone("regression: gradient", master_seed, 200).p.values()) < LIMIT


def test_a_chain_that_forgets_its_data_is_found(monkeypatch, master_seed):
    # New data that the chain never sees: the link between both is lost.
    kind, update = geweke.WHOLE["regression"]

    def careless(it, kind, streams, i):
        done = update(replace(it, y=np.roll(it.y, 1)), kind, streams, i)
        return replace(done, y=it.y)

    monkeypatch.setitem(geweke.WHOLE, "regression", (kind, careless))
    assert min(geweke.whole("regression", master_seed, 120).p.values()) < LIMIT

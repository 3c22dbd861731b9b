"""Both samplers and an independent reference agree on a small posterior (the quick version)."""

import pytest

from agreement import largest_gap, many_chains, moments, reference, run
from banklearn.sampler import joint_move, sweep


@pytest.fixture(scope="module")
def exact():
    return many_chains(reference(2400, 150))


@pytest.mark.parametrize("kernel", [sweep, joint_move], ids=["polya-gamma", "laplace-mh"])
def test_the_latent_function_has_the_same_mean_and_deviation(kernel, exact):
    # 20 comparisons at 4 standard errors, in runs whose seeds are fixed.
    assert largest_gap(moments(run(kernel, 1200, 3)), exact) < 4


def test_another_posterior_would_be_seen(exact, monkeypatch):
    # The mistake of a sampler that forgets the density of its proposal.
    real = joint_move.laplace_end

    def careless(*args):
        end = real(*args)
        return joint_move.Candidate(end.b, end.log_target, 0.0)

    monkeypatch.setattr(joint_move, "laplace_end", careless)
    assert largest_gap(moments(run(joint_move, 1200, 3)), exact) > 4

"""Short chains that decide where the chains start."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.pilots import FEWEST, MARGIN, SWEEPS, Pilots, pilot_sweeps
from banklearn.sampler.precision import solve
from banklearn.sampler.start import FASTEST, LAMS, StartingPoint, starting_state


def prior_at(d):
    return lambda scale: Prior(np.zeros(d), 0.1, d + 2.0, np.full(d, scale**2))


def pilots(f, d=1, n=200, M=24, sweeps=10, seed=0, **changes):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    y = f(X) + 0.05 * rng.standard_normal(n)
    sent = Pilots(X, y, None, "constant", M, prior_at(d), Moves(), sweeps, Streams(seed))
    return replace(sent, **changes)


START = StartingPoint(1.0, 0.1, 0.0)


def climb(sent, start=START):
    """From the first pilot on."""
    return sent.climb(*sent.height(start.scale))


def test_each_is_short_beside_the_warm_up():
    assert pilot_sweeps(300) == SWEEPS == pilot_sweeps(10**6)
    assert pilot_sweeps(0) == pilot_sweeps(10 * FEWEST - 1) == 0
    assert pilot_sweeps(10 * FEWEST) == FEWEST
    # The default warm-up of 200 sweeps has the longest that there are; eighty are enough for some.
    assert pilot_sweeps(200) == 16
    assert pilot_sweeps(80) == 8
    assert pilot_sweeps(79) == 0


@pytest.mark.parametrize("case", range(3))
def test_a_fast_function_wants_a_faster_start(case):
    _, slow = climb(pilots(lambda X: np.sin(0.5 * X[:, 0]), seed=case))
    _, fast = climb(pilots(lambda X: np.sin(5 * X[:, 0]), seed=case))
    assert fast.scale >= 2 * START.scale
    assert slow.scale <= fast.scale


def test_the_climb_ends_where_the_next_scale_gets_less_far():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]))
    height, found = climb(sent)
    assert (height, found) == sent.height(found.scale)
    octaves = int(np.log2(found.scale / START.scale))
    assert octaves > 0
    assert found.scale == START.scale * 2**octaves
    heights = [sent.height(START.scale * 2**k)[0] for k in range(octaves + 2)]
    assert np.all(np.diff(heights[:-1]) > MARGIN)
    assert heights[-1] <= heights[-2] + MARGIN


def test_each_pilot_starts_with_the_precision_that_suits_its_scale():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]))
    for scale in (0.5, 4.0):
        point, chain = sent.at(scale, sent.model_at(scale))
        assert chain.state.lam == chain.solved.lam == point.lam
        assert point.scale == scale
        prior = prior_at(1)(scale)
        values = [
            solve(chain.gram, lam, Gaussian(prior.a0, prior.b0), JitterCount()).log_evidence
            for lam in LAMS
        ]
        assert point.lam == LAMS[int(np.argmax(values))]
        assert point.log_evidence == pytest.approx(max(values), rel=1e-9)


def test_the_same_seed_gives_the_same_height():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]))
    assert sent.height(1.0) == sent.height(1.0)
    assert sent.height(1.0) != replace(sent, streams=Streams(1)).height(1.0)


@pytest.fixture
def steps(monkeypatch):
    """The states from which sweeps of pilots start, and the log evidence with which they end."""
    seen, step = [], sweep.step

    def watched(chain, *arguments):
        after, info = step(chain, *arguments)
        seen.append((chain.state, info.log_evidence))
        return after, info

    monkeypatch.setattr(sweep, "step", watched)
    return seen


def test_pilots_share_no_random_numbers_with_the_chains_of_a_fit(steps):
    pilots(lambda X: np.sin(6 * X[:, 0]), sweeps=1).height(1.0)
    ((first, _),) = steps
    for chain in range(4):
        state = starting_state(24, 1, 1.0, 1.0, 1.0, Streams(0, chain))
        assert not np.isclose(state.W, first.W).any()
    # But with those of a chain that has a number of its own, the same in every version.
    state = starting_state(24, 1, 1.0, 1.0, 1.0, Streams(0, 2**40))
    np.testing.assert_array_equal(state.W, first.W)


@pytest.mark.parametrize("sweeps", [1, 3, 9])
def test_a_pilot_is_judged_by_the_last_quarter_of_its_sweeps(steps, sweeps):
    height, _ = pilots(lambda X: np.sin(6 * X[:, 0]), sweeps=sweeps).height(1.0)
    assert len(steps) == sweeps
    assert height == np.mean([log_evidence for _, log_evidence in steps[-(sweeps // 4 or 1) :]])


def test_weights_count_rows():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]), n=60)
    twice = replace(sent, X=np.repeat(sent.X, 2, axis=0), y=np.repeat(sent.y, 2))
    weighted = replace(sent, weight=np.full(60, 2.0))
    assert weighted.height(1.0)[0] == pytest.approx(twice.height(1.0)[0], rel=1e-9)


def test_a_gain_by_chance_is_no_gain():
    rng = np.random.default_rng(0)
    for seed in range(3):
        noise = pilots(lambda X: rng.standard_normal(len(X)), seed=seed)
        first = noise.height(1.0)
        found = noise.climb(*first)
        assert found == first or found[0] > first[0] + MARGIN


def test_no_pilot_is_sent_when_time_is_over(monkeypatch):
    sent = pilots(lambda X: np.sin(6 * X[:, 0]), late=lambda: True)
    monkeypatch.setattr(Pilots, "at", None)  # not even its first state is computed
    assert sent.height(1.5) == (-np.inf, StartingPoint(1.5, 1.0, -np.inf))
    assert sent.climb(-5.0, START) == (-5.0, START)


def test_a_pilot_that_time_cuts_short_decides_nothing():
    calls = []

    def late():
        calls.append(1)
        return len(calls) > 15  # the first has ten sweeps; the second is cut

    sent = pilots(lambda X: np.sin(5 * X[:, 0]), late=late)
    first = sent.height(1.0)
    assert np.isfinite(first[0])
    assert sent.climb(*first) == first


@pytest.mark.parametrize("d", [1, 4])
def test_scales_have_an_end_that_counts_inputs(d):
    sent = pilots(lambda X: np.sin(X[:, 0]), d=d, sweeps=1)
    top = -np.inf, replace(START, scale=FASTEST / np.sqrt(d))
    assert sent.climb(*top) == top


def test_a_pilot_starts_with_the_mean_of_its_concentration():
    prior = replace(prior_at(1)(1.0), alpha_shape=3.0, alpha_rate=2.0)
    sent = pilots(lambda X: np.sin(X[:, 0]), prior_at=lambda _: prior)
    assert sent.at(1.0, sent.model_at(1.0))[1].state.alpha == 1.5


class Known(Pilots):
    """Pilots whose heights are known: each doubling of the scale gains `gain`."""

    gain = 2.5

    def height(self, scale):
        return self.gain * np.log2(scale), StartingPoint(scale, 0.1, 0.0)


def known(d):
    sent = pilots(lambda X: X[:, 0], d=d)
    return Known(**{name: getattr(sent, name) for name in Pilots.__dataclass_fields__})


@pytest.mark.parametrize("d", [1, 3])
def test_a_climb_goes_on_to_the_fastest_scale(d):
    fastest = 4096.0 / np.sqrt(d)
    assert climb(known(d), replace(START, scale=fastest / 8))[1].scale == fastest
    assert climb(known(d), replace(START, scale=fastest / 7))[1].scale == 4 * (fastest / 7)


def test_a_gain_of_two_is_not_enough(monkeypatch):
    assert climb(known(1))[1].scale > START.scale
    monkeypatch.setattr(Known, "gain", 2.0)
    assert climb(known(1))[1].scale == START.scale

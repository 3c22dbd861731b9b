"""Short chains that decide where the chains start."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.pilots import (
    AHEAD,
    FEWEST,
    MARGIN,
    SWEEPS,
    Pilot,
    Pilots,
    last_look,
    pilot_sweeps,
)
from banklearn.sampler.precision import solve
from banklearn.sampler.start import FASTEST, LAMS, StartingPoint, starting_state

#: As it is, whatever a test puts in its place.
STEP = sweep.step


def prior_at(d):
    return lambda scale: Prior(np.zeros(d), 0.1, d + 2.0, np.full(d, scale**2))


def pilots(f, d=1, n=200, M=24, sweeps=10, seed=0, **changes):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    y = f(X) + 0.05 * rng.standard_normal(n)
    sent = Pilots(X, y, None, "constant", M, prior_at(d), Moves(), sweeps, Streams(seed))
    return replace(sent, **changes)


def climb(sent, scale=1.0):
    """Where a climb from the first pilot on ends."""
    return sent.climb(sent.send(scale))


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
    slow = climb(pilots(lambda X: np.sin(0.5 * X[:, 0]), seed=case)).start.scale
    fast = climb(pilots(lambda X: np.sin(5 * X[:, 0]), seed=case)).start.scale
    assert fast >= 2.0
    assert slow <= fast


def test_the_climb_ends_where_the_next_scale_gets_less_far():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]))
    found = climb(sent)
    octaves = int(np.log2(found.start.scale))
    assert octaves > 0
    assert found.start.scale == 2.0**octaves
    ways = [sent.send(2.0**k) for k in range(octaves + 2)]
    assert found.end == ways[octaves].end
    for slower, faster in pairwise(ways[:-1]):
        far_ahead = faster.soon > slower.soon + AHEAD * len(sent.y)
        assert far_ahead or faster.end > slower.end + MARGIN
    assert ways[-1].soon <= found.soon + AHEAD * len(sent.y)
    assert ways[-1].end <= found.end + MARGIN


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
    assert sent.send(1.0).end == sent.send(1.0).end
    assert sent.send(1.0).end != replace(sent, streams=Streams(1)).send(1.0).end


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
    pilots(lambda X: np.sin(6 * X[:, 0]), sweeps=1).send(1.0)
    ((first, _),) = steps
    for chain in range(4):
        state = starting_state(24, 1, 1.0, 1.0, 1.0, Streams(0, chain))
        assert not np.isclose(state.W, first.W).any()
    # But with those of a chain that has a number of its own, the same in every version.
    state = starting_state(24, 1, 1.0, 1.0, 1.0, Streams(0, 2**40))
    np.testing.assert_array_equal(state.W, first.W)


@pytest.mark.parametrize("sweeps", [1, 3, 8, 9, 16])
def test_a_pilot_is_judged_by_the_last_quarter_of_its_sweeps(steps, sweeps):
    pilot = pilots(lambda X: np.sin(6 * X[:, 0]), sweeps=sweeps).send(1.0)
    first = min(8, sweeps)
    assert len(steps) == first
    for height, made in ((pilot.soon, first), (pilot.end, sweeps), (pilot.soon, first)):
        found = [log_evidence for _, log_evidence in steps[:made]]
        assert height == np.mean(found[-(made // 4 or 1) :])
    assert len(steps) == sweeps


def test_weights_count_rows():
    sent = pilots(lambda X: np.sin(6 * X[:, 0]), n=60)
    twice = replace(sent, X=np.repeat(sent.X, 2, axis=0), y=np.repeat(sent.y, 2))
    weighted = replace(sent, weight=np.full(60, 2.0))
    assert weighted.send(1.0).end == pytest.approx(twice.send(1.0).end, rel=1e-9)


def test_a_gain_by_chance_is_no_gain():
    rng = np.random.default_rng(0)
    for seed in range(3):
        noise = pilots(lambda X: rng.standard_normal(len(X)), seed=seed)
        first = noise.send(1.0)
        found = noise.climb(first)
        assert found is first or found.end > first.end + MARGIN


def test_no_pilot_is_sent_when_time_is_over(monkeypatch):
    sent = pilots(lambda X: np.sin(6 * X[:, 0]))
    first, hurried = sent.send(1.5), replace(sent, late=lambda: True)
    monkeypatch.setattr(Pilots, "at", None)  # not even its first state is computed
    assert hurried.send(1.5) is None
    assert hurried.climb(first) is first


def in_a_hurry(sweeps, monkeypatch, **changes):
    """Pilots of a function that wants a faster start, with time for so many sweeps."""
    left = [sweeps]

    def counted(*arguments):
        left[0] -= 1
        return STEP(*arguments)

    monkeypatch.setattr(sweep, "step", counted)
    late = {"late": lambda: left[0] <= 0, "sweeps": 16}
    return pilots(lambda X: np.sin(5 * X[:, 0]), **late, **changes)


def test_a_pilot_that_time_cuts_short_decides_nothing(monkeypatch):
    sent = in_a_hurry(8 + 7, monkeypatch)
    first = sent.send(1.0)
    assert first is not None
    assert sent.climb(first) is first
    assert in_a_hurry(7, monkeypatch).send(1.0) is None


@pytest.mark.parametrize("d", [1, 4])
def test_scales_have_an_end_that_counts_inputs(d):
    sent = pilots(lambda X: np.sin(X[:, 0]), d=d, sweeps=1)
    top = sent.send(FASTEST / np.sqrt(d))
    assert sent.climb(top) is top


def test_a_pilot_starts_with_the_mean_of_its_concentration():
    prior = replace(prior_at(1)(1.0), alpha_shape=3.0, alpha_rate=2.0)
    sent = pilots(lambda X: np.sin(X[:, 0]), prior_at=lambda _: prior)
    assert sent.at(1.0, sent.model_at(1.0))[1].state.alpha == 1.5


class Known(Pilots):
    """Pilots whose heights at the first look and at the end are known, by octaves."""

    soon, end = (lambda octaves: 0.0), (lambda octaves: 2.5 * octaves)

    def send(self, scale):
        octaves = np.log2(scale)
        values = [type(self).soon(octaves)] * 8 + [type(self).end(octaves)] * 8
        return Pilot(self, StartingPoint(scale, 0.1, 0.0), None, None, None, values)


def known(d=1, n=200, **heights):
    sent = pilots(lambda X: X[:, 0], d=d, n=n, sweeps=16)
    kind = type("Known", (Known,), {name: staticmethod(f) for name, f in heights.items()})
    return kind(**{name: getattr(sent, name) for name in Pilots.__dataclass_fields__})


@pytest.mark.parametrize("d", [1, 3])
def test_a_climb_goes_on_to_the_fastest_scale(d):
    fastest = 4096.0 / np.sqrt(d)
    assert climb(known(d), fastest / 8).start.scale == fastest
    assert climb(known(d), fastest / 7).start.scale == 4 * (fastest / 7)


def test_a_gain_of_two_is_not_enough():
    assert climb(known()).start.scale > 1.0
    assert climb(known(end=lambda octaves: 2.0 * octaves)).start.scale == 1.0


@pytest.mark.parametrize(("gain", "climbs"), [(4.99, 0), (5.01, 12)])
def test_who_is_far_ahead_at_the_first_look_need_not_go_on(gain, climbs):
    """200 rows, 0.025 for each: the end would say otherwise, and is not asked."""
    sent = known(soon=lambda octaves: gain * octaves, end=lambda octaves: -octaves)
    assert climb(sent).start.scale == 2.0**climbs


def test_of_few_rows_no_less_is_asked_at_the_first_look_than_at_the_end():
    sent = known(n=20, soon=lambda octaves: 1.9 * octaves, end=lambda octaves: -octaves)
    assert climb(sent).start.scale == 1.0


def test_who_is_behind_at_the_first_look_may_be_ahead_at_the_end():
    sent = known(soon=lambda octaves: -50.0 * octaves, end=lambda octaves: 3.0 * octaves)
    assert climb(sent).start.scale == 4096.0


@pytest.mark.parametrize("more", [3, 11])
def test_where_time_is_over_before_the_end_the_first_look_decides_between_choices(
    monkeypatch, more
):
    """With eleven more sweeps the first of the two gets to its end, the second does not."""
    sent = in_a_hurry(16 + more, monkeypatch, M=8)
    one, other = sent.send(1.0), sent.send(2.0)
    soon = [one.soon, other.soon]
    assert last_look([one, other]) == soon
    assert len(one.values) + len(other.values) == 16 + more


@pytest.mark.parametrize("more", [3, 11])
def test_and_decides_on_a_faster_scale_only_where_that_is_far_ahead(monkeypatch, more):
    sent = in_a_hurry(16 + more, monkeypatch)
    slower, faster = sent.send(1.0), sent.send(2.0)
    slower.values[:], faster.values[:] = [0.0] * 8, [4.9] * 8
    assert not sent.higher(faster, slower)
    faster.values[:8] = [5.1] * 8
    assert sent.higher(faster, slower)


def test_a_height_that_is_no_number_is_none(monkeypatch):
    sent = pilots(lambda X: X[:, 0])
    monkeypatch.setattr(Pilot, "soon", np.nan)
    assert sent.send(1.0) is None


@pytest.mark.parametrize(("gain", "climbs"), [(9.9, 0), (10.1, 12)])
def test_rows_that_stand_for_two_count_twice(gain, climbs):
    sent = known(soon=lambda octaves: gain * octaves, end=lambda octaves: -octaves)
    assert climb(replace(sent, weight=np.full(200, 2.0))).start.scale == 2.0**climbs


def test_with_time_the_last_look_is_at_the_end():
    sent = known(soon=lambda octaves: 7.0, end=lambda octaves: octaves)
    assert last_look([sent.send(1.0), sent.send(4.0)]) == [0.0, 2.0]

"""Random streams are addressed, not shared."""

import itertools

import numpy as np
import pytest
from scipy.stats import kstest

from banklearn.numerics.streams import Purpose, Streams
from helpers import FALSE_ALARM

ADDRESSES = [
    (seed, chain, purpose, sweep, block)
    for seed, chain, purpose, sweep, block in itertools.product(
        (0, 1, 2**31 - 2), (0, 1), (Purpose.START, Purpose.ACCEPT), (0, 1, 500), (0, 1)
    )
]


def numbers(address, n=8):
    seed, chain, purpose, sweep, block = address
    return Streams(seed, chain).at(purpose, sweep, block).random(n)


def test_the_same_address_gives_the_same_numbers_in_any_order():
    first = {a: numbers(a) for a in ADDRESSES}
    for address in reversed(ADDRESSES):
        np.testing.assert_array_equal(numbers(address), first[address])


def test_reading_one_stream_does_not_move_another():
    streams = Streams(3)
    a, b = streams.at(Purpose.ACCEPT, 1), streams.at(Purpose.ACCEPT, 2)
    a.random(1000)
    np.testing.assert_array_equal(b.random(5), Streams(3).at(Purpose.ACCEPT, 2).random(5))


def test_different_addresses_give_different_numbers():
    seen = np.concatenate([numbers(a) for a in ADDRESSES])
    assert len(np.unique(seen)) == len(seen)


def test_purposes_have_different_numbers():
    assert len({int(p) for p in Purpose}) == len(Purpose)
    firsts = [Streams(0).at(p).random() for p in Purpose]
    assert len(set(firsts)) == len(Purpose)


def test_neighbouring_streams_do_not_overlap():
    # A million numbers of one block do not run into the next address of any kind.
    long = Streams(5).at(Purpose.ACCEPT, 7, 1).random(1_000_000)
    for sweep, block in ((7, 2), (8, 1), (7, 0), (6, 1)):
        start = Streams(5).at(Purpose.ACCEPT, sweep, block).random(4)
        assert not np.isin(start, long).any()


def test_first_numbers_over_addresses_are_uniform():
    firsts = [Streams(9).at(Purpose.PROPOSALS, sweep).random() for sweep in range(4000)]
    assert kstest(firsts, "uniform").pvalue > FALSE_ALARM
    pairs = np.corrcoef(firsts[:-1], firsts[1:])[0, 1]
    assert abs(pairs) < 0.08


@pytest.mark.parametrize("chain", [0, 3])
def test_streams_are_values(chain):
    assert Streams(1, chain) == Streams(1, chain)

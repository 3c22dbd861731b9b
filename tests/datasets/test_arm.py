"""The made-up arm is an arm."""

import numpy as np
import pytest

from banklearn.datasets import make_arm
from banklearn.datasets.arm import TARGET, hand


def test_a_straight_arm_is_one_long_and_points_where_it_is_turned():
    straight = np.zeros((3, 8))
    straight[1, 0], straight[2, 0] = 0.5 * np.pi, np.pi
    np.testing.assert_allclose(hand(straight), [[1, 0], [0, 1], [-1, 0]], atol=1e-12)


def test_an_angle_turns_the_links_that_follow_alone():
    bent = np.zeros((1, 4))
    bent[0, 2] = 0.5 * np.pi  # two links ahead, two upwards
    np.testing.assert_allclose(hand(bent), [[0.5, 0.5]], atol=1e-12)


def test_the_distance_is_what_the_angles_say_and_the_noise_is_added(seed):
    made = make_arm(20_000, noise=0.05, random_state=seed)
    assert made.X.shape == (20_000, 8)
    assert np.abs(made.X).max() <= 0.5 * np.pi
    np.testing.assert_allclose(made.f, np.hypot(*(hand(made.X) - TARGET).T))
    assert made.f.max() <= 1.0 + np.hypot(*TARGET)
    residual = made.y - made.f
    assert abs(residual.std() / 0.05 - 1.0) < 0.05
    assert abs(np.corrcoef(residual, made.f)[0, 1]) < 0.05


def test_the_same_seed_gives_the_same_arm(seed):
    first, second = (make_arm(50, random_state=seed) for _ in range(2))
    np.testing.assert_array_equal(first.y, second.y)
    assert not np.array_equal(first.y, make_arm(50, random_state=seed + 1).y)


def test_an_arm_without_links_is_refused():
    with pytest.raises(ValueError, match="n_links = 0"):
        make_arm(5, n_links=0)

"""Random streams addressed by what they are for, so that nothing has to be saved or shared.

A stream is a counter-based Philox generator whose key is (seed, chain) and whose counter starts
at (sweep, purpose, block). The same address gives the same numbers on every engine, in any
order, before and after a restart; different addresses never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is used for; part of its address."""

    START = 0
    ASSIGNMENTS = 1
    COMPONENTS = 2
    CONCENTRATION = 3
    SCALES = 4
    PROPOSALS = 5
    ACCEPT = 6
    PRECISION = 7
    WEIGHTS = 8
    AUGMENTATION = 9
    GRADIENT = 10
    SUBSAMPLE = 11
    PREDICT = 12
    INTERWEAVE = 13
    RESCALE = 14


@dataclass(frozen=True)
class Streams:
    """The random streams of one chain."""

    seed: int
    chain: int = 0

    def at(self, purpose: Purpose, sweep: int = 0, block: int = 0) -> np.random.Generator:
        """The generator for one purpose, sweep and row block."""
        return np.random.Generator(
            np.random.Philox(
                key=np.array([self.seed, self.chain], dtype=np.uint64),
                counter=np.array([0, block, purpose, sweep], dtype=np.uint64),
            )
        )

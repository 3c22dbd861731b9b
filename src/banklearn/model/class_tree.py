"""How C classes are told apart by C - 1 decisions between two: a binary tree of them.

Classes stand in an order, 0..C-1. A node is a range of it, cut in two,

    (first, middle, last):  is the row in first..middle-1, or in middle..last-1?

and asks this of the rows whose class lies in its range. Node t says yes with probability
sigmoid(f_t(x)), so that

    P(class c | x) = product over the nodes above c of sigmoid(f_t(x)) or 1 - sigmoid(f_t(x)).

A stick (Linderman, Johnson and Adams, 2015) is the tree that takes classes off one by one. One
class against the rest is an easy question, but the last class comes after C - 1 of them; a class
with few rows is drawn towards one half by the prior in each, and less is left of it every time.
:func:`grow` therefore takes off one by one only classes that have many rows. Those with few are
told from them by one decision and from each other by halves, log2 of their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

Array = NDArray[np.float64]

#: A class is rare with less than this part of the rows that a class has on average.
RARE = 0.1
#: Weights are sums that may have been rounded by this much, relatively.
ROUNDING = 1e-9


class Node(NamedTuple):
    """A decision: first..middle-1, or middle..last-1."""

    first: int
    middle: int
    last: int


@dataclass(frozen=True)
class ClassTree:
    """All decisions, a node before those of its first part, and these before its second part's."""

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        ranges = [(0, self.n_classes)]
        for node in self.nodes:
            if not ranges or ranges.pop() != (node.first, node.last):
                raise ValueError(f"{tuple(node)} is not the next range of a tree of classes.")
            if not node.first < node.middle < node.last:
                raise ValueError(f"{tuple(node)} does not cut a range in two.")
            ranges += _parts(node)

    @classmethod
    def of(cls, ranges: ArrayLike) -> ClassTree:
        """From whole numbers (C - 1, 3); ValueError where they are no tree."""
        rows = np.asarray(ranges)
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind != "i":
            raise ValueError("a tree of classes is a table of whole numbers with three columns.")
        return cls(tuple(Node(*row) for row in rows.tolist()))

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.nodes) + 1

    @property
    def ranges(self) -> NDArray[np.int64]:
        """The nodes as whole numbers (C - 1, 3)."""
        return np.array(self.nodes, dtype=np.int64).reshape(len(self.nodes), 3)

    @property
    def is_stick(self) -> bool:
        """Whether classes are taken off one by one."""
        return self == stick(self.n_classes)


def _parts(node: Node) -> Iterable[tuple[int, int]]:
    """The parts of a node that are nodes themselves, last first, as a stack wants them."""
    both = ((node.middle, node.last), (node.first, node.middle))
    return [(first, last) for first, last in both if last - first > 1]


def stick(n_classes: int) -> ClassTree:
    """Class 0 against the rest, class 1 against the rest of those, and so on."""
    return ClassTree(tuple(Node(t, t + 1, n_classes) for t in range(n_classes - 1)))


def grow(mass: Array) -> ClassTree:
    """A stick of frequent classes and, where several are rare, halves of these beside it.

    mass (C,) is the weight of the rows of each class, in falling order. A class with more than half
    of all rows still comes before everything else: the other nodes then see few rows. Two or three
    classes are on a stick in any case.
    """
    C, average = len(mass), mass.mean()
    frequent = int((mass >= (1.0 - ROUNDING) * RARE * average).sum())
    if C - frequent < 2:
        return stick(C)
    first = int(mass[0] > (0.5 + ROUNDING) * C * average)
    nodes = [Node(0, 1, C)] if first else []
    if first < frequent:
        nodes.append(Node(first, frequent, C))
        nodes += [Node(t, t + 1, frequent) for t in range(first, frequent - 1)]
    ranges = [(frequent, C)]
    while ranges:
        begin, end = ranges.pop()
        nodes.append(Node(begin, (begin + end) // 2, end))
        ranges += _parts(nodes[-1])
    return ClassTree(tuple(nodes))


def class_probabilities(tree: ClassTree, f: Array) -> Array:
    """P(class | x), (..., C, n) in the order of the tree, from latent values f (..., C - 1, n)."""
    p = np.empty((*f.shape[:-2], tree.n_classes, f.shape[-1]))
    p[..., 0, :] = 1.0
    # What a range has stands at its first class until the range is cut.
    for t, (first, middle, _) in enumerate(tree.nodes):
        p[..., middle, :] = p[..., first, :] * expit(-f[..., t, :])
        p[..., first, :] *= expit(f[..., t, :])
    return p

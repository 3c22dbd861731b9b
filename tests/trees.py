"""Small problems with classes in a tree, and their densities written out plainly."""

from dataclasses import dataclass, fields

import numpy as np

import labels
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.class_tree import ClassTree, Node, stick
from labels import Labelled, make_labelled

#: Five classes in halves, and with a first one that has most rows: neither is a stick.
HALVES = ClassTree((Node(0, 2, 5), Node(0, 1, 2), Node(2, 3, 5), Node(3, 4, 5)))
ONE_ALONE = ClassTree((Node(0, 1, 5), Node(1, 3, 5), Node(1, 2, 3), Node(3, 4, 5)))


@dataclass(frozen=True)
class Treed(Labelled):
    """The same with a tree of five classes."""

    tree: ClassTree = HALVES

    @property
    def logistic(self) -> Logistic:
        return Logistic(self.tree)

    def tasks(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, labels in {0, 1} and weights of each task."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        out = []
        for first, middle, last in self.tree.nodes:
            rows = np.array([i for i, y in enumerate(self.y) if y in range(first, last)], dtype=int)
            asked = [float(self.y[i] in range(first, middle)) for i in rows]
            out.append((rows, np.array(asked), weight[rows]))
        return out


def rare_classes(score: np.ndarray) -> np.ndarray:
    """Five classes by rank, two with nearly all rows and three with a few: their tree is HALVES."""
    n, rank = len(score), score.argsort().argsort()
    few = max(n // 80, 1)
    return np.digitize(rank, [few, 2 * few, n // 2, n - few])


def log_path(tree: ClassTree, f: np.ndarray) -> np.ndarray:
    """Log class probabilities (C, n): class by class, all nodes above it one after another."""
    out = np.zeros((tree.n_classes, f.shape[1]))
    for c in range(tree.n_classes):
        for t, (first, middle, last) in enumerate(tree.nodes):
            if c in range(first, middle):
                out[c] -= np.logaddexp(0.0, -f[t])
            elif c in range(middle, last):
                out[c] -= np.logaddexp(0.0, f[t])
    return out


def draw_labels(tree: ClassTree, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels from the class probabilities."""
    shares = np.cumsum(np.exp(log_path(tree, f)), axis=0)[:-1]
    return (rng.random(f.shape[1]) > shares).sum(axis=0).astype(float)


def make_classes(seed: int, C: int = 2, **options) -> Labelled:
    """make_labelled, but five classes are in a tree, one or the other in turn."""
    drawn = make_labelled(seed, C=C, **options)
    if C < 5:
        return drawn
    tree = (HALVES, ONE_ALONE)[seed % 2]
    y = draw_labels(tree, drawn.beta @ drawn.features().T, np.random.default_rng([seed, 1]))
    values = {field.name: getattr(drawn, field.name) for field in fields(Labelled)}
    return Treed(**values | {"y": y}, tree=tree)


def log_likelihood(problem: Labelled, beta=None, W=None) -> float:
    """log p(labels | W, beta) from the class probabilities along tree or stick."""
    beta = problem.beta if beta is None else beta
    tree = problem.tree if isinstance(problem, Treed) else stick(problem.C)
    log_p = log_path(tree, beta @ problem.features(W).T)[
        problem.y.astype(int), range(len(problem.y))
    ]
    return float(log_p.sum() if problem.weight is None else problem.weight @ log_p)


def see_trees(monkeypatch) -> None:
    """What is built on the likelihood of a problem (rescaling, say) sees its tree."""
    monkeypatch.setattr(labels, "log_likelihood", log_likelihood)

"""The paper's rivals as scikit-learn estimators.

Every rival is a linear model on weighted random Fourier features
phi(x) = M^{-1/2} [a_j cos(W_j'x), a_j sin(W_j'x)]_j; they differ in how W and a are chosen.
"""

from .mkl import MKLClassifier, MKLRegressor
from .rks import RKSClassifier, RKSRegressor
from .search import RBFEvidence, rbf_evidence_search

__all__ = [
    "MKLClassifier",
    "MKLRegressor",
    "RBFEvidence",
    "RKSClassifier",
    "RKSRegressor",
    "rbf_evidence_search",
]

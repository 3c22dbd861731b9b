"""The paper's rivals as scikit-learn estimators.

Every rival is a linear model on weighted random Fourier features
phi(x) = M^{-1/2} [a_j cos(W_j'x), a_j sin(W_j'x)]_j; they differ in how W and a are chosen.
"""

from .alacarte import AlaCarteRegressor
from .mkl import MKLClassifier, MKLRegressor
from .rfo import RFOClassifier
from .rks import RKSClassifier, RKSRegressor
from .search import RBFEvidence, rbf_evidence_search

__all__ = [
    "AlaCarteRegressor",
    "MKLClassifier",
    "MKLRegressor",
    "RBFEvidence",
    "RFOClassifier",
    "RKSClassifier",
    "RKSRegressor",
    "rbf_evidence_search",
]

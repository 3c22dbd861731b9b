"""Plots as scikit-learn style Display classes; matplotlib is imported when one is drawn.

Every class has ``from_estimator``, which computes and draws, and a constructor that takes plain
arrays, so that a saved summary can be drawn again. After ``plot`` the attributes ``ax_`` and
``figure_`` hold what was drawn on.
"""

from banklearn.viz.kernel import KernelDisplay
from banklearn.viz.prediction import PredictionIntervalDisplay
from banklearn.viz.reliability import ReliabilityDisplay
from banklearn.viz.spectrum import SpectralDensityDisplay
from banklearn.viz.surface import DecisionSurfaceDisplay
from banklearn.viz.trace import TraceDisplay

__all__ = [
    "DecisionSurfaceDisplay",
    "KernelDisplay",
    "PredictionIntervalDisplay",
    "ReliabilityDisplay",
    "SpectralDensityDisplay",
    "TraceDisplay",
]

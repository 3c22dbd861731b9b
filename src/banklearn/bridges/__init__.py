"""Ways to other people's tools: ArviZ, GPyTorch, ONNX, plain NumPy.

The other tools are optional; each function imports what it needs when it is called.
"""

from banklearn.bridges.arviz import to_arviz
from banklearn.bridges.gpytorch import to_gpytorch
from banklearn.bridges.numpy_module import write_numpy_module
from banklearn.bridges.onnx import to_onnx
from banklearn.bridges.point import PointModel, point_model

__all__ = [
    "PointModel",
    "point_model",
    "to_arviz",
    "to_gpytorch",
    "to_onnx",
    "write_numpy_module",
]

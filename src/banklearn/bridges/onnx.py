"""A model as an ONNX graph: elementary operations in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.bridges.needed import needed
from banklearn.bridges.point import Array, PointModel, point_model
from banklearn.model.class_tree import ClassTree
from banklearn.posterior.scaling import FAR

#: Operators of this version are known to every runtime of recent years.
OPSET = 17
#: Squares of numbers up to this size are numbers.
HUGE = 1e150
_LARGEST = float(np.finfo(np.float64).max)


class Graph:
    """Nodes and constants, added one after another; each call names what it made."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """A constant tensor."""
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(values, dtype=dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def __call__(
        self, operator: str, *inputs: str, output: str | None = None, **options: Any
    ) -> str:
        """An operation."""
        from onnx import helper

        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **options))
        return name


def to_onnx(estimator: Any, max_draws: int | None = None) -> Any:
    """An ONNX model (``onnx.ModelProto``) with the predictions of a fitted estimator.

    Input ``X`` (n, d), double; output ``y`` (n,), the mean, or ``probabilities`` (n, C) in the
    order of ``classes_`` (which are in the model's metadata). max_draws as in
    :func:`point_model`; a runtime holds all waves of a call in memory, 8 bytes for each draw,
    row and frequency.
    """
    import json

    with needed("onnx", "to_onnx"):
        from onnx import TensorProto, checker, helper

    point = point_model(estimator, max_draws)
    g = Graph()
    f = _latent(g, point)
    if point.tree is None:
        mean = g("ReduceMean", f, axes=[0], keepdims=0)
        if point.target is not None:
            mean = g("Mul", mean, g.constant(point.target.scale))
            mean = _cut(g, g("Add", mean, g.constant(point.target.shift)), _LARGEST)
        g("Squeeze", mean, g.constant([1], np.int64), output="y")
        out = helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n"])
    else:
        _probabilities(g, f, point, point.tree)
        out = helper.make_tensor_value_info(
            "probabilities", TensorProto.DOUBLE, ["n", len(point.classes)]
        )
    X = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", len(point.scaling.used)])
    graph = helper.make_graph(g.nodes, "banklearn", [X], [out], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8  # that of opset 17; newer numbers are refused by older runtimes
    if point.classes is not None:
        labels = json.dumps([str(label) for label in point.classes])
        helper.set_model_props(model, {"classes": labels})
    checker.check_model(model)
    return model


def _latent(g: Graph, point: PointModel) -> str:
    """f of every draw, (S, n, q)."""
    scaling = point.scaling
    v = g("Gather", "X", g.constant(np.flatnonzero(scaling.used), np.int64), axis=1)
    if not scaling.linear:
        v = g("Div", g("Sub", v, g.constant(scaling.centre)), g.constant(scaling.spread))
        v = _cut(g, v, _LARGEST)
        v = _arcsinh(g, v) if scaling.scores is None else _scores(g, v, *scaling.scores)
    v = g("Div", g("Sub", v, g.constant(scaling.shift)), g.constant(scaling.scale))
    v = _cut(g, v, FAR)
    v = g("Unsqueeze", v, g.constant([0], np.int64))
    angle = g("MatMul", v, g.constant(point.W.transpose(0, 2, 1)))
    f = g("Add", g("MatMul", v, g.constant(point.linear)), g.constant(point.offset[:, None, :]))
    # Cos too is in single precision: cos(a) = 1 - 2 sin(a/2)^2, as half of any number is exact.
    half = g("Sin", g("Mul", angle, g.constant(0.5)))
    cos = g("Sub", g.constant(1.0), g("Mul", g("Mul", half, half), g.constant(2.0)))
    f = g("Add", f, g("MatMul", cos, g.constant(point.cosine)))
    return g("Add", f, g("MatMul", g("Sin", angle), g.constant(point.sine)))


def _cut(g: Graph, x: str, size: float) -> str:
    """Numbers further from zero than size are taken to be that far."""
    return g("Min", g("Max", x, g.constant(-size)), g.constant(size))


def _arcsinh(g: Graph, z: str) -> str:
    """sign(z) log(|z| + sqrt(z^2 + 1)): runtimes have Asinh in single precision only.

    Beyond HUGE, whose square is still a number, the logarithm is that at HUGE plus log(|z| / HUGE).
    """
    size = g("Abs", z)
    inside = g("Min", size, g.constant(HUGE))
    root = g("Sqrt", g("Add", g("Mul", inside, inside), g.constant(1.0)))
    beyond = g("Max", g("Div", size, g.constant(HUGE)), g.constant(1.0))
    value = g("Add", g("Log", g("Add", inside, root)), g("Log", beyond))
    return g("Mul", g("Sign", z), value)


def _scores(g: Graph, u: str, knots: Array, heights: Array) -> str:
    """Piecewise linear maps (n, d): each gap adds its rise times the share of it that lies below.

    All terms are at least zero and at most the rise, so nothing cancels; beyond the outer knots a
    map goes on with its mean slope. Halves of all values: differences of extreme ones overflow.
    """
    u, knots = g("Mul", u, g.constant(0.5)), 0.5 * knots
    gap, rise = np.diff(knots, axis=0), np.diff(heights, axis=0)
    gap, rise = np.where(gap > 0, gap, 1.0), np.where(gap > 0, rise, 0.0)
    each = g("Unsqueeze", u, g.constant([2], np.int64))
    share = g("Div", g("Sub", each, g.constant(knots[:-1].T)), g.constant(gap.T))
    share = g("Min", g("Max", share, g.constant(0.0)), g.constant(1.0))
    parts = g("Mul", share, g.constant(rise.T))
    inside = g("ReduceSum", parts, g.constant([2], np.int64), keepdims=0)
    below = g("Min", g("Sub", u, g.constant(knots[0])), g.constant(0.0))
    above = g("Max", g("Sub", u, g.constant(knots[-1])), g.constant(0.0))
    width = knots[-1] - knots[0]
    beyond = g("Div", g("Add", below, above), g.constant(np.where(width > 0, width, 1.0)))
    beyond = g("Mul", beyond, g.constant(heights[-1] - heights[0]))
    return g("Add", g("Add", inside, g.constant(heights[0])), beyond)


def _probabilities(g: Graph, f: str, point: PointModel, tree: ClassTree) -> None:
    """log p_c: the sum of log s(f_t) or log s(-f_t) over nodes t above c, with s the logistic."""
    T = len(tree.nodes)
    f = g("Reshape", f, g.constant([len(point.W), -1, point.offset.shape[1] // T, T], np.int64))
    up = g("Neg", _softplus(g, g("Neg", f)))
    down = g("Neg", _softplus(g, f))
    first, second = np.zeros((2, T, T + 1))
    for t, node in enumerate(tree.nodes):
        first[t, node.first : node.middle] = 1.0
        second[t, node.middle : node.last] = 1.0
    log_p = g("Add", g("MatMul", up, g.constant(first)), g("MatMul", down, g.constant(second)))
    p = g("ReduceMean", g("Exp", log_p), axes=[0, 2], keepdims=0)
    g("Gather", p, g.constant(point.order, np.int64), axis=1, output="probabilities")


def _softplus(g: Graph, x: str) -> str:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), without overflow."""
    tail = g("Log", g("Add", g("Exp", g("Neg", g("Abs", x))), g.constant(1.0)))
    return g("Add", g("Max", x, g.constant(0.0)), tail)

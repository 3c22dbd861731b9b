"""A model as an ONNX graph: elementary operations in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.bridges.point import Array, PointModel, point_model
from banklearn.model.class_tree import ClassTree

#: Operators of this version are known to every runtime of recent years.
OPSET = 17


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

    from onnx import TensorProto, checker, helper

    point = point_model(estimator, max_draws)
    g = Graph()
    f = _latent(g, point)
    if point.tree is None:
        g(
            "Squeeze",
            g("ReduceMean", f, axes=[0], keepdims=0),
            g.constant([1], np.int64),
            output="y",
        )
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
    z = v
    if not scaling.linear:
        z = g("Div", g("Sub", v, g.constant(scaling.centre)), g.constant(scaling.spread))
    if scaling.kind == "arcsinh":
        # Runtimes have Asinh in single precision only: sign(z) log(|z| + sqrt(z^2 + 1)).
        size = g("Abs", z)
        root = g("Sqrt", g("Add", g("Mul", z, z), g.constant(1.0)))
        v = g("Mul", g("Sign", z), g("Log", g("Add", size, root)))
    if scaling.scores is not None:
        v = _scores(g, z, *scaling.scores)
    v = g("Div", g("Sub", v, g.constant(scaling.shift)), g.constant(scaling.scale))
    v = g("Unsqueeze", v, g.constant([0], np.int64))
    angle = g("MatMul", v, g.constant(point.W.transpose(0, 2, 1)))
    f = g("Add", g("MatMul", v, g.constant(point.linear)), g.constant(point.offset[:, None, :]))
    # The same holds for Cos: cos(a) = sin(a + pi/2).
    cos = g("Sin", g("Add", angle, g.constant(np.pi / 2)))
    f = g("Add", f, g("MatMul", cos, g.constant(point.cosine)))
    return g("Add", f, g("MatMul", g("Sin", angle), g.constant(point.sine)))


def _scores(g: Graph, u: str, knots: Array, heights: Array) -> str:
    """Piecewise linear maps (n, d): each gap adds its rise times the share of it that lies below.

    All terms are at least zero and at most the rise, so nothing cancels; beyond the outer knots a
    map goes on with its mean slope.
    """
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
    slope = (heights[-1] - heights[0]) / np.where(width > 0, width, 1.0)
    beyond = g("Mul", g("Add", below, above), g.constant(slope))
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

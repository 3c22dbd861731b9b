"""What crosses over to another tool keeps its values."""

import ast
import importlib.util
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest

from banklearn import BankClassifier
from banklearn.bridges import point_model, to_arviz, to_gpytorch, to_onnx, write_numpy_module
from fitted import one_input, small, three_inputs, two_classes
from trees import HALVES, rare_classes


@cache
def three_classes():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 3)) * [1.0, 5.0, 0.0]
    y = np.array(["b", "a", "c"])[np.digitize(X[:, 0], [-0.4, 0.6])]
    return BankClassifier(8, n_warmup=8, n_draws=4, thin=1, random_state=0).fit(X, y), X


@cache
def five_classes():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 3))
    y = np.array(["b", "a", "e", "c", "d"])[rare_classes(X[:, 0])]
    model = BankClassifier(8, n_warmup=8, n_draws=4, thin=1, random_state=0).fit(X, y)
    assert model.tree_ == HALVES
    return model, X


MODELS = {
    "one input": lambda: (one_input().model, one_input().X_test),
    "standard": lambda: (three_inputs().model, three_inputs().X_test),
    "arcsinh": lambda: (three_inputs("arcsinh").model, three_inputs("arcsinh").X_test),
    "quantile": lambda: (three_inputs("quantile").model, 2.0 * three_inputs("quantile").X_test),
    "two classes": lambda: (two_classes().model, two_classes().X_test),
    "three classes": three_classes,
    "five classes": five_classes,
}


def expected(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_point_model_predicts_the_same(name):
    model, X = MODELS[name]()
    np.testing.assert_allclose(point_model(model)(X), expected(model, X), rtol=1e-9, atol=1e-12)
    few = point_model(model, max_draws=2)
    assert len(few.W) == 2
    assert few(X).shape == expected(model, X).shape
    with pytest.raises(ValueError, match="max_draws must be at least 1"):
        point_model(model, max_draws=0)


@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
def test_every_trend_is_kept(trend):
    fitted = three_inputs()
    model = type(fitted.model)(
        8, trend=trend, n_warmup=3, n_draws=2, n_chains=1, random_state=0
    ).fit(fitted.X_test, fitted.y_test)
    np.testing.assert_allclose(
        point_model(model)(fitted.X_test), model.predict(fitted.X_test), rtol=1e-9
    )


ALONE = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import pandas as pd
import served
X = np.load({rows!r})
out = served.predict_proba(X) if {proba} else served.predict(X)
np.save({out!r}, out)
loaded = {{name.split(".")[0] for name in sys.modules}}
assert not loaded & {{"banklearn", "sklearn", "scipy", "numba"}}, loaded
"""


@pytest.mark.parametrize("name", ["arcsinh", "quantile", "five classes"])
def test_the_numpy_module_runs_alone(name, tmp_path):
    model, X = MODELS[name]()
    write_numpy_module(model, tmp_path / "served.py")
    np.save(tmp_path / "rows.npy", X)
    code = ALONE.format(
        folder=str(tmp_path),
        rows=str(tmp_path / "rows.npy"),
        out=str(tmp_path / "out.npy"),
        proba=hasattr(model, "classes_"),
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    out = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(out, expected(model, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["a\\users\\new", "end\\", 'say """', "two\nlines", "{x} 'y'"])
def test_any_name_of_a_column_can_stand_in_the_module(name, tmp_path):
    X = pd.DataFrame({"first": np.linspace(0, 1, 30), name: np.linspace(2, 1, 30) ** 2})
    model = small(n_warmup=2, n_draws=1, n_chains=1).fit(X, np.arange(30.0))
    path, _ = write_numpy_module(model, tmp_path / "served.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = next(f for f in tree.body if getattr(f, "name", "") == "_each_draw")
    assert name.replace('"', "'") in ast.get_docstring(told, clean=False)


def test_a_name_that_cannot_be_imported_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be imported"):
        write_numpy_module(one_input().model, tmp_path / "my model.py")


def in_onnx(model, **options):
    """A model as ONNX Runtime computes it: a function of rows."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(to_onnx(model, **options).SerializeToString())
    return lambda X: session.run(None, {"X": np.asarray(X, dtype=np.float64)})[0]


def test_onnx_keeps_every_draw_unless_told_otherwise():
    X = np.linspace(0, 1, 40)[:, None]
    model = small(n_warmup=4, n_draws=20, thin=1, n_chains=1).fit(X, np.sin(7 * X[:, 0]))
    assert len(model.draws_) == 20
    for options, same in (({}, True), ({"max_draws": 16}, False)):
        out = in_onnx(model, **options)(X)
        assert np.allclose(out, model.predict(X), rtol=1e-9, atol=1e-12) == same


@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name):
    model, X = MODELS[name]()
    np.testing.assert_allclose(in_onnx(model)(X), expected(model, X), rtol=1e-9, atol=1e-12)


def served_from(model, folder):
    """The NumPy module of a model."""
    path, _ = write_numpy_module(model, folder / "served.py")
    spec = importlib.util.spec_from_file_location("served", path)
    served = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(served)
    return served


def test_weights_that_were_sampled_and_labels_of_any_kind(tmp_path):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 2))
    y = np.array(["no", "yes"], dtype=object)[(X[:, 0] > 0).astype(int)]
    settings = {"n_warmup": 4, "n_draws": 3, "thin": 1, "n_chains": 1, "random_state": 0}
    model = BankClassifier(6, inference="laplace-mh", **settings).fit(X, y)
    assert not any(draw.root.any() for draw in model.draws_)
    wanted = model.predict_proba(X)
    np.testing.assert_allclose(point_model(model)(X), wanted, rtol=1e-9, atol=1e-12)
    served = served_from(model, tmp_path)
    np.testing.assert_allclose(served.predict_proba(X), wanted, rtol=1e-9, atol=1e-12)
    assert served.predict(X).tolist() == model.predict(X).tolist()


def assert_the_same_far_out(model, X, predict):
    # Without a trend, and inputs not bent, a phase of 1e15 has lost its digits: any value will do.
    told_apart = model.input_scaling_.kind == "arcsinh" or model.trend_ == "linear"
    for size in (1e3, 1e6, 1e9, 1e12, 1e20, 1e99, 1e155, 1e250, 1.7e308):
        far = np.asarray(X, dtype=np.float64)[:8] / np.abs(X[:8]).max() * size
        out, wanted = predict(far), expected(model, far)
        assert np.isfinite(out).all()
        if told_apart or size <= 1e12:
            np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
        elif not hasattr(model, "classes_"):
            assert np.abs(out).max() < 10.0 * np.abs(expected(model, X)).max()


@pytest.mark.parametrize("name", MODELS)
def test_exports_in_numpy_keep_rows_of_any_size(name, tmp_path):
    model, X = MODELS[name]()
    served = served_from(model, tmp_path)
    assert_the_same_far_out(model, X, getattr(served, "predict_proba", served.predict))
    assert_the_same_far_out(model, X, point_model(model))


@pytest.mark.parametrize("name", MODELS)
def test_onnx_keeps_rows_of_any_size(name):
    model, X = MODELS[name]()
    assert_the_same_far_out(model, X, in_onnx(model))


def test_exports_keep_targets_of_any_size(tmp_path):
    X = np.linspace(-1, 1, 40)[:, None] * [1.0, -1.0]
    y = 9e306 * np.tanh(X[:, 0])
    model = small(trend="linear", input_scaling="standard").fit(X, y)
    far = np.concatenate([X, 1e300 * X, [[1.7e308, 1.7e308]]])
    wanted = model.predict(far)
    served = served_from(model, tmp_path)
    outs = [point_model(model)(far), served.predict(far)]
    if importlib.util.find_spec("onnxruntime"):
        outs.append(in_onnx(model)(far))
    for out in outs:
        np.testing.assert_allclose(out[:-1], wanted[:-1], rtol=1e-9, atol=1e297)
        assert np.isfinite(out).all()


def rows(model, n=40):
    rng = np.random.default_rng(7)
    X = np.zeros((n, len(model.input_scaling_.used)))
    X[:, model.input_scaling_.used] = rng.standard_normal((n, model.input_scaling_.used.sum()))
    return 3.0 * X


@pytest.mark.parametrize("name", ["one input", "standard"])
@pytest.mark.parametrize("draw", [None, 3])
def test_the_gpytorch_kernel_has_our_values(name, draw):
    pytest.importorskip("gpytorch", reason="gpytorch is not installed")
    import torch
    from gpytorch.kernels import SpectralMixtureKernel

    model, _ = MODELS[name]()
    ours = model.kernel_
    A, B = rows(model), rows(model)[::-1][:17].copy()
    lags = (A[:, None] - B[None]).reshape(-1, A.shape[1])
    curves = ours.curves(lags)
    values = curves.mean(axis=0) if draw is None else curves[draw]
    theirs = to_gpytorch(ours, draw)
    assert isinstance(theirs, SpectralMixtureKernel) == (name == "one input")
    K = theirs(torch.as_tensor(A), torch.as_tensor(B)).to_dense().detach().numpy()
    np.testing.assert_allclose(K, values.reshape(K.shape), atol=1e-6)
    diagonal = theirs(torch.as_tensor(A), diag=True).detach().numpy()
    np.testing.assert_allclose(diagonal, 1.0, atol=1e-6)


@pytest.mark.parametrize("name", ["one input", "standard"])
def test_the_gpytorch_kernel_can_be_trained_on(name):
    gpytorch = pytest.importorskip("gpytorch", reason="gpytorch is not installed")
    import torch

    model, X = MODELS[name]()
    X = torch.as_tensor(np.asarray(X))
    y = torch.sin(X[:, 0])

    class GP(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(to_gpytorch(model.kernel_, 0))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    gp = GP(likelihood).double()
    gp.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood.double(), gp)
    optimiser = torch.optim.Adam(gp.parameters(), lr=0.02)
    losses = []
    for _ in range(15):
        optimiser.zero_grad()
        loss = -objective(gp(X), y)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


@pytest.mark.skipif(not importlib.util.find_spec("gpytorch"), reason="gpytorch is not installed")
def test_a_kernel_on_transformed_inputs_does_not_go_to_gpytorch():
    with pytest.raises(ValueError, match="transformed inputs"):
        to_gpytorch(three_inputs("arcsinh").model.kernel_)


@pytest.mark.parametrize("name", ["standard", "two classes"])
@pytest.mark.filterwarnings("ignore")  # ArviZ announces its own next version
def test_arviz_summarises_the_draws(name):
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    model, _ = MODELS[name]()
    data = to_arviz(model)
    posterior = data["posterior"]
    assert posterior["kernel"].dims == ("chain", "draw", "input")
    used = np.flatnonzero(model.input_scaling_.used)
    assert posterior["input"].values.tolist() == [f"x{i}" for i in used]
    lam = np.array([[d.lam for d in model.draws_ if d.chain == c] for c in range(model.n_chains)])
    np.testing.assert_array_equal(posterior["lam"].values, lam)
    if name == "standard":
        scale = model.target_scaling_.scale
        noise = scale * np.sqrt(model.draws_[0].noise)
        assert posterior["noise_std"].values[0, 0] == pytest.approx(noise)
    table = arviz.summary(data)
    assert {"alpha", "lam", "components"} <= set(table.index)
    assert "r_hat" in table.columns


@pytest.mark.parametrize("package", ["arviz", "gpytorch", "onnx"])
def test_a_package_that_is_not_there_is_named_with_how_to_get_it(package, monkeypatch):
    """GPyTorch is found missing by PyTorch, which it brings."""
    functions = {"arviz": to_arviz, "gpytorch": to_gpytorch, "onnx": to_onnx}
    for absent in (package, "torch"):
        monkeypatch.setitem(sys.modules, absent, None)
    words = f"to_{package} needs the package .*, which is not installed: pip install {package}"
    with pytest.raises(ImportError, match=words):
        functions[package](None)


def test_what_is_served_knows_its_columns(tmp_path):
    X = pd.DataFrame({"a": np.linspace(0, 1, 30), "b": np.linspace(2, 1, 30) ** 2})
    model = small(n_warmup=2, n_draws=1, n_chains=1).fit(X, np.arange(30.0))
    path, _ = write_numpy_module(model, tmp_path / "named.py")
    spec = importlib.util.spec_from_file_location("named", path)
    served = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(served)
    for predict in (served.predict, point_model(model)):
        np.testing.assert_allclose(predict(X), model.predict(X), rtol=1e-9)
        np.testing.assert_array_equal(predict(X), predict(X.to_numpy()))
        with pytest.raises(ValueError, match=r"X has the columns .*b.*a.*trained on .*a.*b"):
            predict(X[["b", "a"]])
        for rows in (X.to_numpy()[:, :1], X.to_numpy()[0]):
            with pytest.raises(ValueError, match=r"X must have shape \(n, 2\), not"):
                predict(rows)

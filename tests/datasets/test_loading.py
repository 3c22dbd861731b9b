"""Local files, the evaluation folds and the synthetic problem."""

from __future__ import annotations

import numpy as np
import pytest

from banklearn.datasets import NAMES, folds, load, make_synthetic, synthetic_kernel
from banklearn.datasets.loading import data_folder
from banklearn.datasets.names import SPECS
from banklearn.datasets.parquet import write_table
from banklearn.model.features import fourier_features

ABSENT = ("cte", "music", "twitter")  # too large to lie in most folders
SUBSET = ("susy",)  # often kept as a part of the paper's 100 000 rows


def table(**columns):
    return {name: np.asarray(values, dtype=float) for name, values in columns.items()}


def test_other_targets_are_not_features(tmp_path):
    write_table(tmp_path / "prop.parquet", table(a=[1, 2], b=[3, 4], y2=[5, 6], y=[7, 8]))
    data = load("prop", data_home=tmp_path)
    assert data.feature_names == ("a", "b")
    assert data.y.tolist() == [7, 8]
    assert load("prop", data_home=tmp_path, target="y2").y.tolist() == [5, 6]


def test_seven_classes_by_either_name(tmp_path):
    write_table(tmp_path / "space.parquet", table(a=[1, 2, 3], y7=[1, 4, 7], y=[0, 1, 1]))
    for data in (load("space7", tmp_path), load("space", tmp_path, target="y7")):
        assert data.name == "space7"
        assert data.y.tolist() == [1, 4, 7]
        assert data.X.shape == (3, 1)


def test_the_folder_comes_from_the_argument_then_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKLEARN_DATA", str(tmp_path / "variable"))
    assert data_folder() == tmp_path / "variable"
    assert data_folder(tmp_path) == tmp_path
    monkeypatch.delenv("BANKLEARN_DATA")
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    assert data_folder() == tmp_path / "home" / "banklearn"


def test_mistakes_are_explained(tmp_path):
    with pytest.raises(ValueError, match="The names are concrete, noise"):
        load("boston", tmp_path)
    write_table(tmp_path / "space.parquet", table(a=[1, 2], y=[0, 1]))
    with pytest.raises(ValueError, match="has no column 'y7'"):
        load("space7", tmp_path)
    with pytest.raises(ValueError, match="its targets are y, y7"):
        load("space", tmp_path, target="y2")


@pytest.mark.needs_data
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ABSENT])
def test_local_files_have_the_papers_shape(name, data_folder):
    if not (data_folder / f"{name}.parquet").exists():
        pytest.skip(f"{name}.parquet is not in the folder that BANKLEARN_DATA names")
    data = load(name, data_folder, download=False)
    spec = SPECS[name]
    assert data.X.shape[1] == spec.n_features
    assert data.X.shape[0] == data.y.size
    assert name in SUBSET or data.y.size == spec.n_rows
    assert np.isfinite(data.X).all()
    if spec.task == "classification":
        assert np.unique(data.y).tolist() == [0, 1]


def test_folds_follow_the_protocol():
    idx = np.random.default_rng(0).permutation(23)
    cut = folds(23)
    assert len(cut) == 5
    for f, (train, test) in enumerate(cut):
        np.testing.assert_array_equal(test, idx[f::5])
        assert sorted([*train, *test]) == list(range(23))
    with pytest.raises(ValueError, match="k goes from 2 to 3"):
        folds(3, k=4)


def test_the_synthetic_problem_is_the_papers():
    problem = make_synthetic(random_state=0)
    assert problem.X.shape == (1000, 1)
    assert problem.W.shape == (250, 1)
    np.testing.assert_allclose(problem.f, fourier_features(problem.X, problem.W) @ problem.beta)
    assert abs(problem.X.std() - 4.0) < 0.4
    assert abs((problem.y - problem.f).std() - 1.0) < 0.1
    assert problem.kernel(0.0) == 1.0
    again = make_synthetic(random_state=0)
    np.testing.assert_array_equal(problem.y, again.y)


def test_kernel_and_mixture_of_the_synthetic_problem_agree():
    """k(t) = sum_l pi_l exp(-t^2 Sigma_l / 2) cos(mu_l t), and the draws follow it."""
    problem = make_synthetic(5, n_frequencies=40_000, random_state=1)
    t = np.linspace(0.0, 6.0, 25)
    mixture = sum(
        p * np.exp(-0.5 * t**2 * S[0, 0]) * np.cos(m[0] * t)
        for p, m, S in zip(problem.pi, problem.mu, problem.Sigma, strict=True)
    )
    np.testing.assert_allclose(mixture, synthetic_kernel(t), atol=1e-12)
    drawn = np.cos(t[:, None] * problem.W[:, 0]).mean(axis=1)
    np.testing.assert_allclose(drawn, mixture, atol=5.0 / np.sqrt(40_000))

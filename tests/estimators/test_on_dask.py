"""A fit on a Dask cluster (real processes) is the fit in memory, and outlives its workers."""

import os
import signal
import threading
import time
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from banklearn import BankClassifier, BankFeatures, BankRegressor, polish
from banklearn.engines.dask import ClusterError
from banklearn.estimators.blockwise import Preparation, Standardised, summarise_numbers
from banklearn.estimators.on_dask import DaskData
from banklearn.gram import GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.numerics.streams import Streams
from banklearn.posterior.scaling import fit_scaling, target_scaling
from banklearn.sources import SourceError
from blockwise import PARTITIONS, assert_same_fit, fit_in_memory, make_case

pytest.importorskip("distributed", reason="Dask is not installed")


def arrays(case, sizes):
    """X, y and weights as Dask arrays in partitions of the given sizes."""
    import dask.array as da

    values = (case.X, case.y, case.weight)
    return [None if v is None else da.from_array(v, chunks=(sizes, *v.shape[1:])) for v in values]


@pytest.fixture(scope="module", params=["regression", "binary", "three classes", "five classes"])
def fitted(request):
    chains = 2 if request.param == "regression" else 1
    # Without trajectories, which would amplify another order of sums: they have their own test.
    moves = {"interweave_every": 4, "gradient_every": 0}
    case = make_case(request.param, n_draws=1, n_chains=chains, **moves)
    return case, deepcopy(fit_in_memory(case))


@pytest.mark.parametrize("parts", PARTITIONS)
def test_partitions_of_any_size_give_the_same_draws(client, fitted, parts):
    case, reference = fitted
    X, y, weight = arrays(case, PARTITIONS[parts])
    model = clone(case.estimator).fit(X, y, weight, client=client)
    assert_same_fit(case, reference, model, 1e-8)


def test_class_weights_count_in_the_scaling_of_inputs(client):
    options = {"input_scaling": "standard", "class_weight": "balanced"}
    case = make_case("three classes", **options, n_chains=1, n_warmup=0)
    reference = deepcopy(fit_in_memory(case))
    X, y, weight = arrays(case, PARTITIONS[7])
    assert_same_fit(case, reference, clone(case.estimator).fit(X, y, weight), 1e-8)


def test_gradient_moves_and_large_subsets(client, monkeypatch):
    monkeypatch.setattr("banklearn.engines.dask.GATHER_BYTES", 0)
    options = {"n_chains": 1, "n_warmup": 6, "gradient_every": 3, "gradient_length": 1}
    case = make_case("binary", **options)
    reference = deepcopy(fit_in_memory(case))
    X, y, _ = arrays(case, PARTITIONS[7])
    assert_same_fit(case, reference, clone(case.estimator).fit(X, y), 1e-8)


def test_a_dataframe_with_the_names_of_its_columns(client):
    import dask.dataframe as dd

    case = make_case("regression", n_chains=1, n_warmup=0)
    reference = deepcopy(fit_in_memory(case))
    frame = pd.DataFrame(case.X, columns=["a", "b"]).assign(y=case.y, w=case.weight)
    frame = dd.from_pandas(frame, npartitions=3)
    model = clone(case.estimator).fit(frame, target="y", sample_weight="w")
    assert list(model.feature_names_in_) == ["a", "b"]
    assert_same_fit(case, reference, model, 1e-8)


def small(kind=BankRegressor, **options):
    settings = {"n_frequencies": 5, "n_warmup": 3, "n_draws": 2, "n_chains": 1, "random_state": 0}
    return kind(**{**settings, "device": "cpu", **options})


def named_frame(rows=60):
    """A pandas frame with inputs a and b, and a target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((rows, 2)), columns=["a", "b"])
    return frame, np.sin(2 * frame["a"]) + frame["b"]


def test_features_know_the_names_of_a_dask_frame(client):
    import dask.dataframe as dd

    frame, y = named_frame()
    features = BankFeatures(small(trend="linear"), max_draws=1)
    features.fit(dd.from_pandas(frame, npartitions=2), dd.from_pandas(y, npartitions=2))
    assert features.feature_names_in_.tolist() == ["a", "b"]
    assert features.get_feature_names_out()[:2].tolist() == ["trend_a", "trend_b"]
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(frame[["b", "a"]])
    features.fit(frame.to_numpy(), y)
    assert not hasattr(features, "feature_names_in_")


def test_predictions_for_a_dask_frame_look_at_its_names(client):
    import dask.dataframe as dd

    frame, y = named_frame()
    model = small().fit(frame, y)
    features = BankFeatures.from_fitted(model)
    lazy = dd.from_pandas(frame, npartitions=2)
    for method in (model.predict, model.predict_interval, features.transform):
        np.testing.assert_array_equal(method(lazy), method(frame))
        with pytest.raises(ValueError, match="feature names should match"):
            method(lazy[["b", "a"]])
    with pytest.raises(ValueError, match="feature names should match"):
        polish(model, lazy[["b", "a"]], y)
    plain = small().fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(
        plain.predict(lazy.to_dask_array(lengths=True)), plain.predict(frame.to_numpy())
    )


@pytest.mark.parametrize("target", [None, "y"])
def test_columns_of_the_same_name_are_refused(client, target):
    import dask.dataframe as dd

    frame, y = named_frame()
    frame = frame.assign(y=y).set_axis(["a", "a", "y"], axis=1)
    given = None if target else dd.from_pandas(y, npartitions=2)
    with pytest.raises(ValueError, match="several columns of the same name: 'a'"):
        small().fit(dd.from_pandas(frame, npartitions=2), given, target=target)


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_a_missing_label_is_found_by_its_row(client, missing):
    import dask.dataframe as dd

    frame, y = named_frame()
    labels = np.where(y > 0, "up", "down").astype(object)
    labels[40] = missing
    lazy = dd.from_pandas(frame.assign(label=labels), npartitions=2)
    with pytest.raises(SourceError, match=r"Block 1: y has no label in row 10 \(it holds"):
        small(BankClassifier).fit(lazy, target="label")


def test_pieces_are_cut_as_at_the_beginning_whatever_workers_there_are_now(client, monkeypatch):
    import dask.array as da

    rows = np.random.default_rng(0).standard_normal((70_000, 2))
    X, y = da.from_array(rows, chunks=(9000, 2)), da.from_array(rows[:, 0], chunks=9000)
    first, later = (DaskData.collect(X, y, None, None, client) for _ in range(2))
    found = [data.survey(summarise_numbers, 0) for data in (first, later)]
    scaling = fit_scaling(rows, None, "standard")
    prepare = Preparation(Standardised(target_scaling(found[0].target)), scaling=scaling)
    before = first.engine(prepare, found[0], "double")
    half = dict(list(client.nthreads().items())[:1])
    monkeypatch.setattr(client, "nthreads", lambda: half)
    after = later.engine(prepare, found[1], "mixed")
    assert before.starts == after.starts
    assert len(before.pieces) > 1
    statistic = GramSum(np.ones((1, 2)), "none", Gaussian(1.0, 1.0).working(None, Streams(0), 0), 1)
    exact, rounded, again = (engine.sum(statistic).G for engine in (before, after, after.exact()))
    np.testing.assert_array_equal(again, exact)
    np.testing.assert_allclose(rounded, exact, rtol=1e-6)
    assert not np.array_equal(rounded, exact)
    assert after.arithmetic == after.subset(np.arange(5)).arithmetic == "mixed"


@pytest.fixture
def eager_fusion():
    """Dask reads several files as one when few of their columns are wanted, however small."""
    import dask

    with dask.config.set({"dataframe.parquet.minimum-partition-size": 1}):
        yield


def test_files_that_dask_would_read_together_for_one_column(client, eager_fusion, tmp_path):
    import dask.dataframe as dd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((600, 12)), columns=[f"x{i}" for i in range(12)])
    table["y"] = table["x0"] + 0.1 * rng.standard_normal(600)
    for part in range(6):
        table[100 * part : 100 * (part + 1)].to_parquet(tmp_path / f"part-{part}.parquet")
    frame = dd.read_parquet(tmp_path)
    inputs = frame[[f"x{i}" for i in range(12)]]
    assert len(frame["y"].to_delayed()) < len(inputs.to_delayed())
    model = small().fit(frame, target="y", client=client)
    same = small(merge_duplicates=False).fit(table[inputs.columns], table["y"])
    np.testing.assert_allclose(model.predict(table[inputs.columns]), same.predict(inputs.compute()))
    with pytest.raises(SourceError, match="partitions, which do not fit each other"):
        small().fit(inputs, frame["y"], client=client)


def test_a_worker_killed_in_the_middle_of_a_sweep(client):
    case = make_case("binary", n_warmup=0, n_draws=8, interweave_every=0)
    X, y, _ = arrays(case, PARTITIONS[7])
    undisturbed = clone(case.estimator).fit(X, y)
    workers = client.run(os.getpid)
    killed = []

    def kill():
        while not killed:
            for address, tasks in client.processing().items():
                if any("partial_sum" in str(task) for task in tasks) and not killed:
                    os.kill(workers[address], signal.SIGKILL)
                    killed.append(address)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    model = clone(case.estimator).fit(X, y)
    thread.join()
    assert killed
    assert_same_fit(case, undisturbed, model, 0.0)


def test_a_nan_is_found_by_partition_and_row(client):
    case = make_case("regression")
    case.X[4150, 1] = np.nan
    X, y, _ = arrays(case, PARTITIONS[2])
    with pytest.raises(SourceError, match=r"Input 1 is missing.* in row 50 of block 1"):
        case.estimator.fit(X, y)


def test_an_error_of_the_data_is_told(client):
    import dask.array as da

    def broken(block):
        raise OSError("part 1 is cut short")

    case = make_case("regression")
    X, y, _ = arrays(case, PARTITIONS[2])
    X = da.map_blocks(broken, X, dtype=float, meta=np.empty((0, 2)))
    with pytest.raises(OSError, match="part 1 is cut short"):
        case.estimator.fit(X, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X, None), "fit needs y"),
        (lambda X, y: (X, y[:-1]), "y has 5199 rows, but X has 5200"),
        (lambda X, y: (X, np.zeros(5200)), "Turn it into one"),
        (lambda X, y: (X[:, 0], y), "two dimensions"),
    ],
)
def test_what_does_not_fit_together_is_refused(client, change, words):
    case = make_case("regression")
    X, y, _ = arrays(case, PARTITIONS[2])
    with pytest.raises(SourceError, match=words):
        case.estimator.fit(*change(X, y))


def test_a_client_is_not_for_blocks(client):
    with pytest.raises(TypeError, match="client is for Dask"):
        BankRegressor().fit([(np.zeros((3, 1)), np.zeros(3))], client=client)


def test_a_cluster_without_workers():
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y = da.zeros((10, 2), chunks=5), da.zeros(10, chunks=5)
    with (
        LocalCluster(processes=True, n_workers=0, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as empty,
        pytest.raises(ClusterError, match=r"had no worker for 0\.5 seconds"),
    ):
        DaskData.collect(X, y, None, None, empty, patience=0.5)


def test_a_cluster_that_loses_all_workers_and_gets_new_ones(monkeypatch, tmp_path):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(DaskData.collect.__func__, "__defaults__", (1.0,))
    case = make_case("regression", n_chains=1, n_warmup=0, n_draws=6, interweave_every=0)
    with (
        LocalCluster(
            processes=True, n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        X, y, weight = arrays(case, PARTITIONS[2])
        whole = clone(case.estimator).fit(X, y, weight, client=client)
        case.estimator.set_params(checkpoint=tmp_path, checkpoint_every=0)

        def empty(self, chain, sweep, plan, info):
            if sweep == 3:
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)

        with monkeypatch.context() as patch:
            patch.setattr("banklearn.estimators.progress.Progress.__call__", empty)
            with pytest.raises(ClusterError, match="had no worker for 1 seconds"):
                clone(case.estimator).fit(X, y, weight, client=client)
        cluster.scale(1)
        client.wait_for_workers(1)
        resumed = clone(case.estimator).fit(X, y, weight, client=client, resume=True)
    assert_same_fit(case, whole, resumed, 0.0)

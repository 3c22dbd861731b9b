"""A fit to rows that come in blocks is the fit to the same rows in memory, bit for bit."""

from copy import deepcopy

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from banklearn import BankRegressor
from banklearn.sampler.run import growing_stages
from banklearn.sources import ArraySource, SourceError, TableSource, recognise
from banklearn.storage.errors import CheckpointError
from blockwise import PARTITIONS, Case, assert_same_fit, fit_in_memory, make_case

KINDS = ("regression", "binary", "three classes", "five classes")


@pytest.fixture(scope="module", params=["auto", "standard"])
def scaling(request):
    return request.param


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, scaling):
    case = make_case(request.param, input_scaling=scaling)
    return case, deepcopy(fit_in_memory(case))


@pytest.mark.parametrize("parts", PARTITIONS)
def test_blocks_of_any_size_give_the_same_bits(fitted, parts):
    case, reference = fitted
    model = clone(case.estimator).fit(case.blocks(PARTITIONS[parts]))
    assert_same_fit(case, reference, model, 0.0)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("whole", [True, False])
def test_balance_counts_in_the_scaling_of_inputs(scaling, whole):
    options = {"class_weight": "balanced", "n_chains": 1, "n_warmup": 0}
    case = make_case("three classes", input_scaling=scaling, **options)
    if not whole:
        case.weight = np.random.default_rng(8).gamma(1.0, size=len(case.X))
    reference = deepcopy(fit_in_memory(case))
    model = clone(case.estimator).fit(case.blocks(PARTITIONS[7]))
    for name in ("shift", "scale"):
        ours, theirs = (getattr(m.input_scaling_, name) for m in (reference, model))
        np.testing.assert_array_equal(ours, theirs)
    assert_same_fit(case, reference, model, 0.0)


@pytest.mark.parametrize("how", ["memory", "blocks"])
def test_the_order_of_the_rows_does_not_matter_to_regression(how):
    # Of a well-conditioned problem: frequencies near zero would magnify rounding, and so would
    # trajectories.
    options = {"input_scaling": "arcsinh", "gradient_every": 0}
    case = make_case("regression", n_warmup=9, n_draws=3, **options)
    case.weight = case.weight + 1.0  # all rows count: warm-up begins with a subsample
    assert len(growing_stages(len(case.X), 9)) > 1
    reference = deepcopy(fit_in_memory(case))
    other = np.random.default_rng(9).permutation(len(case.X))
    turned = Case(case.X[other], case.y[other], case.weight[other], case.estimator)
    model = clone(case.estimator)
    if how == "memory":
        model.fit(turned.X, turned.y, turned.weight)
    else:
        model.fit(turned.blocks(PARTITIONS[7]))
    assert_same_fit(case, reference, model, 1e-8)


@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_gradient_moves_too(kind):
    options = {"n_chains": 1, "n_warmup": 0, "gradient_every": 1, "gradient_length": 1}
    case = make_case(kind, **options)
    reference = deepcopy(fit_in_memory(case))
    assert np.isfinite(reference.trace_[0]["gradient_acceptance"]).all()
    model = clone(case.estimator).fit(case.blocks(PARTITIONS[7]))
    assert_same_fit(case, reference, model, 0.0)


@pytest.fixture(scope="module")
def small():
    options = {"n_chains": 1, "n_warmup": 0, "n_draws": 1, "spectral_scale": "auto"}
    case = make_case("regression", **options, input_scaling="auto")
    return case, deepcopy(fit_in_memory(case))


def write_files(case, folder, kind):
    """Seven files whose names sort in the order of the rows."""
    for i, (X, y, weight) in enumerate(case.blocks(PARTITIONS[7])):
        table = pa.table({"x0": X[:, 0], "w": weight, "x1": X[:, 1], "y": y})
        if kind == "parquet":
            pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=600)
        else:
            import pyarrow.csv as pa_csv

            pa_csv.write_csv(table, folder / f"part-{i}.csv")


@pytest.mark.parametrize("how", ["folder", "glob", "csv", "list", "dataset"])
def test_files_give_the_same_bits(small, how, tmp_path):
    case, reference = small
    write_files(case, tmp_path, "csv" if how == "csv" else "parquet")
    given = {
        "folder": tmp_path,
        "glob": str(tmp_path / "part-*.parquet"),
        "csv": str(tmp_path),
        "list": sorted(tmp_path.glob("*.parquet")),
        "dataset": pa_dataset.dataset(tmp_path) if how == "dataset" else None,
    }[how]
    model = clone(case.estimator).fit(given, target="y", sample_weight="w")
    assert_same_fit(case, reference, model, 0.0)
    assert list(model.feature_names_in_) == ["x0", "x1"]


@pytest.mark.parametrize("how", ["memmap", "h5py", "zarr"])
def test_arrays_on_disk_give_the_same_bits(small, how, tmp_path, monkeypatch):
    case, reference = small
    if how == "memmap":
        monkeypatch.setattr(recognise, "MEMMAP_BYTES", 1000)
        X = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=case.X.shape)
        X[:] = case.X
    elif how == "h5py":
        h5py = pytest.importorskip("h5py")
        file = h5py.File(tmp_path / "rows.h5", "w")
        X = file.create_dataset("X", data=case.X, chunks=(700, 1))
    else:
        zarr = pytest.importorskip("zarr")
        X = zarr.create_array(tmp_path / "X.zarr", shape=case.X.shape, dtype=float, chunks=(700, 2))
        X[:] = case.X
    model = clone(case.estimator).fit(X, case.y, case.weight)
    assert_same_fit(case, reference, model, 0.0)
    if how == "h5py":
        file.close()


def test_a_source_can_be_passed_with_chosen_inputs(small, tmp_path):
    case, reference = small
    write_files(case, tmp_path, "parquet")
    source = TableSource(tmp_path, "y", inputs=["x0", "x1"], weight="w", rows_at_once=333)
    assert_same_fit(case, reference, clone(case.estimator).fit(source), 0.0)


class Counting:
    """Blocks that count how often they are read."""

    def __init__(self, blocks):
        self.blocks, self.reads = blocks, 0

    def __iter__(self):
        self.reads += 1
        return iter(self.blocks)


def test_all_chains_share_each_read():
    reads = []
    for n_chains in (1, 3):
        options = {"n_chains": n_chains, "n_warmup": 0, "n_draws": 3, "interweave_every": 0}
        case = make_case("regression", **options)
        counting = Counting(case.blocks(PARTITIONS[2]))
        case.estimator.fit(counting)
        reads.append(counting.reads)
    # One to look whether it can be read again, one first pass, one for samples, one for the first
    # statistic, one per sweep.
    assert reads == [7, 7]


def test_a_memmap_is_not_merged_but_an_array_is():
    X, y = np.zeros((50, 1)), np.tile([0.0, 1.0], 25)
    options = {"n_frequencies": 2, "n_warmup": 0, "n_draws": 1, "n_chains": 1, "random_state": 0}
    merged = BankRegressor(**options).fit(X, y)
    apart = BankRegressor(**options, merge_duplicates=False).fit(X, y)
    blocks = BankRegressor(**options).fit(ArraySource(X, y))
    assert blocks.predict(X[:1]) == apart.predict(X[:1])
    assert blocks.predict(X[:1]) == pytest.approx(merged.predict(X[:1]), abs=0.2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((iter([]),), "only once"),
        (([(np.zeros((2, 2)), np.zeros(2)), np.zeros(2)],), "Block 1 is a ndarray"),
        ((np.zeros((3, 2)), None, None, "y"), "pass its target as y"),
    ],
)
def test_what_cannot_be_read_is_refused(arguments, words):
    *given, target = arguments if len(arguments) == 4 else (*arguments, None)
    with pytest.raises(SourceError, match=words):
        BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1).fit(*given, target=target)


def test_a_file_without_target_is_refused(tmp_path):
    with pytest.raises(SourceError, match="name the column to predict"):
        BankRegressor().fit(str(tmp_path))


def test_the_laplace_sampler_is_refused():
    case = make_case("binary", inference="laplace-mh")
    with pytest.raises(ValueError, match="polya-gamma"):
        case.estimator.fit(case.blocks(PARTITIONS[1]))


def test_a_device_is_refused():
    case = make_case("regression", device="cuda")
    with pytest.raises(ValueError, match="summed on the CPU"):
        case.estimator.fit(case.blocks(PARTITIONS[1]))


def test_data_that_change_between_reads_are_noticed():
    case = make_case("regression", n_chains=1, n_warmup=0)

    class Shrinking(Counting):
        def __iter__(self):
            self.reads += 1
            return iter(self.blocks[: -1 if self.reads > 4 else None])

    with pytest.raises(RuntimeError, match="5200 rows at first, 4100 now"):
        case.estimator.fit(Shrinking([(x, y) for x, y, _ in case.blocks(PARTITIONS[2])]))


class Failing(Counting):
    """Blocks on a disk that is gone from some read on."""

    def __init__(self, blocks, reads):
        super().__init__(blocks)
        self.most = reads

    def __iter__(self):
        self.reads += 1
        yield self.blocks[0]
        if self.reads > self.most:
            raise OSError("the disk is gone")
        yield from self.blocks[1:]


def test_a_fit_that_broke_off_goes_on_however_the_rows_are_cut(tmp_path):
    options = {"n_warmup": 6, "checkpoint": tmp_path / "chains", "checkpoint_every": 0.0}
    case = make_case("binary", **options)
    whole = clone(case.estimator).set_params(checkpoint=None).fit(case.blocks(PARTITIONS[1]))
    with pytest.raises(OSError, match="the disk is gone"):
        clone(case.estimator).fit(Failing(case.blocks(PARTITIONS[2]), reads=20))
    assert len(list((tmp_path / "chains").iterdir())) == 2
    resumed = clone(case.estimator).fit(case.blocks(PARTITIONS[7]), resume=True)
    assert_same_fit(case, whole, resumed, 0.0)
    case.X[4321, 1] += 1e-6
    with pytest.raises(CheckpointError, match="values of X"):
        clone(case.estimator).fit(case.blocks(PARTITIONS[7]), resume=True)

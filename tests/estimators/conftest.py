"""What several tests of the estimators need."""

import pytest


@pytest.fixture(scope="module")
def client():
    """A client of a real cluster of two worker processes."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

"""What several tests of the estimators need."""

import pytest


@pytest.fixture(scope="module")
def client():
    """A client of a real cluster of two worker processes."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    from dask import config

    with (
        # A busy machine may take longer than Dask's 15 s to start a worker again, which a local
        # cluster then gives up for good.
        config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

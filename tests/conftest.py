"""Its place puts `problems` and `twin` on the import path of every test beneath."""

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes of Dask, one thread each, started once for all tests that ask."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    """A client of these workers, active while a test runs."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as connected:
        connected.wait_for_workers(1, timeout=60)  # a test may have killed one
        yield connected

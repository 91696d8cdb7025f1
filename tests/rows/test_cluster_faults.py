"""Faults of clusters: workers that die, join or leave, chunks that fail, lost clusters."""

import operator
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from chunked_rows import X, Y, relative
from chunked_rows import chunked as in_chunks
from distributed import Client, KilledWorker, LocalCluster

from twohot import DistilledProbe, LinearProbe, PartialLabelProbe, find_label_issues
from twohot.rows.dask_chunks import open_chunks
from twohot.rows.dask_rows import DaskRows
from twohot.rows.dask_tasks import ChunkError, ClusterLostError, ClusterTasks, Tasks
from twohot.rows.open import mean_terms

PROBE = PartialLabelProbe(tol=1e-3)


def chunked(values):
    return in_chunks(values, (500, 500, 500))


@contextmanager
def own_cluster(n_workers=1, *, processes=True, **options):
    """A cluster that a test may break, and its client, active meanwhile."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=":0",
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


@contextmanager
def at_pass(moment=None, happen=None):
    """Call a function while the tasks of a pass run; yield the list of passes so far."""
    passes, run = [], DaskRows._run

    def run_and_happen(self, *args):
        handles = run(self, *args)
        passes.append(len(passes) + 1)
        if passes[-1] == moment:
            happen()
        return handles

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DaskRows, "_run", run_and_happen)
        yield passes


# Workers ------------------------------------------------------------------------------------------


def test_fit_survives_a_killed_worker(client):
    expected = PROBE.fit(chunked(X), chunked(Y)).coef_

    def kill():  # by a signal that cannot be caught
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    with at_pass(4, kill) as passes:
        found = PROBE.fit(chunked(X), chunked(Y)).coef_
    assert len(passes) >= 4
    assert relative(found, expected) <= 1e-6


@pytest.mark.slow
def test_late_worker_takes_over():
    expected = PROBE.fit(chunked(X), chunked(Y)).coef_  # on threads, in the same chunks
    with own_cluster() as (cluster, client):
        (first,) = client.scheduler_info()["workers"]

        def join_and_leave():
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)
            client.retire_workers([first])

        with at_pass(4, join_and_leave) as passes:
            found = PROBE.fit(chunked(X), chunked(Y)).coef_
        assert first not in client.scheduler_info()["workers"]
    assert len(passes) > 4
    assert relative(found, expected) <= 1e-6


@pytest.mark.parametrize("n_workers", [0, 1])
def test_workers_without_a_memory_limit_have_room(n_workers):
    with own_cluster(n_workers, processes=False, memory_limit=0) as (_, client):
        assert ClusterTasks(client).room() == float("inf")


# Chunks -------------------------------------------------------------------------------------------


def read_or_fail(number):
    if number == 1:
        raise FileNotFoundError("part-1.parquet")
    return X[500 * number : 500 * number + 500]


def parts_of_files():
    read = dask.delayed(read_or_fail, pure=False)
    parts = [da.from_delayed(read(i), (500, 24), dtype=X.dtype) for i in range(3)]
    return da.concatenate(parts)


@pytest.mark.usefixtures("client")
def test_error_names_the_chunk_on_which_a_kernel_fails():
    rows = DaskRows(open_chunks(chunked(X)))
    some = r"chunk [0-2] \(rows [0-9]+ to [0-9]+\) failed: TypeError"
    with pytest.raises(ChunkError, match=some):
        rows.sum(operator.truediv, 2)  # a block does not support it


def test_error_says_what_to_do_if_a_chunk_kills_its_workers():
    message = r"a chunk of X cannot be computed: every worker .* died, .*: make the chunks smaller"
    with pytest.raises(ChunkError, match=message), Tasks().naming_chunks("X", []):
        raise KilledWorker("chunk-1", None, 3)


UNREADABLE = r"of X cannot be computed: FileNotFoundError"


@pytest.mark.usefixtures("client")
def test_error_names_an_unreadable_chunk(monkeypatch):
    with pytest.raises(ChunkError, match=f"chunk 1 {UNREADABLE}"):
        LinearProbe().fit(parts_of_files(), Y)
    # Also if chunks are read again in each pass.
    monkeypatch.setattr("twohot.rows.dask_tasks.FEATURE_SHARE", 1e-9)
    with pytest.warns(UserWarning, match="every pass computes X again"):
        rows = DaskRows(open_chunks(parts_of_files()))
    with pytest.raises(ChunkError, match=f"chunk 1 {UNREADABLE}"):
        rows.sum(mean_terms, np.arange(5), np.zeros(24))


def test_error_mentions_an_unreadable_chunk_on_threads():
    with pytest.raises(ChunkError, match=f"a chunk {UNREADABLE}"):
        LinearProbe().fit(parts_of_files(), Y)


# Clusters -----------------------------------------------------------------------------------------


def fit(n_rounds, file):
    return DistilledProbe(n_rounds=n_rounds).fit(chunked(X), chunked(Y), checkpoint=file).coef_


@contextmanager
def started(*arguments):
    """A process of Dask that ends with the test at the latest."""
    command = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - Dask's own
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def closed(_, other):
    with own_cluster() as (cluster, _):
        yield cluster.close, other


@contextmanager
def restarted(*_):
    with own_cluster() as (_, client):
        yield client.restart, client


@contextmanager
def scheduler_killed(folder, other):
    """A scheduler and a worker in processes of their own."""
    file = str(folder / "scheduler.json")
    place = ("--scheduler-file", file)
    with (
        started("distributed.cli.dask_scheduler", *place, "--port", "0", "--no-dashboard") as first,
        started("distributed.cli.dask_worker", *place, "--no-dashboard", "--nthreads", "1"),
        Client(scheduler_file=file) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        yield first.kill, other


@pytest.mark.slow
@pytest.mark.parametrize("lost", [closed, restarted, scheduler_killed])
def test_fit_resumes_after_the_cluster_is_lost(lost, client, tmp_path):
    with at_pass() as two_rounds:
        fit(2, tmp_path / "other.npz")
    file = str(tmp_path / "fit.npz")
    gone = r"the Dask cluster at tcp://\S* was lost or restarted during the work"
    how = rf"run this again with checkpoint='{file}' \(finished steps are stored there\)"
    with lost(tmp_path, client) as (lose, next_client):
        with (
            at_pass(len(two_rounds) + 2, lose),
            pytest.raises(ClusterLostError, match=rf"(?s){gone} .*{how}"),
        ):
            fit(3, file)
        with next_client.as_current(), at_pass() as last_round:
            found = fit(3, file)
    assert len(last_round) < len(two_rounds)
    assert relative(found, DistilledProbe(n_rounds=3).fit(X, Y).coef_) <= 1e-5


def test_checkpoint_belongs_to_its_chunks_and_labels(tmp_path):
    file = tmp_path / "fit.npz"
    expected = fit(2, file)
    assert np.array_equal(fit(2, file), expected)
    with pytest.raises(ValueError, match="belongs to another fit"):
        DistilledProbe(n_rounds=2).fit(chunked(X), chunked(np.roll(Y, 1)), checkpoint=file)


def test_error_suggests_a_checkpoint():
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as own:
        with Client(own):
            rows = DaskRows(open_chunks(chunked(X)))
        with pytest.raises(
            ClusterLostError, match=r"run this again; a fit or an audit with checkpoint=…"
        ):
            rows.tasks.results(rows.X.column.chunks)


@pytest.mark.parametrize("moment", [1, 8])
def test_error_of_an_audit_says_how_to_resume(moment, tmp_path, monkeypatch):
    monkeypatch.setattr("twohot.judge.sample.SAMPLE_ROWS", 200)  # more rows stay on the cluster
    file = tmp_path / "audit.npz"
    kept = "no step was finished" if moment == 1 else "finished steps are stored there"
    again = rf"start a cluster and run this again with checkpoint='{file}' \({kept}\)\."
    with (
        own_cluster(processes=False) as (cluster, _),
        at_pass(moment, cluster.close),
        pytest.raises(ClusterLostError, match=again),
    ):
        find_label_issues(chunked(X), Y, checkpoint=file)
    assert file.exists() == (moment > 1)

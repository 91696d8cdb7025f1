"""Workers that are killed, join or leave, chunks that fail, and clusters that go away in a fit."""

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
from twohot.probes import rounds as rounds_module
from twohot.rows.chunked import open_chunks
from twohot.rows.dask_rows import DaskRows
from twohot.rows.dask_tasks import ChunkError, ClusterLostError, ClusterTasks, Tasks
from twohot.rows.open import mean_terms


def chunked(values):
    return in_chunks(values, (500, 500, 500))


@contextmanager
def own_cluster(n_workers=1):
    """A cluster that a test may break, and its client, active meanwhile."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


def at_pass(moment, happen, monkeypatch):
    """Let something happen while the tasks of a pass run; return the passes so far, a list."""
    passes, run = [], DaskRows._run

    def run_and_happen(self, *args):
        handles = run(self, *args)
        passes.append(len(passes) + 1)
        if passes[-1] == moment:
            happen()
        return handles

    monkeypatch.setattr(DaskRows, "_run", run_and_happen)
    return passes


# Workers -----------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_made_up_for(client, monkeypatch):
    kill_and_compare(4, client, monkeypatch)


@pytest.mark.slow
def test_workers_killed_at_ten_random_moments(monkeypatch):
    for moment in np.random.default_rng(0).integers(1, 14, 10).tolist():
        with own_cluster(2) as (_, client):
            kill_and_compare(moment, client, monkeypatch)


def kill_and_compare(moment, client, monkeypatch):
    """Kill a worker while the tasks of a pass run; compare with a fit that is left alone."""
    probe = PartialLabelProbe(tol=1e-3)
    array, labels = chunked(X), chunked(Y)
    expected = probe.fit(array, labels).coef_

    def kill():  # by a signal that cannot be caught
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    passes = at_pass(moment, kill, monkeypatch)
    found = probe.fit(array, labels).coef_
    monkeypatch.undo()
    assert len(passes) >= moment
    assert relative(found, expected) <= 1e-6


@pytest.mark.slow
def test_a_worker_that_joins_late_can_take_over(monkeypatch):
    probe = PartialLabelProbe(tol=1e-3)
    expected = probe.fit(chunked(X), chunked(Y)).coef_  # on threads, in the same chunks
    with own_cluster() as (cluster, client):
        (first,) = client.scheduler_info()["workers"]

        def join_and_leave():
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)
            client.retire_workers([first])  # from now on the late one does everything

        passes = at_pass(4, join_and_leave, monkeypatch)
        found = probe.fit(chunked(X), chunked(Y)).coef_
        assert first not in client.scheduler_info()["workers"]
    assert len(passes) > 4
    assert relative(found, expected) <= 1e-6


# Chunks ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("client")
def test_a_chunk_on_which_a_kernel_fails_is_named():
    rows = DaskRows(open_chunks(chunked(X)))
    some = r"chunk [0-2] \(rows [0-9]+ to [0-9]+\) failed: TypeError"
    with pytest.raises(ChunkError, match=some):
        rows.sum(operator.truediv, 2)  # of which a block knows nothing


def test_a_chunk_that_kills_its_workers_is_named_with_what_to_do():
    message = r"a chunk of X cannot be computed: every worker .* died, .*: make the chunks smaller"
    with pytest.raises(ChunkError, match=message), Tasks().naming_chunks("X", []):
        raise KilledWorker("chunk-1", None, 3)


def read_or_fail(number):
    if number == 1:
        raise FileNotFoundError("part-1.parquet")
    return X[500 * number : 500 * number + 500]


def parts_of_files():
    read = dask.delayed(read_or_fail, pure=False)
    parts = [da.from_delayed(read(i), (500, 24), dtype=X.dtype) for i in range(3)]
    return da.concatenate(parts)


@pytest.mark.usefixtures("client")
def test_a_chunk_that_cannot_be_read_is_named_and_the_cluster_is_not_blamed():
    with pytest.raises(ChunkError, match=r"chunk 1 of X cannot be computed: FileNotFoundError"):
        LinearProbe().fit(parts_of_files(), Y)


@pytest.mark.usefixtures("client")
def test_so_is_one_that_is_read_again_each_pass(monkeypatch):
    monkeypatch.setattr("twohot.rows.dask_tasks.FEATURE_SHARE", 1e-9)
    with pytest.warns(UserWarning, match="every pass reads it again"):
        rows = DaskRows(open_chunks(parts_of_files()))
    with pytest.raises(ChunkError, match=r"chunk 1 of X cannot be computed: FileNotFoundError"):
        rows.sum(mean_terms, np.arange(5), np.zeros(24))


def test_on_threads_it_is_said_that_a_chunk_cannot_be_read():
    with pytest.raises(ChunkError, match=r"a chunk of X cannot be computed: FileNotFoundError"):
        LinearProbe().fit(parts_of_files(), Y)


# Clusters ----------------------------------------------------------------------------------------


def before_round(monkeypatch, happen=None):
    """Let something happen before the third round; return the numbers of rounds begun, a list."""
    begun, make = [], rounds_module.make_round

    def make_round(*args):
        begun.append(len(begun) + 1)
        if begun[-1] == 3:
            happen()
        return make(*args)

    monkeypatch.setattr(rounds_module, "make_round", make_round)
    return begun


def lose_in_last_round(lose, file, monkeypatch):
    """Lose the cluster while a pass of the last of three rounds runs; check what is said."""
    probe = DistilledProbe(n_rounds=3)
    before_round(monkeypatch, lambda: at_pass(2, lose, monkeypatch))
    gone = r"the Dask cluster at tcp://\S* was lost or restarted during the work"
    how = f"run this again with checkpoint='{file}' to resume: finished steps are stored there"
    with pytest.raises(ClusterLostError, match=rf"(?s){gone} .*{how}"):
        probe.fit(chunked(X), chunked(Y), checkpoint=file)
    monkeypatch.undo()


def resume(file, monkeypatch):
    """Go on where a cluster is active; compare with a fit in memory."""
    probe = DistilledProbe(n_rounds=3)
    begun = before_round(monkeypatch)
    found = probe.fit(chunked(X), chunked(Y), checkpoint=file).coef_
    assert begun == [1]
    monkeypatch.undo()
    assert relative(found, probe.fit(X, Y).coef_) <= 1e-5


def test_finished_rounds_are_those_of_the_same_chunks_and_labels(tmp_path):
    probe, file = DistilledProbe(n_rounds=2), tmp_path / "fit.npz"
    expected = probe.fit(chunked(X), chunked(Y), checkpoint=file).coef_
    assert np.array_equal(probe.fit(chunked(X), chunked(Y), checkpoint=file).coef_, expected)
    with pytest.raises(ValueError, match="belongs to another fit"):
        probe.fit(chunked(X), chunked(np.roll(Y, 1)), checkpoint=file)


@pytest.mark.slow
def test_a_cluster_that_is_closed_and_a_fit_that_resumes_on_another(client, tmp_path, monkeypatch):
    file = str(tmp_path / "fit.npz")
    with own_cluster() as (cluster, _):
        lose_in_last_round(cluster.close, file, monkeypatch)
    with client.as_current():
        resume(file, monkeypatch)


@pytest.mark.slow
def test_a_cluster_that_is_restarted(tmp_path, monkeypatch):
    file = str(tmp_path / "fit.npz")
    with own_cluster() as (_, client):
        lose_in_last_round(client.restart, file, monkeypatch)
        resume(file, monkeypatch)


@contextmanager
def started(*arguments):
    """A process of Dask, ended with the test if not before."""
    command = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - Dask's own
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def own_processes(file):
    """A scheduler and a worker in processes of their own; give the scheduler's."""
    place = ("--scheduler-file", str(file))
    with (
        started("distributed.cli.dask_scheduler", *place, "--port", "0", "--no-dashboard") as first,
        started("distributed.cli.dask_worker", *place, "--no-dashboard", "--nthreads", "1"),
        Client(scheduler_file=str(file)) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        yield first


@pytest.mark.slow
def test_a_scheduler_that_is_killed(tmp_path, monkeypatch):
    file = str(tmp_path / "fit.npz")
    with own_processes(tmp_path / "scheduler.json") as scheduler:
        lose_in_last_round(scheduler.kill, file, monkeypatch)
    with own_processes(tmp_path / "another.json"):
        resume(file, monkeypatch)


def test_without_a_checkpoint_the_error_says_that_there_could_be_one():
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as own:
        with Client(own):
            rows = DaskRows(open_chunks(chunked(X)))
        with pytest.raises(
            ClusterLostError, match=r"run this again; a fit or an audit with checkpoint=…"
        ):
            rows.tasks.results(rows.X.column.chunks)


@pytest.mark.parametrize("n_workers", [0, 1])
def test_workers_without_a_limit_of_memory_or_still_to_come_have_room(n_workers):
    with (
        LocalCluster(
            n_workers=n_workers, processes=False, memory_limit=0, dashboard_address=":0"
        ) as own,
        Client(own) as client,
    ):
        assert ClusterTasks(client).room() == float("inf")


@pytest.mark.parametrize("moment", [1, 8])
def test_an_audit_says_how_it_resumes(moment, tmp_path, monkeypatch):
    """Whether anything was finished yet or not, in the words of its own arguments."""
    monkeypatch.setattr("twohot.judge.sample.SAMPLE_ROWS", 200)  # more rows stay on the cluster
    file = tmp_path / "audit.npz"
    kept = "no step was finished" if moment == 1 else "finished steps are stored there"
    again = rf"start a cluster and run this again with checkpoint='{file}' to resume: {kept}\."
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as own,
        Client(own),
    ):
        at_pass(moment, own.close, monkeypatch)
        with pytest.raises(ClusterLostError, match=again):
            find_label_issues(chunked(X), Y, checkpoint=file)
    assert file.exists() == (moment > 1)

"""Dask arrays and frames: where fits run, what is sent, and input that is refused."""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from chunked_rows import SKEWED, WEIGHTS, X, Y, chunked, relative
from distributed.comm.tcp import TCP

from twohot import (
    AutoProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    find_label_issues,
)
from twohot.rows.dask_chunks import open_chunks, split_index
from twohot.rows.dask_rows import sum_chunk


def test_fit_on_processes():
    small = DistilledProbe(n_rounds=2, tol=1e-2)
    expected = small.fit(X, Y).coef_
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        found = small.fit(chunked(X, (800, 700)), Y).coef_
    assert relative(found, expected) <= 1e-5


def test_active_client_is_used(client):
    probe = PartialLabelProbe()
    expected = probe.fit(X, Y, WEIGHTS).coef_
    asked = []
    original = client.map
    client.map = lambda *args, **kwargs: asked.append(args[0]) or original(*args, **kwargs)
    found = probe.fit(chunked(X), chunked(Y), chunked(WEIGHTS)).coef_
    assert relative(found, expected) <= 1e-5
    assert sum_chunk in asked


def test_features_beyond_the_memory_of_workers_are_read_again(client, monkeypatch):
    monkeypatch.setattr("twohot.rows.dask_tasks.FEATURE_SHARE", 1e-9)
    probe = LinearProbe(tol=1e-2)
    expected = probe.fit(X, Y).coef_
    with pytest.warns(UserWarning, match=r"X takes .* GB, but workers have room for 0.0 GB, so e"):
        rows = open_chunks(chunked(X))
    with pytest.warns(UserWarning, match="every pass computes X again"):
        assert relative(probe.fit(chunked(X), chunked(Y)).coef_, expected) <= 1e-5
    assert rows.shape == X.shape
    kept = client.run(
        lambda dask_worker: [type(each).__name__ for each in dask_worker.data.values()]
    )
    assert "Chunk" not in [kind for kinds in kept.values() for kind in kinds]


def test_auto_probe_judges_a_sample_and_fits_all_rows(monkeypatch):
    monkeypatch.setattr("twohot.judge.sample.SAMPLE_ROWS", 200)
    rare = np.where(np.arange(1500) == 1200, 6, Y)
    rare[7] = 6
    sampled = AutoProbe().fit(chunked(X), chunked(rare), chunked(np.ones(1500)))
    assert sampled.classes_.tolist() == list(range(7))
    assert sampled.score(chunked(X), chunked(rare)) > 0.4
    with pytest.raises(ValueError, match="cv does not hold out every row with a label exactly onc"):
        AutoProbe(cv=[(np.arange(5), np.arange(5, 9))]).fit(chunked(X), chunked(Y))


@pytest.mark.usefixtures("client")
def test_frames_keep_names_of_columns_and_classes():
    frame = pd.DataFrame(X, columns=[f"e{place}" for place in range(24)])
    names = pd.Series(np.array(list("abcdef"))[Y])
    probe = LinearProbe(tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own
        rows, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(names, npartitions=3)
        probe.fit(rows, labels)
    assert probe.classes_.tolist() == list("abcdef")
    assert probe.feature_names_in_.tolist() == list(frame.columns)
    assert relative(probe.coef_, LinearProbe(tol=1e-3).fit(X, Y).coef_) <= 1e-5
    found = probe.predict_proba(rows)
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), probe.predict_proba(frame), atol=1e-6)


def test_predictions_have_the_chunks_of_the_features():
    probe = LinearProbe().fit(X, Y)
    assert probe.predict_proba(chunked(X)).chunks == (SKEWED, (6,))
    assert probe.predict(chunked(X)).chunks == (SKEWED,)


# What is sent -------------------------------------------------------------------------------------


def bytes_of_client(client, work):
    """Return the bytes sent to and from the client during some work."""
    sent = []
    original = TCP.write

    async def write(self, message, *args, **kwargs):
        n_bytes = await original(self, message, *args, **kwargs)
        sent.append((self.local_address, self.peer_address, n_bytes))
        return n_bytes

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TCP, "write", write)
        work()
    scheduler = client.scheduler.address
    ours = {local for local, peer, _ in sent if peer == scheduler}
    return sum(size for local, peer, size in sent if local in ours or peer in ours)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["ce", "gce"])
def test_passes_send_only_coefficients_and_sums(client, loss):
    generator = np.random.default_rng(1)
    n_classes, n_features = 48, 96
    rows = generator.normal(size=(6000, n_features)).astype(np.float32)
    labels = generator.integers(0, n_classes, 6000)
    array, codes = client.persist([chunked(rows, (1500,) * 4), chunked(labels, (1500,) * 4)])
    n_bytes, n_passes = [], []
    for steps in (2, 7):
        probe = LinearProbe(loss=loss, tol=1e-9, max_iter=steps)
        n_bytes.append(bytes_of_client(client, lambda: probe.fit(array, codes)))  # noqa: B023
        n_passes.append(probe.rounds_[0].n_passes)
    bound = 2 * n_classes * (n_features + 1) * 8 + 64 * n_classes + 64_000
    assert np.diff(n_bytes) / np.diff(n_passes) <= bound


@pytest.mark.usefixtures("client")
def test_refuses_a_worker_of_another_version(monkeypatch):
    monkeypatch.setattr("twohot.__version__", "99")
    with pytest.raises(ValueError, match=r"worker tcp://.* has twohot .*, and this process has 99"):
        LinearProbe().fit(chunked(X), chunked(Y))


# Input --------------------------------------------------------------------------------------------


def test_sizes_may_be_unknown_and_labels_may_have_other_chunks():
    array = chunked(X)
    unknown = array[array[:, 0] > -100]
    assert np.isnan(unknown.shape[0])
    found = LinearProbe(tol=1e-6).fit(unknown, chunked(Y, (700, 800))).coef_
    assert relative(found, LinearProbe(tol=1e-6).fit(X, Y).coef_) <= 1e-5


def changed(values, place, value, dtype=None):
    """Return values of which one is another."""
    other = values.astype(dtype or values.dtype)
    other[place] = value
    return other


WORDS = pd.DataFrame({"a": X[:, 0], "b": Y.astype(str)})


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (
            "y has no label in 1 row .the first is row 1305.: drop",
            {"y": chunked(changed(Y, 1305, None, object))},
        ),
        ("y has no label in 1500 rows", {"y": chunked(np.full(1500, None))}),
        ("y has only one class", {"y": chunked(np.zeros(1500, int))}),
        ("y has 1499 labels and X has 1500 rows", {"y": Y[1:]}),
        ("y mixes numbers and text", {"y": chunked(changed(Y, 1305, "text", object))}),
        ("sample_weight has the weight -1.0", {"sample_weight": np.where(Y == 0, -1.0, 1.0)}),
        ("sample_weight is zero for every row", {"sample_weight": np.zeros(1500)}),
        ("X contains NaN at row 1400, column 5", {"X": chunked(changed(X, (1400, 5), np.nan))}),
        ("X has 1 dimension", {"X": chunked(X[:, 0])}),
        ("X has a column 'b' of", {"X": dd.from_pandas(WORDS, npartitions=2)}),
        ("X has no rows", {"X": chunked(X)[:0], "y": Y[:0]}),
    ],
)
def test_refuses_collections(message, given):
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit(**{"X": chunked(X), "y": Y} | given)


def test_fewer_rows_than_features_are_brought_here():
    few, labels = X[:20], Y[:20]
    found = LinearProbe().fit(chunked(few, (8, 12)), chunked(labels, (8, 12)))
    assert np.array_equal(found.coef_, LinearProbe().fit(few, labels).coef_)
    issues = find_label_issues(chunked(few, (8, 12)), chunked(labels, (8, 12)))
    expected = find_label_issues(few, labels)
    assert np.array_equal(issues.label_quality, expected.label_quality)


def test_rows_of_chunks_are_taken_in_order():
    with pytest.raises(ValueError, match="in ascending order"):
        split_index(np.array([3, 1]), np.array([0, 5]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda chunk: chunk.astype(str), "X holds text in chunk 1 .dtype <U"),
        (lambda chunk: chunk * 1j, "X holds complex numbers .* in chunk 1"),
        (lambda chunk: chunk.astype("M8[s]"), "X holds dates in chunk 1"),
        (
            lambda chunk: np.ma.masked_array(chunk, chunk > chunk.min()),
            r"X has masked cells in chunk 1, first at index \(0, 0\)",
        ),
        (lambda chunk: chunk[:, 0], r"X has 6 columns, but chunk 1 has shape \(20,\): give all"),
        (lambda chunk: chunk[:, :5], r"X has 6 columns, but chunk 1 has shape \(20, 5\)"),
    ],
    ids=["text", "complex", "dates", "masked", "one dimension", "narrow"],
)
def test_error_names_a_chunk_that_differs_from_its_array(change, message):
    X = np.arange(360.0).reshape(60, 6) % 7 + 1
    y = np.arange(60) % 2

    def changed(block, block_info=None):
        return change(block) if block_info[0]["chunk-location"][0] == 1 else block

    other = chunked(X, (20, 20, 20)).map_blocks(changed, dtype=X.dtype, meta=X[:0])
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit(other, y)
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit(X, y).predict(other).compute()

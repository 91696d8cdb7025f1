"""Audits of Dask collections. tests/judge compares the verdicts of all containers."""

import dask.array as da
import numpy as np
import pytest

import problems
from twohot import find_label_issues
from twohot.audit.issues import COLUMNS, ROW_FIELDS

DATA = problems.digits(noise_rate=0.3, n_train=700)
X, Y = DATA.X.astype(np.float32), DATA.given_labels
CHUNKS = (300, 0, 150, 250)


def chunked(values):
    return da.from_array(values, chunks=(CHUNKS, *((-1,) * (values.ndim - 1))))


def test_the_result_is_in_memory_and_holds_26_bytes_a_row():
    names = np.array([f"row {number}" for number in range(700)])
    for rows, labels in ((X, Y), (chunked(X), chunked(Y))):
        found = find_label_issues(rows, labels, ids=names)
        assert found.columns == COLUMNS
        assert list(found.ids) == names.tolist()
        assert sum(getattr(found, name).nbytes for name in ROW_FIELDS) == 700 * 26
        assert all(isinstance(found[name], np.ndarray) for name in COLUMNS)
        assert np.array_equal(found.given_label, Y)
        assert found.n_issues > 100


def test_rows_without_a_label_and_a_budget():
    labels = Y.astype(str).astype(object)
    labels[::50], labels[1::100] = None, "unknown"
    labels[300:450] = None  # a whole chunk
    found = find_label_issues(chunked(X), chunked(labels), budget=20, missing="unknown")
    expected = find_label_issues(X, labels, budget=20, missing=["unknown"])
    assert found.n_issues == expected.n_issues == 20
    assert found.messages == expected.messages
    assert any("Rows without a label" in message for message in found.messages)
    assert np.array_equal(np.isnan(found.label_quality), np.isnan(expected.label_quality))
    assert np.mean(found.predicted_label == expected.predicted_label) > 0.98


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_workers_of_a_cluster_judge_rows():
    found, expected = find_label_issues(chunked(X), chunked(Y)), find_label_issues(X, Y)
    assert np.mean(found.is_label_issue == expected.is_label_issue) > 0.995
    assert np.corrcoef(found.label_quality, expected.label_quality)[0, 1] > 0.999

"""The table of an audit in Parquet files: all columns, reading it again, rejected changes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twohot import find_label_issues
from twohot.audit import rows_of_issues
from twohot.audit.issue_files import labels_digest, read_issue_parts, write_issue_parts
from twohot.audit.issues import COLUMNS
from twohot.base.labels import Labels
from twohot.tables.parts import begin_parts

N_ROWS = 12
PROBABILITIES = np.random.default_rng(0).dirichlet(np.ones(3), N_ROWS)
NAMES = ["ant", "bee", "cow"]
GIVEN = np.array(NAMES, dtype=object)[np.arange(N_ROWS) % 3]
GIVEN[4:8] = None  # a whole part


def audited(labels=GIVEN, **options):
    return find_label_issues(
        None, labels, probabilities=PROBABILITIES, classes=sorted(set(labels) - {None}), **options
    )


def written(folder, issues, items=None):
    """Write the table in parts; return the fields of their summary."""
    about = {"labels": labels_digest(Labels(issues.given, issues.classes))}
    parts = begin_parts(folder, about, 3, force=False)
    write_issue_parts(issues, parts, np.array([0, 4, 8, N_ROWS]), items=items)
    about = {"report": "r1", "classes": NAMES, "item_kind": "text", "has_items": True}
    return {**about, "id_kind": issues.ids.kind, "id_column": issues.ids.column}


@pytest.mark.parametrize("labels", [GIVEN, np.arange(N_ROWS) % 3], ids=["text", "numbers"])
def test_all_columns_are_written(labels, tmp_path):
    issues = audited(labels)
    written(tmp_path, issues)
    files = sorted(tmp_path.glob("part-0000?.parquet"))
    assert len(files) == 3
    table = pq.read_table(files)
    assert table.column_names == ["id", *COLUMNS]
    assert table["id"].to_pylist() == list(range(N_ROWS))
    frame = table.to_pandas()
    for name in COLUMNS:
        expected = pd.Series(issues[name]).astype(frame[name].dtype)
        pd.testing.assert_series_equal(frame[name], expected, check_names=False)
    # All files have one schema, even that of a part without labels.
    first, *others = (pq.read_schema(file) for file in files)
    assert all(schema.equals(first) for schema in others)


@pytest.mark.parametrize("ids", [None, [f"row {number}" for number in range(N_ROWS)]])
def test_the_rows_of_a_review_are_read_again(ids, tmp_path):
    issues, items = audited(ids=ids), [f"text {number}" for number in range(N_ROWS)]
    found = read_issue_parts(str(tmp_path), written(tmp_path, issues, items))
    expected = rows_of_issues(issues, items, "text")
    assert found.report_id() == "r1"
    assert found.take(np.array([1, 3])).report_id() == "r1"
    assert replace(found, report="").report_id() == expected.report_id()
    for name in ("label_quality", "confidence", "second_confidence", "is_undecided"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_rejects_changed_parts(tmp_path):
    issues, items = audited(), [""] * N_ROWS
    fields, path = written(tmp_path, issues, items), tmp_path / "part-00000.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("given_label")

    def refused(labels, match):
        pq.write_table(table.set_column(place, "given_label", pa.array(labels)), path)
        with pytest.raises(ValueError, match=match):
            read_issue_parts(str(tmp_path), fields)

    refused(["ant"] * 4, "their labels differ from the audited labels.*: run the audit again")
    refused(["dog"] * 4, "given_label has labels that are no class.*: run the audit again")

"""`twohot apply` to Parquet folders: corrected copies in parts, every other column as it was."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import column, done, everything, refused, run
from parquet_source import (
    GIVEN,
    IDS,
    N_ROWS,
    NAMES,
    TRUE,
    WRONG,
    little_memory,
    small_parts,
    stop_after,
    write_source,
)

from twohot.review import own_file
from twohot.tables.csv_file import write_csv

STARS = np.arange(N_ROWS) * 0.5
COLUMNS = ("report", "id", "given_label", "suggested_label", "decision", "label")


@pytest.fixture(scope="module", params=["in memory", "in parts"])
def audit(request, tmp_path_factory):
    """An audit of a folder whose wrong labels are clear, in memory or in parts."""
    root = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patched:
        small_parts(patched, 2)
        if request.param == "in parts":
            little_memory(patched)
        source = write_source(root / "embeddings", stars=STARS)
        columns = ("--label-column", "kind", "--feature-column", "vector")
        done("audit", source, "-o", root / "audit", "--quiet", *columns)
    return root


@pytest.fixture
def decided(audit, tmp_path):
    """Decisions about a few of the flagged rows."""
    report = json.loads((audit / "audit" / "summary.json").read_text())["report"]
    made = {0: ("reject", ""), 12: ("new_class", "dog"), 24: ("exclude", ""), 36: ("accept", "")}
    lines = [
        (report, str(IDS[row]), GIVEN[row], NAMES[TRUE[row]], *decision)
        for row, decision in made.items()
    ]
    write_csv(tmp_path / "decisions.csv", COLUMNS, lines)
    return tmp_path / "decisions.csv"


def applied(audit, output, *more):
    source = audit / "embeddings"
    return run("apply", *more, "--audit", audit / "audit", "--to", source, "-o", output, "--quiet")


def contents(folder):
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def expected_labels(*, accepted):
    labels = np.where(WRONG & accepted, NAMES[TRUE], GIVEN).astype(object)
    labels[[0, 12, 24, 36]] = [GIVEN[0], "dog", None, NAMES[TRUE[36]]]
    return labels.tolist()


def test_a_corrected_copy_has_all_else_as_it_was(audit, decided, tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    before = everything(audit)
    result = applied(audit, tmp_path / "clean", decided)
    assert result.exit_code == 0, result.output
    assert "4 rows decided: 1 suggestion accepted, 0 second candidates taken" in result.output
    # Of 50 flagged rows, 46 are open; excluded ones are not counted as changed.
    assert (
        "2 of 600 rows have a label of another class now; 46 flagged rows without" in result.output
    )
    assert "(5 parts): labels in column 'kind', old labels in 'given_label'" in result.output
    found, source = pq.read_table(tmp_path / "clean"), pq.read_table(audit / "embeddings")
    assert found["kind"].to_pylist() == expected_labels(accepted=False)
    assert found["given_label"].to_pylist() == GIVEN.tolist()
    others = ["id", "vector", "stars"]
    assert found.select(others).equals(source.select(others))
    assert everything(audit) == before
    # It is a source like any other.
    probe = tmp_path / "p.safetensors"
    features = ("--label-column", "kind", "--feature-column", "vector")
    done("fit", tmp_path / "clean", "-o", probe, "--quiet", *features)


def test_all_suggestions_and_rows_left_out(audit, decided, tmp_path):
    result = applied(audit, tmp_path / "clean", decided, "--accept-all", 0.5, "--drop-excluded")
    assert result.exit_code == 0, result.output
    found = pq.read_table(tmp_path / "clean")
    expected = expected_labels(accepted=True)
    assert found["kind"].to_pylist() == [label for label in expected if label is not None]
    assert IDS[24] not in found["id"].to_pylist()


@pytest.mark.parametrize("audit", ["in parts"], indirect=True)
def test_a_stopped_copy_is_resumed_by_the_same_run(audit, decided, tmp_path, monkeypatch):
    small_parts(monkeypatch, 1)
    assert applied(audit, tmp_path / "whole", decided).exit_code == 0
    with stop_after(3, own_file):
        assert applied(audit, tmp_path / "clean", decided).exit_code != 0
    assert len(list((tmp_path / "clean").glob("*.parquet"))) == 3
    other = applied(audit, tmp_path / "clean", decided, "--accept-all", 0.5)
    assert "holds parts of another run, which differs in accept_all" in other.output
    result = applied(audit, tmp_path / "clean", decided)
    assert "(7 parts, 3 of them already there)" in result.output
    assert contents(tmp_path / "clean") == contents(tmp_path / "whole")
    # A copy of the audit is the same; another audit is not.
    root = shutil.copytree(audit, tmp_path / "audited")  # with the times of its files
    assert "already there" in applied(root, tmp_path / "clean", decided).output
    file = root / "audit" / "issues.parquet" / "_twohot.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"budget": 3}))
    other = applied(root, tmp_path / "clean", decided)
    assert "parts of another run, which differs in audit:" in other.output


def test_labels_of_all_rows_and_files_in_another_order(audit, decided, tmp_path):
    labels = tmp_path / "labels.csv"
    done("apply", decided, "--audit", audit / "audit", "-o", labels)
    expected = ["" if label is None else label for label in expected_labels(accepted=False)]
    assert column(labels, "label") == expected
    (tmp_path / "reversed").mkdir()
    for number, file in enumerate(sorted((audit / "embeddings").iterdir(), reverse=True)):
        shutil.copy(file, tmp_path / "reversed" / f"{number}.parquet")
    asked = (decided, "--audit", audit / "audit", "--to", tmp_path / "reversed", "--quiet")
    done("apply", *asked, "-o", tmp_path / "clean")
    found = pq.read_table(tmp_path / "clean").sort_by("id")
    assert found["kind"].to_pylist() == expected_labels(accepted=False)


def test_labels_that_are_numbers_with_gaps(tmp_path):
    codes = np.where(np.arange(N_ROWS) % 50 == 7, np.nan, np.searchsorted(NAMES, GIVEN))
    source, audit = write_source(tmp_path / "embeddings", code=codes), tmp_path / "audit"

    def drop(*names):
        for file in source.iterdir():
            pq.write_table(pq.read_table(file).drop_columns([*names]), file)

    def applied_to_source(output):
        asked = ("--accept-all", 0.5, "--audit", audit, "--quiet", "--to", source)
        return run("apply", *asked, "-o", tmp_path / output)

    drop("id", "kind")
    done("audit", source, "-o", audit, "--label-column", "code", "--quiet")
    result = applied_to_source("clean")
    assert result.exit_code == 0, result.output
    found = pq.read_table(tmp_path / "clean")["code"].to_numpy()
    assert np.array_equal(found[WRONG], TRUE[WRONG])
    drop("code")
    assert "has no column of text or whole numbers" in applied_to_source("none").output


def test_rejects_other_files_than_were_audited(audit, decided, tmp_path):
    def said(*more, to, output=tmp_path / "clean"):
        message = refused("apply", *more, "--audit", audit / "audit", "--to", to, "-o", output)
        assert not output.exists()
        return message

    def changed(name, rows):
        (tmp_path / name).mkdir()
        pq.write_table(rows, tmp_path / name / "a.parquet")
        return tmp_path / name

    source = audit / "embeddings"
    table = pq.read_table(source)
    place = table.column_names.index("kind")
    labels = pa.array([*GIVEN[:500], "ant", *GIVEN[501:]])
    relabelled = changed("relabelled", table.set_column(place, "kind", labels))
    message = f"in row {IDS[500]} the column 'kind' has 'ant', but the audit has 'cow'"
    assert message in said(decided, to=relabelled)
    shorter = said(decided, to=changed("shorter", table.slice(0, 500)))
    assert re.search(rf"lacks (100 rows of the audit \('{IDS[500]}'|row {IDS[500]} of)", shorter)
    unnamed = changed("unnamed", table.drop_columns(["id"]))
    assert "but no column 'id' of ids" in said(decided, to=unnamed)
    stranger = tmp_path / "stranger.csv"
    report = json.loads((audit / "audit" / "summary.json").read_text())["report"]
    write_csv(stranger, COLUMNS[:2] + COLUMNS[4:], [(report, "1", "reject", "")])
    assert "row 1 was decided but is not in the audit" in said(stranger, to=source)
    inside = said(decided, to=source, output=source / "clean")
    assert "and would be read as data of this source: choose a path outside of" in inside

"""Commands read a folder of Parquet files, or several, as one table."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import column, run

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(300, 6)).astype(np.float32)
Y = np.array(["ant", "bee"])[(X[:, :2] + GENERATOR.normal(size=(300, 2))).argmax(axis=1)]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "embeddings"
    path.mkdir()
    for number, rows in enumerate(np.split(np.arange(300), 3)):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), 6)
        columns = {"id": rows + 1000, "vector": lists, "kind": Y[rows]}
        pq.write_table(pa.table(columns), path / f"{number}.parquet")
    return path


def done(*arguments):
    result = run(*arguments, "--quiet")
    assert result.exit_code == 0, result.output


def test_fit_audit_and_predict(folder, tmp_path):
    probe, predicted = tmp_path / "p.safetensors", tmp_path / "all.csv"
    done("fit", folder, "-o", probe, "--label-column", "kind")
    done("audit", folder, "-o", tmp_path / "audit", "--label-column", "kind")
    done("predict", probe, folder, "-o", predicted)
    ids = [str(1000 + row) for row in range(300)]
    assert column(predicted, "id") == ids
    assert column(tmp_path / "audit" / "issues.csv", "id") == ids
    agree = np.array(column(predicted, "predicted_label")) == Y
    assert agree.mean() > 0.7


def test_several_sources_are_one_table(folder, tmp_path):
    files, probe = [folder / "2.parquet", folder / "0.parquet"], tmp_path / "p.safetensors"
    done("fit", *files, "-o", probe, "--label-column", "kind")
    done("predict", probe, *files, "-o", tmp_path / "some.csv")
    expected = [*range(1200, 1300), *range(1000, 1100)]
    assert column(tmp_path / "some.csv", "id") == list(map(str, expected))

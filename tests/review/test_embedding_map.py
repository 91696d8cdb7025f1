"""Maps of embeddings: coordinates, sampled rows, data of a page, and geometry."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from page_script import WITHOUT_ELEMENTS, data_of, json_of, run_page

import problems
from audits import HOSTILE, audit_rows
from prepared import prepared_rows
from twohot import find_label_issues
from twohot.base.labels import NO_LABEL
from twohot.review.embedding_map import check_map, map_embeddings
from twohot.review.page import write_review
from twohot.review.records import EmbeddingMap, ReviewSummary
from twohot.rows import AS_THEY_ARE, Rows
from twohot.tables.row_ids import RowIds

MODULES = (*WITHOUT_ELEMENTS, "points")
POINTS = """const points = pointsOf(report.map);
const columns = Object.fromEntries(Object.entries(points).map(([name, values]) =>
  [name, values?.length ? [...values] : values]));"""


def map_of(rows, coordinates, *, places=None, groups=None) -> EmbeddingMap:
    places = np.arange(rows.n_rows) if places is None else places
    return EmbeddingMap("pca", places, np.asarray(coordinates, dtype=float), 0.5, groups)


def written(folder, rows, found):
    write_review(folder / "r.html", rows, ReviewSummary(embedding_map=found))
    return folder / "r.html"


def test_coordinates_are_principal_components() -> None:
    X = np.random.default_rng(0).normal(size=(300, 20)) @ np.diag(np.arange(20, 0, -1))
    rows = prepared_rows(X)
    found = map_embeddings(rows, np.zeros(300, bool))
    x = rows.in_memory(np.arange(300)).X
    _, singular, axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    axes = axes[:2] * np.sign(axes[[0, 1], np.abs(axes[:2]).argmax(axis=1)])[:, np.newaxis]
    np.testing.assert_allclose(found.coordinates, x @ axes.T, atol=1e-8)
    assert found.variance == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum())
    assert found.rows.tolist() == list(range(300))


def test_samples_rows_and_keeps_the_flagged_ones() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 3))
    for n_flagged, n_mapped in ((30, 100), (90, 140), (500, 550)):
        flagged = np.arange(1000) < n_flagged
        found = map_embeddings(prepared_rows(X), flagged, groups=np.arange(1000), most_rows=100)
        assert found.rows[:n_flagged].tolist() == list(range(n_flagged))
        assert len(found.rows) == n_mapped
        assert np.all(np.diff(found.rows) > 0)
        assert found.groups == [str(row) for row in found.rows]
        alone = map_embeddings(prepared_rows(X), flagged)
        np.testing.assert_allclose(found.coordinates, alone.coordinates[found.rows], atol=1e-12)


@pytest.mark.parametrize("X", [np.arange(6.0)[:, np.newaxis], np.ones((6, 3))])
def test_rows_in_one_dimension_are_mapped_to_a_line(X, tmp_path) -> None:
    found = map_embeddings(Rows(X, AS_THEY_ARE), np.zeros(6, bool))
    assert np.ptp(found.coordinates[:, 1]) == 0
    assert data_of(tmp_path, audit_rows(6), ReviewSummary(embedding_map=found))["map"]["n"] == 6


def test_umap_gets_principal_components_and_a_seed(monkeypatch) -> None:
    asked = {}

    def made(**options):
        asked.update(options)
        return SimpleNamespace(fit_transform=lambda x: x[:, :2].astype(np.float32) * 2)

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=made))
    rows = prepared_rows(np.random.default_rng(0).normal(size=(200, 9)))
    found = map_embeddings(rows, np.zeros(200, bool), method=check_map("umap"))
    assert asked == {"n_neighbors": 15, "random_state": 0, "n_jobs": 1}
    components = map_embeddings(rows, np.zeros(200, bool)).coordinates
    np.testing.assert_allclose(found.coordinates, 2 * components, atol=1e-4)


def test_rejects_maps_before_the_work(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r'need umap-learn: pip install "twohot\[umap\]"'):
        check_map("umap")
    data = problems.digits(0.3, 100)
    issues = find_label_issues(data.X, data.given_labels)
    wrong = {"map": "tsne"}, {"groups": [1, 2]}
    for given, said in zip(wrong, ("map='tsne' is not known", "groups has 2 entries"), strict=True):
        with pytest.raises(ValueError, match=said):
            issues.report(tmp_path / "r.html", X=data.X, **given)
    assert list(tmp_path.iterdir()) == []
    for method, is_there in (("pca", True), (None, False)):
        issues.report(tmp_path / "r.html", X=data.X, map=method)
        page = tmp_path / "r.html"
        assert (json.loads(json_of(page))["map"] is not None) == is_there
        assert ('id="tab-map"' in page.read_text("utf-8")) == is_there


def test_page_unpacks_the_points_of_a_map(tmp_path) -> None:
    rows = audit_rows(
        12,
        given_labels=np.where(np.arange(12) == 3, NO_LABEL, np.arange(12) % 4),
        label_quality=np.where(np.arange(12) == 3, np.nan, np.arange(12) / 12),
        ids=RowIds([*HOSTILE[:11], "last"], "column", "nr"),
    )
    places = np.array([0, 3, 4, 5, 9])
    coordinates = np.random.default_rng(0).normal(size=(5, 2)) * 1e3
    groups = [HOSTILE[k % 2] for k in range(5)]
    path = written(tmp_path, rows, map_of(rows, coordinates, places=places, groups=groups))
    found = run_page(path, f"{POINTS} return [columns, report.map];", modules=MODULES)
    columns, packed = found
    assert columns["rows"] == places.tolist()
    expected = coordinates - coordinates.min(axis=0)
    expected /= expected.max()
    np.testing.assert_allclose(np.c_[columns["x"], columns["y"]], expected, atol=1e-5)
    assert columns["given"] == [1, 0, 1, 2, 2]
    assert columns["suggested"] == (rows.suggested_labels[places] + 1).tolist()
    assert columns["wrong"] == [100, 255, 67, 58, 25]
    shown = json.loads(json_of(path))["row"]
    assert columns["shown"] == [shown.index(row) if row in shown else -1 for row in places]
    assert packed["id"] == ["", HOSTILE[3][:80], "", HOSTILE[5][:80], HOSTILE[9][:80]]
    assert [packed["groups"][code - 1] for code in columns["group"]] == groups
    assert "5 of 12 rows are shown: all flagged rows" in packed["said"]


def test_point_takes_about_ten_bytes(tmp_path) -> None:
    rows = audit_rows(4000)
    found = map_of(rows, np.random.default_rng(0).normal(size=(4000, 2)))
    with_it, without = (written(tmp_path, rows, each).stat().st_size for each in (found, None))
    assert (with_it - without) / 4000 < 12


def test_finds_points_by_place_direction_and_lasso(tmp_path) -> None:
    rows = audit_rows(60)
    coordinates = np.repeat(np.random.default_rng(1).normal(size=(40, 2)), [1, 2] * 20, axis=0)
    code = """const points = pointsOf(report.map); const odd = (k) => k % 2 === 1;
    const all = [...points.x.keys()];
    const { at, path, ways } = argument;
    return { near: nearestPoint(points, at, 1, odd), none: nearestPoint(points, [5, 5], 0.2),
      places: [[...points.x], [...points.y]],
      steps: ways.map((way) => all.map((k) => pointTowards(points, k, way))),
      inside: all.filter((k) => isInside(path, points.x[k], points.y[k])) };"""
    path = [[0.05, 0.05], [0.95, 0.3], [0.3, 0.3], [0.3, 0.95]]  # an arrowhead
    page = written(tmp_path, rows, map_of(rows, coordinates))
    ways = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    asked = {"at": [0.5, 0.5], "path": path, "ways": ways}
    found = run_page(page, code, asked, modules=MODULES)
    points = np.array(found["places"]).T
    distance = np.linalg.norm(points - 0.5, axis=1)
    assert found["near"] == 1 + 2 * np.argmin(distance[1::2])
    assert found["none"] == -1
    for way, steps in zip(np.array(ways), found["steps"], strict=True):
        for start, step in enumerate(steps):
            moved = points - points[start]
            along, square = moved @ way, (moved**2).sum(axis=1)
            later = (np.arange(60) - start) * way.sum() > 0
            ahead = np.where(square > 0, (along > 0) & (2 * along**2 >= square), later)
            expected = np.where(ahead, square, np.inf)
            assert step == (np.argmin(expected) if ahead.any() else -1)
    x, y = points.T
    # Both wings of the arrowhead, without the space between them.
    lower = (y > 0.05 + (x - 0.05) * 0.25 / 0.9) & (y < 0.3) & (x < 0.95) & (y < x + 1e-9)
    left = (x > 0.05 + (y - 0.05) * 0.25 / 0.9) & (x < 0.3) & (y < 0.95) & (x < y + 1e-9)
    assert found["inside"] == np.flatnonzero(lower | left).tolist()

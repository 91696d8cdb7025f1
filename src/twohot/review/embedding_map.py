"""A map of the embeddings: rows as points in two dimensions.

    pca     the first two principal components of the prepared rows, a linear projection
    umap    UMAP of their leading principal components, which keeps nearest rows together

Components are computed from a sample. Rows are projected block by block, in one pass over the
mapped rows. A point takes about ten bytes in the page.
"""

import base64
from typing import Any

import numpy as np

from twohot.base import BoolArray, FloatArray, IntArray, as_text, check_choice, load_extra
from twohot.review.records import EmbeddingMap, ReviewRows, readable
from twohot.rows import Rows, products_with

METHODS = ("pca", "umap")
# Maximum points of a map, which a browser draws in a few milliseconds. More rows are sampled.
MAP_ROWS = 50_000
# Maximum rows and entries (128 MB) of the sample for the components.
SAMPLE_ROWS, SAMPLE_ENTRIES = 10_000, 2**25
# Components for UMAP. More would add mostly noise, and slow down the search of neighbours.
UMAP_COMPONENTS = 50
# Number of neighbours in UMAP: its own default.
UMAP_NEIGHBOURS = 15
# Coordinates in a page are integers up to this number, finer than any screen.
STEPS = 2**16 - 1
# Maximum characters of the id of a row or group in a page.
NAME_LIMIT = 80
# Value in the page for an unknown probability; known ones are percentages from 0 to 100.
UNKNOWN = 255


def check_map(method: str | None) -> str | None:
    """Return the method of a map; raise if it is unknown or not installed."""
    if method is None:
        return None
    check_choice("map", method, METHODS)
    if method == "umap":
        load_extra("umap", "umap", "maps by UMAP")
    return method


def map_embeddings(
    rows: Rows,
    flagged: BoolArray,
    *,
    method: str = "pca",
    groups: Any = None,
    most_rows: int = MAP_ROWS,
) -> EmbeddingMap:
    """Return coordinates of rows in two dimensions.

    `rows` are all prepared rows of the data. `groups` has the group of every row. If there are more
    rows than `most_rows`, the flagged rows and a random sample of others are mapped.

    Examples
    --------
    >>> from twohot.rows import AS_THEY_ARE
    >>> plane = np.array([[1.0, 2, 0], [5, 2, 0], [1, 4, 0], [5, 4, 0]])
    >>> found = map_embeddings(Rows(plane, AS_THEY_ARE), np.zeros(4, bool))
    >>> found.coordinates.round(6).tolist()
    [[1.0, 2.0], [5.0, 2.0], [1.0, 4.0], [5.0, 4.0]]
    """
    chosen = _mapped_rows(flagged, most_rows)
    axes, variance = _components(rows, 2 if method == "pca" else UMAP_COMPONENTS)
    mapped = rows if len(chosen) == rows.n_samples else rows.take(chosen)
    coordinates = np.concatenate(list(mapped.map(products_with, axes)))
    if method == "umap":
        umap = load_extra("umap", "umap", "maps by UMAP")
        near = min(UMAP_NEIGHBOURS, len(chosen) - 1)
        # With several threads, the map would differ in each run.
        model = umap.UMAP(n_neighbors=near, random_state=0, n_jobs=1)
        coordinates = np.asarray(model.fit_transform(coordinates), dtype=np.float64)
    flat = np.zeros((len(chosen), 2))  # one feature gives one component
    flat[:, : coordinates.shape[1]] = coordinates
    names = None if groups is None else [as_text(name) for name in np.asarray(groups)[chosen]]
    return EmbeddingMap(method, chosen, flat, variance, names)


def _mapped_rows(flagged: BoolArray, most_rows: int) -> IntArray:
    """Return the rows of a map: all rows, or the flagged rows and a random sample of others."""
    if len(flagged) <= most_rows:
        return np.arange(len(flagged))
    others = np.flatnonzero(~flagged)
    n_others = max(most_rows - int(flagged.sum()), most_rows // 2)
    drawn = np.random.default_rng(0).choice(others, min(n_others, len(others)), replace=False)
    return np.sort(np.concatenate([np.flatnonzero(flagged), drawn]))


def _components(rows: Rows, n_components: int) -> tuple[FloatArray, float]:
    """Return the leading principal components as rows, and the first two's share of variance.

    The largest entry of each component is positive, to fix its sign.
    """
    # Imported here, so that `import twohot` does not load it.
    from sklearn.decomposition import PCA  # noqa: PLC0415

    n_rows = min(rows.n_samples, SAMPLE_ROWS, max(2, SAMPLE_ENTRIES // rows.n_columns))
    sample = np.sort(np.random.default_rng(0).choice(rows.n_samples, n_rows, replace=False))
    n_found = min(n_components, rows.n_columns, n_rows)
    with np.errstate(invalid="ignore"):  # if all rows are equal, there is no variance
        pca = PCA(n_found, random_state=0).fit(rows.in_memory(sample).X)
    return pca.components_, float(pca.explained_variance_ratio_[:2].sum())


# The map in a page --------------------------------------------------------------------------------


def map_columns(
    rows: ReviewRows, shown: IntArray, found: EmbeddingMap | None
) -> dict[str, Any] | None:
    """Return the points of a map as packed columns; None without a map.

    `shown` are the rows of the page, whose ids are not repeated.
    """
    if found is None:
        return None
    places = found.rows.tolist()
    ids = [_cut(rows.ids[row]) for row in places]
    in_page = set(shown.tolist())
    corner = found.coordinates.min(axis=0)
    size = float(np.ptp(found.coordinates, axis=0).max()) or 1.0  # if all rows are equal
    x, y = np.rint((found.coordinates - corner) / size * STEPS).T
    percent = np.rint(100 * rows.probability_wrong[found.rows])
    n_classes = len(rows.classes)
    groups: Any = None
    group: str | None = None
    if found.groups is not None:
        # As objects: fixed-width text has the width of the longest name, and loses NUL at its end.
        names = np.array([_cut(name) for name in found.groups], dtype=object)
        groups, codes = np.unique(names, return_inverse=True)
        group = _packed(codes + 1, len(groups))
    return {
        "said": _about(found, rows.n_rows),
        "n": len(places),
        "row": None if len(places) == rows.n_rows else _packed(found.rows, rows.n_rows),
        "id": None
        if ids == list(map(str, places))
        else ["" if row in in_page else name for row, name in zip(places, ids, strict=True)],
        "x": _packed(x, STEPS),
        "y": _packed(y, STEPS),
        # Codes start at 1; 0 means no label.
        "given": _packed(rows.given_labels[found.rows] + 1, n_classes),
        "suggested": _packed(rows.suggested_labels[found.rows] + 1, n_classes),
        "wrong": _packed(np.where(np.isnan(percent), UNKNOWN, percent), UNKNOWN),
        "groups": groups,
        "group": group,
    }


def _cut(name: str) -> str:
    return readable(name)[:NAME_LIMIT]


def _packed(values: FloatArray | IntArray, most: int) -> str:
    """Return integers from 0 to `most` as base64, in the smallest type that fits."""
    kind = np.min_scalar_type(most).newbyteorder("<")
    return base64.b64encode(values.astype(kind).tobytes()).decode()


def _about(found: EmbeddingMap, n_rows: int) -> str:
    """Return a description of a map."""
    said = (
        "UMAP: near rows are similar; distances between clusters mean little."
        if found.method == "umap"
        else "The first two principal components of the features"
        + ("." if np.isnan(found.variance) else f": {found.variance:.0%} of their variance.")
    )
    if len(found.rows) < n_rows:
        said += f" {len(found.rows):,} of {n_rows:,} rows: all flagged rows, others at random."
    return said

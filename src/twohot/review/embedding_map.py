"""A map of the embeddings: every row of the data as a point in two dimensions.

    pca     the two principal components of the prepared rows: a linear projection
    umap    UMAP of their leading principal components, which keeps near rows near

Components are those of a sample of the rows, and rows are projected block by block: the cost is a
pass over the rows that are mapped, whatever holds them. A page carries about ten bytes per point.
"""

import base64
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from twohot.base import BoolArray, FloatArray, IntArray, as_text, check_choice, load_extra
from twohot.review.records import EmbeddingMap, ReviewRows, readable
from twohot.rows import Rows, products_with

METHODS = ("pca", "umap")
# Points of a map: a browser draws so many in a few milliseconds. Of more rows a sample is mapped.
MAP_ROWS = 50_000
# Rows that the components are found from, and the most entries that these have (128 MB).
SAMPLE_ROWS, SAMPLE_ENTRIES = 10_000, 2**25
# Components that UMAP starts from: beyond them there is mostly noise, and the search of neighbours
# takes longer.
UMAP_COMPONENTS = 50
# Neighbours of a row by which UMAP knows what is near: its own default.
UMAP_NEIGHBOURS = 15
# Steps of a coordinate in a page, finer than any screen.
STEPS = 2**16 - 1
# Characters of the name of a row or a group that a page carries.
NAME_LIMIT = 80
# In the place of a probability in percent that is not known.
UNKNOWN = 255


def check_map(method: str | None) -> str | None:
    """Return a method of a map, or None for no map; raise if it is not known or not installed."""
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
    """Return where rows are in two dimensions.

    Parameters
    ----------
    rows : Rows
        All rows of the data, prepared.
    flagged : array of shape (n_rows,)
        Rows that are mapped in any case.
    method : {"pca", "umap"}
    groups : array, list or series of shape (n_rows,), optional
        The group of every row.
    most_rows : int
        Of more rows a sample is mapped: those that are flagged, and others drawn at random.

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
        # One thread: with more of them the same rows give another map.
        model = umap.UMAP(n_neighbors=near, random_state=0, n_jobs=1)
        coordinates = np.asarray(model.fit_transform(coordinates), dtype=np.float64)
    flat = np.zeros((len(chosen), 2))  # of one feature there is one component
    flat[:, : coordinates.shape[1]] = coordinates
    names = None if groups is None else [as_text(name) for name in np.asarray(groups)[chosen]]
    return EmbeddingMap(method, chosen, flat, variance, names)


def _mapped_rows(flagged: BoolArray, most_rows: int) -> IntArray:
    """Return the rows of a map: all, or the flagged ones and at least half as many others."""
    if len(flagged) <= most_rows:
        return np.arange(len(flagged))
    others = np.flatnonzero(~flagged)
    n_others = max(most_rows - int(flagged.sum()), most_rows // 2)
    drawn = np.random.default_rng(0).choice(others, min(n_others, len(others)), replace=False)
    return np.sort(np.concatenate([np.flatnonzero(flagged), drawn]))


def _components(rows: Rows, n_components: int) -> tuple[FloatArray, float]:
    """Return the leading principal components, one a row, and the variance that two of them hold.

    Of each component the largest entry is positive: else its sign would be arbitrary.
    """
    n_rows = min(rows.n_samples, SAMPLE_ROWS, max(2, SAMPLE_ENTRIES // rows.n_columns))
    sample = np.sort(np.random.default_rng(0).choice(rows.n_samples, n_rows, replace=False))
    n_found = min(n_components, rows.n_columns, n_rows)
    with np.errstate(invalid="ignore"):  # rows that are all the same have no variance
        pca = PCA(n_found, random_state=0).fit(rows.in_memory(sample).X)
    return pca.components_, float(pca.explained_variance_ratio_[:2].sum())


# What a page carries of a map ---------------------------------------------------------------------


def map_columns(
    rows: ReviewRows, shown: IntArray, found: EmbeddingMap | None
) -> dict[str, Any] | None:
    """Return the points of a map as columns, numbers packed; None without a map.

    `shown` are the rows of the page: what it has of them is not repeated.
    """
    if found is None:
        return None
    places = found.rows.tolist()
    ids = [_cut(rows.ids[row]) for row in places]
    in_page = set(shown.tolist())
    corner = found.coordinates.min(axis=0)
    size = float(np.ptp(found.coordinates, axis=0).max()) or 1.0  # of rows that are all the same
    x, y = np.rint((found.coordinates - corner) / size * STEPS).T
    percent = np.rint(100 * rows.probability_wrong[found.rows])
    n_classes = len(rows.classes)
    groups: Any = None
    group: str | None = None
    if found.groups is not None:
        # As objects: text of numpy is as wide as the longest, and loses NUL at its end.
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
        # From 1: 0 is no label.
        "given": _packed(rows.given_labels[found.rows] + 1, n_classes),
        "suggested": _packed(rows.suggested_labels[found.rows] + 1, n_classes),
        "wrong": _packed(np.where(np.isnan(percent), UNKNOWN, percent), UNKNOWN),
        "groups": groups,
        "group": group,
    }


def _cut(name: str) -> str:
    return readable(name)[:NAME_LIMIT]


def _packed(values: FloatArray | IntArray, most: int) -> str:
    """Return whole numbers from 0 to `most` as base64, each of as few bytes as hold that."""
    kind = np.min_scalar_type(most).newbyteorder("<")
    return base64.b64encode(values.astype(kind).tobytes()).decode()


def _about(found: EmbeddingMap, n_rows: int) -> str:
    """Return what a map shows, in words."""
    said = (
        "UMAP: rows that are near are alike; how far groups of rows are apart says little."
        if found.method == "umap"
        else "The first two principal components of the features"
        + ("." if np.isnan(found.variance) else f": {found.variance:.0%} of their variance.")
    )
    if len(found.rows) < n_rows:
        said += f" {len(found.rows):,} of {n_rows:,} rows: all that are flagged, others at random."
    return said

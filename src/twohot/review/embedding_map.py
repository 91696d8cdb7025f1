"""A map of the embeddings: rows as points in two dimensions.

    pca     the first two principal components of the prepared rows, a linear projection
    umap    UMAP of the leading principal components, which keeps similar rows together

Prepared rows are features as the classifiers of an audit use them. Components are computed from a
sample of the rows. The mapped rows are projected onto the components in one pass over the data. A
point takes about ten bytes in the page.
"""

import base64
from typing import Any

import numpy as np

from twohot.base import BoolArray, FloatArray, IntArray, as_text, check_choice, load_extra
from twohot.review.records import EmbeddingMap, ReviewRows, readable
from twohot.rows import Rows, products_with

METHODS = ("pca", "umap")
# Maximum number of points: a browser draws this number in a few milliseconds.
MAP_ROWS = 50_000
# Maximum number of rows and of entries (128 MB) in the sample for the components.
SAMPLE_ROWS, SAMPLE_ENTRIES = 10_000, 2**25
# Number of components for UMAP. More components mostly add noise, and slow down the search for
# neighbours.
UMAP_COMPONENTS = 50
# Number of neighbours in UMAP: the default of UMAP.
UMAP_NEIGHBOURS = 15
# Coordinates in a page are integers from 0 to this number, finer than any screen.
STEPS = 2**16 - 1
# Maximum number of characters of an id or a group name in a page.
NAME_LIMIT = 80
# Code of an unknown probability in a page; known probabilities are percentages from 0 to 100.
UNKNOWN = 255


def check_map(method: str | None) -> str | None:
    """Return `method`; raise if this method is unknown, or if its package is not installed."""
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

    `rows` are all prepared rows of the data, and `groups` has the group of each row. If there are
    more than `most_rows` rows, the map has the flagged rows and a random sample of the others.

    Examples
    --------
    >>> from twohot.rows import AS_THEY_ARE
    >>> plane = np.array([[1.0, 2, 0], [5, 2, 0], [1, 4, 0], [5, 4, 0]])
    >>> embedding_map = map_embeddings(Rows(plane, AS_THEY_ARE), np.zeros(4, bool))
    >>> embedding_map.coordinates.round(6).tolist()
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
    """Return the rows of a map in ascending order."""
    if len(flagged) <= most_rows:
        return np.arange(len(flagged))
    others = np.flatnonzero(~flagged)
    n_others = max(most_rows - int(flagged.sum()), most_rows // 2)
    drawn = np.random.default_rng(0).choice(others, min(n_others, len(others)), replace=False)
    return np.sort(np.concatenate([np.flatnonzero(flagged), drawn]))


def _components(rows: Rows, n_components: int) -> tuple[FloatArray, float]:
    """Return the leading principal components, and the fraction of variance of the first two.

    scikit-learn fixes the sign of a component: its entry of largest magnitude is positive.
    """
    # Imported here, so that `import twohot` does not load it.
    from sklearn.decomposition import PCA  # noqa: PLC0415

    n_rows = min(rows.n_samples, SAMPLE_ROWS, max(2, SAMPLE_ENTRIES // rows.n_columns))
    sample = np.sort(np.random.default_rng(0).choice(rows.n_samples, n_rows, replace=False))
    n_components = min(n_components, rows.n_columns, n_rows)
    with np.errstate(invalid="ignore"):  # if all rows are equal, there is no variance
        pca = PCA(n_components, random_state=0).fit(rows.in_memory(sample).X)
    return pca.components_, float(pca.explained_variance_ratio_[:2].sum())


# The map in a page --------------------------------------------------------------------------------


def map_columns(
    rows: ReviewRows, shown: IntArray, points: EmbeddingMap | None
) -> dict[str, Any] | None:
    """Return the points of a map as columns in base64; None without a map.

    `shown` are the rows of the page. The ids of these rows are already in the page, and empty here.
    """
    if points is None:
        return None
    places = points.rows.tolist()
    ids = [_cut(rows.ids[row]) for row in places]
    in_page = set(shown.tolist())
    corner = points.coordinates.min(axis=0)
    size = float(np.ptp(points.coordinates, axis=0).max()) or 1.0  # if all rows are equal
    x, y = np.rint((points.coordinates - corner) / size * STEPS).T
    percent = np.rint(100 * rows.probability_wrong[points.rows])
    packed: dict[str, Any] = {
        "said": _about(points, rows.n_rows),
        "n": len(places),
        "row": None if len(places) == rows.n_rows else _packed(points.rows, rows.n_rows),
        "id": None,
        "x": _packed(x, STEPS),
        "y": _packed(y, STEPS),
        # Codes start at 1; 0 means no label.
        "given": _packed(rows.given_labels[points.rows] + 1, len(rows.classes)),
        "suggested": _packed(rows.suggested_labels[points.rows] + 1, len(rows.classes)),
        "wrong": _packed(np.where(np.isnan(percent), UNKNOWN, percent), UNKNOWN),
        "groups": None,
        "group": None,
    }
    if ids != list(map(str, places)):
        packed["id"] = ["" if row in in_page else id_ for row, id_ in zip(places, ids, strict=True)]
    if points.groups is not None:
        # Text of fixed width would need much memory for a long name, and lose NUL at the end.
        names = np.array(list(map(_cut, points.groups)), dtype=object)
        packed["groups"], codes = np.unique(names, return_inverse=True)
        packed["group"] = _packed(codes + 1, len(packed["groups"]))
    return packed


def _cut(name: str) -> str:
    return readable(name)[:NAME_LIMIT]


def _packed(values: FloatArray | IntArray, most: int) -> str:
    """Return integers from 0 to `most` in base64, in the smallest integer type that fits."""
    kind = np.min_scalar_type(most).newbyteorder("<")
    return base64.b64encode(values.astype(kind).tobytes()).decode()


def _about(points: EmbeddingMap, n_rows: int) -> str:
    """Return a description of a map."""
    text = "UMAP: points near each other are similar rows. Distances between clusters mean little."
    if points.method == "pca":
        explained = f", which explain {points.variance:.0%} of the variance"
        ratio = "" if np.isnan(points.variance) else explained
        text = f"The axes are the first two principal components of the features{ratio}."
    if len(points.rows) < n_rows:
        shown = f"{len(points.rows):,} of {n_rows:,} rows are shown"
        text += f" {shown}: all flagged rows, and a random sample of the others."
    return text

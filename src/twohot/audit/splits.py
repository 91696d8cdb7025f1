"""Which rows are fitted on and which are left out."""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from twohot._types import IntArray
from twohot._validation import check_count, is_integer
from twohot.features._checks import check_generator

# Of the splits that a fifth of the rows each is left out in, so many are used that about this many
# rows are judged on. With these the choice loses a tenth of a point; more cost more than they gain.
JUDGED_ROWS = 2_000
N_FOLDS = 5

# The choice is made on at most so many rows, drawn at random; the chosen probe is fitted on all.
SEARCH_ROWS = 50_000

Splits = list[tuple[IntArray, IntArray]]


def choose_splits(cv: Any, labels: IntArray, random_state: Any) -> Splits:
    """Return pairs of rows to fit on and rows left out.

    `cv` is None (see above), a number of folds, a splitter of scikit-learn, or the pairs.
    """
    n_rows = len(labels)
    if cv is None:
        return _default_splits(n_rows, check_generator(random_state))
    if is_integer(cv):
        n_folds = check_count("cv", cv, 2)
        if n_folds > n_rows:
            raise ValueError(
                f"cv={cv} is more than the {n_rows} rows: pass at most {n_rows} folds."
            )
        seed = int(check_generator(random_state).integers(2**31))
        cv = KFold(n_folds, shuffle=True, random_state=seed)
    pairs = cv.split(np.zeros((n_rows, 1)), labels) if hasattr(cv, "split") else cv
    try:
        splits = [_checked(rows, n_rows) for rows in pairs]
    except TypeError as error:
        raise ValueError(
            f"cv={cv!r} is not allowed: pass None, a number of folds, a splitter of scikit-learn "
            "or pairs of row numbers (to fit on, to leave out)."
        ) from error
    if not splits:
        raise ValueError("cv has no splits: pass at least one pair of row numbers.")
    return splits


def _default_splits(n_rows: int, rng: np.random.Generator) -> Splits:
    order = rng.permutation(n_rows)[:SEARCH_ROWS]
    parts = np.array_split(order, min(N_FOLDS, n_rows))
    n_splits = min(len(parts), -(-JUDGED_ROWS * len(parts) // len(order)))
    return [
        (np.sort(np.concatenate(parts[:place] + parts[place + 1 :])), np.sort(parts[place]))
        for place in range(n_splits)
    ]


def _checked(pair: Any, n_rows: int) -> tuple[IntArray, IntArray]:
    fitted, left_out = (np.arange(n_rows)[np.asarray(rows)] for rows in pair)
    if not fitted.size or not left_out.size:
        raise ValueError("cv has a split without rows on one side: give each side some rows.")
    return fitted, left_out

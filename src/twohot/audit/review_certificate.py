"""Certificates of reviews with a stopping rule, and the verification of all certificates."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from twohot.audit.certificate_file import (
    FORMAT_VERSION,
    KEY_DIGITS,
    REVIEW_FILE,
    WORDS,
    check_digest,
    check_of,
    doubts_digest,
    labels_of_rows,
    outcome_of,
    read_signed,
    write_signed,
)
from twohot.audit.checked_rows import Given
from twohot.audit.guaranteed_list import GuaranteedList, certify, doubt_order
from twohot.audit.review_bound import (
    CertifiedReview,
    Look,
    SecondLooks,
    corrected_bound,
    most_marked,
    rows_again,
    second_looks,
)
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    as_text,
    cause_of,
    check_within,
    is_missing,
)
from twohot.review import ReviewRows, label_names_digest, write_verdict_page
from twohot.tables import RowIds, file_cells

SHARE_ALPHA = 0.05  # error probability of each bound (lower and upper) on the wrong labels
KINDS = {False: "list", True: "random"}  # how a row was selected, as written in a certificate


# A review of a folder -----------------------------------------------------------------------------


def review_of(
    rows: ReviewRows, *, until: float, seed: int = 0, alpha: float = 0.05
) -> CertifiedReview:
    """Return a review that may stop when at most a fraction `until` of the labels is wrong."""
    return CertifiedReview(-rows.label_quality, until=until, seed=seed, alpha=alpha)


def write_review_page(
    folder: Path,
    rows: ReviewRows,
    *,
    until: float,
    seed: int = 0,
    twice: float = 0.0,
    n_wrong: float | None = None,
    image_root: Path | None = None,
) -> Path:
    """Write the page of a review that stops when at most a fraction `until` of the labels is wrong.

    `seed` is the seed of the random rows. If `twice` is not 0, the page shows two kinds of rows
    again: all rows with the verdict "wrong", and those with the verdict "right" in a random sample
    of a fraction `twice` of all rows. `n_wrong` is the estimated number of wrong labels, which the
    page shows until the first random row; by default it is the sum of `probability_wrong`.
    """
    check_within("twice", twice, 0, 1)
    review = review_of(rows, until=until, seed=seed)
    fixed = {"format_version": FORMAT_VERSION, **_fixed_fields(rows, review, twice)}
    task = {
        "mode": "review",
        "key": f"review {fixed['digest'][:KEY_DIGITS]} {seed} {twice}",
        "target": review.target,
        "estimate": np.nansum(rows.probability_wrong) if n_wrong is None else n_wrong,
        "certificate": fixed,
        "known": {},
        "next": {"certificate.json": f"twohot verify certificate.json {folder}"},
        **{name: fixed[name] for name in ("until", "alpha", "seed", "twice")},
    }
    sentences = (
        "“Not sure” counts as a wrong label that remains.",
        "The page shows no scores, because a verdict must depend on its row alone.",
        "Verdicts are stored in this browser.",
        "The button Export saves certificate.json. The button Decisions saves the labels.",
    )
    order, path = doubt_order(-rows.label_quality), folder / REVIEW_FILE
    about: dict[str, Any] = {"title": "Review with a certificate", "sentences": sentences}
    write_verdict_page(path, rows, order, task, **about, image_root=image_root)
    return path


def _fixed_fields(rows: ReviewRows, review: CertifiedReview, twice: float) -> dict[str, Any]:
    """Return the fields of a certificate that are fixed before the review."""
    asked = {"until": review.until, "alpha": review.alpha, "seed": review.seed, "twice": twice}
    about = {"digest": doubts_digest(rows), "id_column": rows.ids.column}
    return asked | about | labels_of_rows(rows)


def write_review_certificate(path: Path, rows: ReviewRows, review: CertifiedReview) -> None:
    """Write the certificate of a review of these rows, created by `review_of`."""
    ids = rows.id_texts()
    looks = [[ids[look.row], KINDS[look.is_random], look.verdict] for look in review.looks]
    outcome = {"bound": review.bound, "looks": looks, "again": [], "corrected": None}
    write_signed(path, _fixed_fields(rows, review, twice=0) | outcome)


# Verification -------------------------------------------------------------------------------------


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the fields of a certificate.json, which certifies a list or a review."""
    if not path.is_file():
        advice = "pass the certificate.json that twohot certify or a review page saved."
        raise FileNotFoundError(f"{path} does not exist: {advice}")
    fields = read_signed(path)
    if not {"looks", "listed"} & fields.keys():
        problem = f"{path} describes a draw of rows to check, and is not a certificate"
        raise ArgumentError("", problem, "pass the certificate.json that twohot certify wrote.")
    return fields


def verify_certificate(
    path: Path, rows: ReviewRows | None = None, *, data: Path | None = None
) -> GuaranteedList | CertifiedReview:
    """Compute the list or the review of a certificate.json again; raise if anything differs.

    `rows` are the rows of the audit. Without `rows`, a review is verified with the labels in the
    file `data`. The order of the rows in the list of the review is then not verified, but the bound
    of theorem 3 is valid for any order.
    """
    fields = read_certificate(path)
    if rows is not None:
        check_digest(fields, path, rows)
    try:
        of_file = None if data is None else _rows_of_file(data, fields, path)
        if "looks" not in fields:
            if rows is None:
                problem = f"{path} certifies a list, and its audit is needed to verify it"
                raise ArgumentError("", problem, "pass the folder of the audit.")
            return _verified_list(fields, path, rows)
        if rows is not None:
            return _verified_review(fields, path, rows.id_texts(), -rows.label_quality)
        if of_file is None:
            problem = f"{path} cannot be verified without the labels of the dataset"
            advice = "pass the folder of the audit, or the file that contains the labels."
            raise ArgumentError("", problem, advice)
        return _verified_review(fields, path, *of_file, is_ordered=False)
    except (LookupError, TypeError, AttributeError) as error:
        problem = f"{path} is not a certificate of twohot ({cause_of(error)})"
        raise ArgumentError("", problem, "pass the original file.") from error


def _rows_of_file(data: Path, fields: Mapping[str, Any], path: Path) -> tuple[RowIds, FloatArray]:
    """Return the ids of the rows of a file, and a score of 0 per row, or NaN without a label.

    The labels are in the column whose digest is in the certificate. A cell that is neither a class
    nor a known spelling of a class counts as a missing label.
    """
    columns = file_cells(data)
    name_of = {name: name for name in fields["classes"]} | dict(fields["spellings"])
    for cells in columns.values():
        texts = ("" if is_missing(cell) else as_text(cell) for cell in cells.tolist())
        names = [name_of.get(text, "") for text in texts]
        if label_names_digest(names) != fields.get("labels"):
            continue
        column = fields.get("id_column", "")
        if column not in ("", *columns):
            problem = f"{data} has no column {column!r}, which names the rows in {path}"
            raise ArgumentError("", problem, "pass the file that was audited.")
        by_position = RowIds.by_position(len(names))
        ids = RowIds.of_column(column, columns[column]) if column else by_position
        return ids, np.array([0.0 if name else np.nan for name in names])
    problem = f"the labels in {data} are not those for which {path} was made"
    advice = (
        "pass the file as it was audited. If the audit skipped rows of this file, pass the folder "
        "of the audit instead."
    )
    raise ArgumentError("", problem, advice)


def share_wrong_bounds(path: Path, rows: ReviewRows) -> tuple[float, float]:
    """Return lower and upper bounds on the fraction of wrong labels, each with 95 % confidence.

    The upper bound of the certificate of a list is usually large: only the most suspicious rows
    were drawn, so all other labels count as wrong. For a review, the lower bound is exact, and the
    confidence of the upper bound is that of the review (95 % by default). The labels must be those
    that were checked. The scores may differ in the last digit, as they do between machines.
    """
    fields = read_certificate(path)
    if fields.get("labels") != rows.given_labels_digest():
        problem = f"{path} belongs to other labels, because labels changed after the check"
        raise ArgumentError("", problem, "check these labels, or leave out the certificate.")
    n_labelled = rows.n_rows - rows.n_unlabelled
    if "looks" in fields:
        doubt = np.where(rows.given_labels == NO_LABEL, np.nan, 0.0)
        review = _verified_review(fields, path, rows.ids, doubt, is_ordered=False)
        least = review.remaining.found - review.remaining.unsure
        return least / n_labelled, (least + review.bound) / n_labelled
    n_pool, words = fields["n_pool"], [said for _, said in fields["checked"]]
    # "unsure" counts as right for the lower bound, and as wrong for the upper bound.
    right, wrong = (
        most_marked(SecondLooks(n_pool, len(words), len(words) - words.count(other)), SHARE_ALPHA)
        for other in ("wrong", "right")
    )
    return (n_pool - right) / n_labelled, (n_labelled - n_pool + wrong) / n_labelled


def _verified_list(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> GuaranteedList:
    check = check_of(fields, rows)
    ids = rows.id_texts()
    if [row for row, _ in fields["checked"]] != [ids[row] for row in check.draw.rows]:
        problem = f"{path} has verdicts on rows that were not drawn with its seed"
        raise ArgumentError("", problem, "pass the file that twohot certify wrote.")
    wrong = np.array([WORDS[said] is Given.WRONG for _, said in fields["checked"]])
    listed = certify(check.draw, wrong, check.fdr, attempt=check.attempt)
    again = outcome_of(listed, ids)
    changed = [name for name in again if again[name] != fields.get(name)]
    if changed:
        named = f"the verdicts in it give other values of {', '.join(changed)}"
        problem = f"a verdict or the list in {path} was changed, because {named}"
        raise ArgumentError("", problem, "run twohot certify again.")
    return listed


def _verified_review(
    fields: Mapping[str, Any],
    path: Path,
    ids: Iterable[str],
    doubt: FloatArray,
    *,
    is_ordered: bool = True,
) -> CertifiedReview:
    """Return the review of a certificate, computed again; raise if its bound differs.

    `doubt` are the scores of the rows. If `is_ordered` is False, all scores in `doubt` are equal.
    The rows of the list then get scores that put them into the order of the certificate.
    """
    place = {name: row for row, name in enumerate(ids)}
    kinds = {kind: is_random for is_random, kind in KINDS.items()}
    looks = [Look(place.get(row, -1), kinds[kind], said) for row, kind, said in fields["looks"]]
    if not is_ordered:
        chosen = [look.row for look in looks if not look.is_random and look.row >= 0]
        doubt[chosen] += np.arange(len(chosen), 0, -1)
    review = CertifiedReview(doubt, **{name: fields[name] for name in ("until", "seed", "alpha")})
    review.replay(looks)
    again = {place.get(row, -1): said for row, *said in fields["again"]}
    sample = rows_again(doubt_order(doubt), review.seed, fields["twice"])
    second = second_looks(review.looks, again, sample) if fields["twice"] else None
    with suppress(ArgumentError):  # too few second looks for a bound
        review.corrected = None if second is None else corrected_bound(review.bound, *second)
    corrected = None if review.corrected is None else review.corrected.bound
    if (review.bound, corrected) != (fields["bound"], fields["corrected"]):
        claimed = f"{fields['bound']} (corrected: {fields['corrected']})"
        found = f"{review.bound} (corrected: {corrected})"
        problem = f"{path} was changed: it has a bound of {claimed}, but its verdicts give {found}"
        raise ArgumentError("", problem, "pass the original file.")
    return review

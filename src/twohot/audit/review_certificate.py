"""Certificates of reviews with a stopping rule, and the verification of all certificates."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
    BoolArray,
    as_text,
    cause_of,
    check_within,
    is_missing,
)
from twohot.review import ReviewRows, label_names_digest, write_verdict_page
from twohot.tables import RowIds, file_cells

SHARE_ALPHA = 0.05  # error probability of each bound on the share of wrong labels
KINDS = {False: "list", True: "random"}  # names of the kinds of looks


# A review of a folder -----------------------------------------------------------------------------


def review_of(
    rows: ReviewRows, *, until: float, seed: int = 0, alpha: float = 0.05
) -> CertifiedReview:
    """Return a review that stops when at most a share `until` of the labels is wrong."""
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
    """Write the page of a review that stops when at most a share `until` of the labels is wrong.

    `seed` is that of the random rows. A share `twice` of the rows is shown a second time if their
    label is kept; if it is not 0, repairs are shown again too. `n_wrong` is the estimated number of
    wrong labels, shown before the first random row, by default the sum of `probability_wrong`.
    """
    check_within("twice", twice, 0, 1)
    review = review_of(rows, until=until, seed=seed)
    fixed: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "until": until,
        "alpha": review.alpha,
        "seed": seed,
        "twice": twice,
        "digest": doubts_digest(rows),
        "id_column": rows.ids.column,
        **labels_of_rows(rows),
    }
    known = ("until", "alpha", "seed", "twice")
    task = {
        "mode": "review",
        "key": f"review {fixed['digest'][:KEY_DIGITS]} {seed} {twice}",
        "target": review.target,
        "estimate": np.nansum(rows.probability_wrong) if n_wrong is None else n_wrong,
        "certificate": fixed,
        "known": {},
        "next": {"certificate.json": f"twohot verify certificate.json {folder}"},
        **{name: fixed[name] for name in known},
    }
    sentences = (
        "“Not sure” counts as wrong and still remaining.",
        "The page shows no scores, because a verdict must depend on its row alone.",
        "Verdicts are stored in this browser.",
        "Export saves certificate.json; Decisions saves the labels.",
    )
    write_verdict_page(
        folder / REVIEW_FILE,
        rows,
        doubt_order(-rows.label_quality),
        task,
        title="Review with a certificate",
        sentences=sentences,
        image_root=image_root,
    )
    return folder / REVIEW_FILE


def write_review_certificate(path: Path, rows: ReviewRows, review: CertifiedReview) -> None:
    """Write the certificate of a review of these rows, made by `review_of`."""
    ids = rows.id_texts()
    fields: dict[str, Any] = {"until": review.until, "alpha": review.alpha, "seed": review.seed}
    fields |= {"digest": doubts_digest(rows), **labels_of_rows(rows)}
    fields |= {"id_column": rows.ids.column, "twice": 0, "again": [], "corrected": None}
    looks = [[ids[look.row], KINDS[look.is_random], look.verdict] for look in review.looks]
    write_signed(path, fields | {"bound": review.bound, "looks": looks})


# Verification -------------------------------------------------------------------------------------


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the fields of the certificate of a list or of a review."""
    if not path.is_file():
        advice = "pass the certificate.json that twohot certify or a review page saved."
        raise FileNotFoundError(f"{path} does not exist: {advice}")
    fields = read_signed(path)
    if not {"looks", "listed"} & fields.keys():
        problem = f"{path} is a draw, not a certificate"
        raise ArgumentError("", problem, "pass the certificate.json made from it.")
    return fields


def verify_certificate(
    path: Path, rows: ReviewRows | None = None, *, data: Path | None = None
) -> GuaranteedList | CertifiedReview:
    """Compute the list or the review of a certificate.json again; raise if anything differs.

    `rows` are those of the audit. Without them, a review is verified with the labels of the file
    `data`. The order of the rows is then not verified; theorem 3 holds for any order.
    """
    fields = read_certificate(path)
    if rows is not None:
        check_digest(fields, path, rows)
    try:
        labels = None if data is None else _labels_of(data, fields, path)
        if "looks" in fields:
            return _verified_review(fields, path, rows, labels)
        if rows is None:
            problem = f"{path} certifies a list, which needs the order of its audit"
            raise ArgumentError("", problem, "pass the folder of the audit.")
        return _verified_list(fields, path, rows)
    except (LookupError, TypeError, AttributeError) as error:
        problem = f"{path} is not a certificate of twohot ({cause_of(error)})"
        raise ArgumentError("", problem, "pass the original file.") from error


@dataclass(frozen=True, eq=False)
class _LabelsOfData:
    """The ids of a file's rows, and which rows have a label."""

    ids: RowIds
    is_labelled: BoolArray


def _labels_of(data: Path, fields: Mapping[str, Any], path: Path) -> _LabelsOfData:
    """Return the labels of a file, from the column whose digest is in the certificate.

    A cell that is neither a class nor a spelling of a class counts as a missing label.
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
        ids = RowIds.by_position(len(names))
        if column:
            ids = RowIds.of_column(column, columns[column])
        return _LabelsOfData(ids, np.array([bool(name) for name in names]))
    problem = f"{data} does not have the labels of {path}: labels or rows were changed"
    advice = "pass the audited file, or the folder of the audit."
    raise ArgumentError("", problem, advice)


def share_wrong_bounds(path: Path, rows: ReviewRows) -> tuple[float, float]:
    """Return lower and upper bounds on the share of wrong labels, each with 95 % confidence.

    The certificate of a list gives only a lower bound, because its draw has only the most
    suspicious rows. That of a review gives both. The labels must be those that were checked.
    Scores may differ in the last digit, as they do between machines.
    """
    fields = read_certificate(path)
    if fields.get("labels") != rows.given_labels_digest():
        problem = f"{path} belongs to other labels: they changed after the check"
        raise ArgumentError("", problem, "draw and check again, or leave it out.")
    n_labelled = rows.n_rows - rows.n_unlabelled
    if "looks" in fields:
        labels = _LabelsOfData(rows.ids, rows.given_labels != NO_LABEL)
        review = _verified_review(fields, path, None, labels)
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
        problem = f"{path} has verdicts on other rows than its seed draws"
        raise ArgumentError("", problem, "pass the file that twohot certify wrote.")
    wrong = np.array([WORDS[said] is Given.WRONG for _, said in fields["checked"]])
    listed = certify(check.draw, wrong, check.fdr, attempt=check.attempt)
    again = outcome_of(listed, ids)
    changed = [name for name in again if again[name] != fields.get(name)]
    if changed:
        problem = f"{path} does not follow from its verdicts ({', '.join(changed)} differ)"
        advice = "a verdict or the list was changed: certify again."
        raise ArgumentError("", problem, advice)
    return listed


def _verified_review(
    fields: Mapping[str, Any], path: Path, rows: ReviewRows | None, labels: _LabelsOfData | None
) -> CertifiedReview:
    if rows is not None:
        ids: Iterable[str] = rows.id_texts()
        doubt = -rows.label_quality
    elif labels is not None:
        ids = labels.ids
        doubt = np.where(labels.is_labelled, 0.0, np.nan)
    else:
        problem = f"{path} cannot be verified without its labels"
        advice = "pass the folder of the audit, or the file with its labels."
        raise ArgumentError("", problem, advice)
    place = {name: row for row, name in enumerate(ids)}
    kinds = {kind: is_random for is_random, kind in KINDS.items()}
    looks = [Look(place.get(row, -1), kinds[kind], said) for row, kind, said in fields["looks"]]
    if rows is None:  # the order within the list; scores of other rows are not used
        chosen = [look.row for look in looks if not look.is_random and look.row >= 0]
        doubt[chosen] += np.arange(len(chosen), 0, -1)
    asked = {name: fields[name] for name in ("until", "seed", "alpha")}
    review = CertifiedReview(doubt, **asked)
    review.replay(looks)
    again = {place.get(row, -1): said for row, *said in fields["again"]}
    sample = rows_again(doubt_order(doubt), review.seed, fields["twice"])
    found = second_looks(review.looks, again, sample) if fields["twice"] else None
    with suppress(ArgumentError):  # too few second looks for a bound
        review.corrected = None if found is None else corrected_bound(review.bound, *found)
    corrected = None if review.corrected is None else review.corrected.bound
    if (review.bound, corrected) != (fields["bound"], fields["corrected"]):
        claimed = f"{fields['bound']} (corrected: {fields['corrected']})"
        problem = f"{path} claims a bound of {claimed}, and its log gives {review.bound}"
        problem += f" (corrected: {corrected})"
        advice = "a verdict or the bound was changed: pass the original file."
        raise ArgumentError("", problem, advice)
    return review

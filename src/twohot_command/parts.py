"""Data larger than memory: workers of a cluster, and outputs in parts that can be resumed."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from typer import Option

from twohot.audit import (
    ISSUE_PARTS,
    LabelIssues,
    begin_audit_parts,
    check_audit_parts,
    find_label_issues,
    group_shares,
    label_shares,
    labels_digest,
    read_checked,
    review_summary,
    row_counts,
    rows_of_issues,
    write_issue_parts,
    write_parts_report,
)
from twohot.base import SURELY_HELD, ArgumentError, as_url, load_extra, memory_limit
from twohot.judge import SAMPLE_CELLS, naming_cells
from twohot.probes import OtherFitError
from twohot.review import ReviewSummary
from twohot.rows import ClusterLostError
from twohot.tables import (
    FeatureTable,
    PartFolder,
    as_dask,
    known_by,
    parts_in_words,
    source_parts,
)
from twohot_command.terminal import choosing, counting, note, say

# Workers of a cluster -----------------------------------------------------------------------------

Scheduler: TypeAlias = Annotated[
    str | None,
    Option(
        help="Address of a Dask scheduler, tcp://…; its workers must be able to read all paths."
    ),
]
# Seconds to wait for a scheduler.
PATIENCE = 10


@contextmanager
def connected(scheduler: str | None) -> Iterator[Any]:
    """Yield a client of a Dask scheduler, or None without a scheduler."""
    if scheduler is None:
        yield None
        return
    distributed = load_extra("distributed", "dask", "clusters")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        problem = f"does not answer ({error})"
        advice = "run `dask scheduler` and `dask worker`, or leave it out."
        raise ArgumentError({"scheduler": scheduler}, problem, advice) from error
    with client:
        workers_of(client)  # raise if there are none
        yield client


def workers_of(client: Any) -> list[dict[str, Any]]:
    """Return the records of a scheduler's workers; raise if there are none."""
    found = list(client.scheduler_info(n_workers=-1)["workers"].values())
    if not found:
        problem = f"{client.scheduler.address} has no workers"
        raise ArgumentError("", problem, "run `dask worker`.")
    return found


# Outputs in parts: a folder of Parquet files ------------------------------------------------------


def check_apart(output: Path, sources: Iterable[Path | None]) -> None:
    """Raise if an output is inside a source folder, where it would be read as a part."""

    def absolute(path: Path) -> Path:
        return path if "://" in as_url(path) else path.resolve()

    for source in filter(None, sources):
        if absolute(output).is_relative_to(absolute(source)):
            problem = f"is in the source {source}, and would be read as a part of it"
            raise ArgumentError({"output": output}, problem, "choose a folder next to it.")


def writing_parts(
    folder: PartFolder, *, quiet: bool
) -> AbstractContextManager[Callable[..., None]]:
    """Show how many parts are written; yield a callback to call after each part."""
    n_done = folder.n_parts - len(folder.missing())
    return counting("Writing parts", folder.n_parts, quiet=quiet, n_done=n_done)


# Checkpoints: an interrupted fit continues when the command is run again --------------------------


Fitted = TypeVar("Fitted")


def fit_with_checkpoint(fit: Callable[[Path], Fitted], path: Path) -> Fitted:
    """Return the result of a fit with a checkpoint; the checkpoint of another fit is replaced.

    The caller removes the file after it has written the output.
    """
    was_there = path.exists()
    try:
        fitted = fit(path)
    except ClusterLostError as error:
        kept = f"the progress is in {path}" if path.exists() else "there is no progress to keep"
        raise ArgumentError("", error.problem, f"start one and run this again: {kept}.") from error
    except OtherFitError:
        note(f"{path} belongs to another fit and is replaced.")
        path.unlink()
        return fit(path)
    if was_there:
        say(f"Continued from the checkpoint {path}")
    return fitted


# An audit of data larger than memory: a table in parts, and a report with some of the rows --------


# Name of the checkpoint in the folder of an audit; it is removed when the audit is finished.
CHECKPOINT = ".fit.checkpoint"
# Largest share of the memory that an audit may use.
HELD_SHARE = 0.5
# Number of arrays of shape (n_rows, n_classes) in the label model: members, targets, posteriors.
HELD_MEMBERS = 16
# Maximum rows of a report: more than a person reviews in a day, and few enough for a page.
MOST_SHOWN = 2000


def exceeds_memory(table: FeatureTable) -> bool:
    """Return whether the logits and prepared features of an audit need too much memory."""
    cells = min(table.n_rows * len(table.classes), SAMPLE_CELLS)
    n_bytes = 4 * (HELD_MEMBERS * cells + table.n_rows * table.n_features)
    return n_bytes > SURELY_HELD and n_bytes > HELD_SHARE * memory_limit()


def audit_in_parts(
    table: FeatureTable,
    output: Path,
    asked: Mapping[str, Any],
    *,
    groups: NDArray[Any] | None = None,
    checked: Path | None = None,
    client: Any = None,
    about: Mapping[str, Any],
    image_root: Path | None,
    force: bool,
    quiet: bool,
) -> tuple[LabelIssues, ReviewSummary, str, str]:
    """Find wrong labels, with the workers of a client if given, and write the audit folder.

    `asked` are arguments of `find_label_issues`: budget, precision, random_state. Returns the
    issues, the summary, the name of the report, and text on where all rows are.
    """

    def digest(values: object) -> str:
        return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()

    parts = source_parts(table.features)
    decisions = None if checked is None else read_checked(checked)
    known = {**known_by(table, parts), "labels": labels_digest(table.coded), **asked}
    if groups is not None:
        known["groups"] = digest(groups.tolist())
    if decisions is not None:
        known["checked"] = digest(decisions)
    bounds = np.unique(parts.bounds)  # number of parts with rows of the split
    where: dict[str, Any] = {"about": known, "n_parts": len(bounds) - 1, "force": force}
    # Check before the fit; an earlier audit stays until the new one is written.
    check_audit_parts(output, **where)
    output.mkdir(parents=True, exist_ok=True)
    features = table.features if client is None else as_dask(table.features, parts=parts)

    def find(path: Path) -> LabelIssues:
        about_rows: dict[str, Any] = {"ids": table.ids, "groups": groups, "checked": checked}
        how: dict[str, Any] = {"checkpoint": path, **about_rows, **asked}
        with naming_cells(table), choosing(quiet=quiet) as callback:
            return find_label_issues(features, table.coded, callback=callback, **how)

    checkpoint = output / CHECKPOINT
    try:
        issues = fit_with_checkpoint(find, checkpoint)
    except BaseException:
        with suppress(OSError):  # empty, because nothing was finished
            output.rmdir()
        raise
    folder = begin_audit_parts(output, **where)
    n_missing = len(folder.missing())
    with writing_parts(folder, quiet=quiet) as done:
        write_issue_parts(issues, folder, bounds, items=table.items, done=done)
    chosen = np.sort(issues.rows[:MOST_SHOWN])
    shown = issues[chosen]
    items = None if table.items is None else [table.items[row] for row in chosen.tolist()]
    counts = replace(row_counts(issues), full_table=ISSUE_PARTS)
    summary = replace(
        review_summary(None, shown, counts=counts, **about),
        label_shares=label_shares(issues),
        group_shares=group_shares(issues, groups),
    )
    rows = rows_of_issues(shown, items, table.item_kind, table.spellings)
    name = write_parts_report(output, rows, summary, checkpoint=checkpoint, image_root=image_root)
    return issues, summary, name, f"{output / ISSUE_PARTS} ({parts_in_words(folder, n_missing)})."

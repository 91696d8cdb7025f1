"""Commands for data larger than memory: workers of a cluster, outputs in parts, and checkpoints.

A part is one Parquet file of an output folder. The run after an
interruption writes only the missing parts.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
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
    SourceParts,
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
        help="Address of a Dask scheduler, tcp://…; the workers must be able to read all paths."
    ),
]
# Number of seconds to wait for the answer of a scheduler.
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
        advice = "run `dask scheduler` and `dask worker`, or leave the option out."
        raise ArgumentError({"scheduler": scheduler}, problem, advice) from error
    with client:
        workers_of(client)  # raise if there are none
        yield client


def workers_of(client: Any) -> list[dict[str, Any]]:
    """Return the records of a scheduler's workers; raise if there are none."""
    found = list(client.scheduler_info(n_workers=-1)["workers"].values())
    if not found:
        address = client.scheduler.address
        raise ArgumentError("", f"{address} has no workers", f"run `dask worker {address}`.")
    return found


# Outputs in parts: a folder of Parquet files ------------------------------------------------------


def check_apart(output: Path, sources: Iterable[Path | None]) -> None:
    """Raise if an output is inside a source folder, where it would be read as source data."""

    def absolute(path: Path) -> Path:
        return path if "://" in as_url(path) else path.resolve()

    for source in filter(None, sources):
        if absolute(output).is_relative_to(absolute(source)):
            problem = f"is inside the source {source}, and would be read as data of this source"
            raise ArgumentError({"output": output}, problem, "choose a path outside of the source.")


def writing_parts(
    folder: PartFolder, *, quiet: bool
) -> AbstractContextManager[Callable[..., None]]:
    """Show how many parts are written; yield a function to call after each part."""
    n_done = folder.n_parts - len(folder.missing())
    return counting("Writing parts", folder.n_parts, quiet=quiet, n_done=n_done)


# Checkpoints: an interrupted fit continues when the command is run again --------------------------

Fitted = TypeVar("Fitted")


def fit_with_checkpoint(fit: Callable[[Path], Fitted], path: Path) -> Fitted:
    """Return the result of `fit(path)`, a fit that saves its progress in the file `path`.

    If the file belongs to another fit, it is replaced. The caller removes the file when the output
    is written.
    """
    was_there = path.exists()
    try:
        fitted = fit(path)
    except ClusterLostError as error:
        saved = f"the progress is in {path}" if path.exists() else "no progress was saved"
        advice = f"start a cluster, and run this command again: {saved}."
        raise ArgumentError("", error.problem, advice) from error
    except OtherFitError:
        note(f"{path} belongs to another fit and is replaced.")
        path.unlink()
        return fit(path)
    if was_there:
        say(f"Continued from the checkpoint {path}")
    return fitted


# An audit of data larger than memory writes a table in parts, and a report on some of the rows ----

# Name of the checkpoint in the folder of an audit; it is removed when the audit is finished.
CHECKPOINT = ".fit.checkpoint"
# Largest fraction of the memory that an audit may use.
MEMORY_FRACTION = 0.5
# Number of arrays of shape (n_rows, n_classes) that the label model keeps: logits of classifiers,
# targets and posteriors.
HELD_MEMBERS = 16
# Maximum number of rows in a report: more than a person reviews in a day, but not too many for a
# browser.
MOST_SHOWN = 2000


class Audited(NamedTuple):
    """The result of an audit whose folder is written."""

    issues: LabelIssues
    summary: ReviewSummary
    report: str  # the name of the report
    tables: str  # text that says where the tables of all rows are


def exceeds_memory(table: FeatureTable) -> bool:
    """Return whether the logits and the prepared features of an audit need too much memory."""
    cells = min(table.n_rows * len(table.classes), SAMPLE_CELLS)
    n_bytes = 4 * (HELD_MEMBERS * cells + table.n_rows * table.n_features)
    return n_bytes > SURELY_HELD and n_bytes > MEMORY_FRACTION * memory_limit()


def audit_in_parts(
    table: FeatureTable,
    output: Path,
    find: Mapping[str, Any],
    about: Mapping[str, Any],
    write: Mapping[str, Any],
    *,
    client: Any,
    quiet: bool,
) -> Audited:
    """Find wrong labels, and write the audit folder; if there is a client, its workers compute.

    `find` has arguments of `find_label_issues`, and `about` has arguments of `review_summary`.
    `write` has the keys `image_root` and `force`.
    """
    parts = source_parts(table.features)
    bounds = np.unique(parts.bounds)  # parts without a row of the chosen split are left out
    where: dict[str, Any] = {"about": _identity(table, parts, find), "n_parts": len(bounds) - 1}
    where["force"] = write["force"]
    # Check the folder before the fit. An earlier audit in it stays until the new one is written.
    check_audit_parts(output, **where)
    output.mkdir(parents=True, exist_ok=True)
    features = table.features if client is None else as_dask(table.features, parts=parts)

    def fit(path: Path) -> LabelIssues:
        with naming_cells(table), choosing(quiet=quiet) as callback:
            how = {"ids": table.ids, "checkpoint": path, "callback": callback, **find}
            return find_label_issues(features, table.coded, **how)

    checkpoint = output / CHECKPOINT
    try:
        issues = fit_with_checkpoint(fit, checkpoint)
    except BaseException:
        with suppress(OSError):  # raised if the folder has a checkpoint or an earlier audit
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
        group_shares=group_shares(issues, find["groups"]),
    )
    rows = rows_of_issues(shown, items, table.item_kind, table.spellings)
    how = {"checkpoint": checkpoint, "image_root": write["image_root"]}
    report = write_parts_report(output, rows, summary, **how)
    tables = f"{output / ISSUE_PARTS} ({parts_in_words(folder, n_missing)})."
    return Audited(issues, summary, report, tables)


def _identity(table: FeatureTable, parts: SourceParts, find: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data and settings that must be unchanged when an interrupted audit continues."""
    known = {**known_by(table, parts), "labels": labels_digest(table.coded), **find}
    contents: dict[str, Callable[[Any], Any]] = {
        "groups": np.ndarray.tolist,
        "checked": read_checked,
    }
    for name, content in contents.items():
        if known.pop(name) is not None:
            text = json.dumps(content(find[name]), default=str)
            known[name] = hashlib.sha256(text.encode()).hexdigest()
    return known

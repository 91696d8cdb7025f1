"""An audit whose rows stay on workers: a table in parts, and a report that shows some rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.labels import label_notes
from twohot._checks.messages import ArgumentError
from twohot.audit.audit_folder import ISSUE_PARTS
from twohot.audit.audit_parts import (
    begin_audit_parts,
    check_audit_parts,
    labels_digest,
    write_parts_report,
)
from twohot.audit.doubtful_rows import DoubtfulRows, most_doubtful
from twohot.audit.find_issues import find_label_issues
from twohot.audit.judged_rows import HELD_CELLS
from twohot.audit.lazy_issues import LazyLabelIssues, write_chunk
from twohot.audit.review_content import review_summary, rows_of_issues
from twohot.cli._cluster import tasks_of
from twohot.cli._part_outputs import writing_parts
from twohot.cli._printed_findings import print_findings, say_next
from twohot.cli._resumed_fit import fit_with_checkpoint
from twohot.cli._terminal import choosing, say
from twohot.rows.dask_tasks import ClusterTasks
from twohot.select.grid import MANY_FEATURES
from twohot.tables import FeatureTable
from twohot.tables.dask_features import as_dask
from twohot.tables.parquet_files import SUFFIX, is_parquet_source
from twohot.tables.part_folder import PartFolder, parts_in_words, write_parts
from twohot.tables.source_parts import known_by, source_parts

# In the folder of an audit until it is finished: what is finished of the choice and the fit.
CHECKPOINT = ".fit.checkpoint"


def held_bytes(table: FeatureTable) -> int:
    """Return about how much an audit in memory holds: opinions if few, prepared features."""
    n_opinions = 6 if table.n_features < MANY_FEATURES else 2
    cells = min(table.n_rows * len(table.classes), HELD_CELLS)
    return 4 * (n_opinions * cells + table.n_rows * table.n_features)


def check_enough_rows(table: FeatureTable, source: Path, scheduler: str | None) -> None:
    """Raise if there are no more rows than features, which are not audited in parts."""
    if table.n_rows > table.n_features:
        return
    problem = f"{source} has {table.n_rows} rows of {table.n_features} features"
    if scheduler is None:
        advice = "an audit of so few needs them in memory: run it where there is more."
        raise ArgumentError("", problem, advice)
    raise ArgumentError("", problem, "audit so few without {scheduler}.", scheduler=...)


@dataclass(frozen=True, eq=False)
class PartedAudit:
    """An audit of a table in the parts of its source."""

    table: FeatureTable
    source: Path
    output: Path
    asked: Mapping[str, Any]  # of `find_label_issues`: budget, precision, random_state
    has_labels: bool  # whether the source has them, and no file beside it

    def run(
        self,
        client: Any,
        about: Mapping[str, Any],
        pictures: Mapping[str, Any],
        *,
        force: bool,
        quiet: bool,
    ) -> None:
        """Find the wrong labels on the workers of a client, and write the folder of the audit."""
        table, tasks = self.table, tasks_of(client)
        parts = source_parts(table.features)
        known = {
            **known_by(table, parts),
            "labels": labels_digest(table.coded),
            **self.asked,
        }
        # Chunks are the parts that have rows of the split.
        n_parts = int(np.count_nonzero(np.diff(parts.bounds)))
        # Nothing is computed for nobody, and an earlier audit stays until there is another.
        check_audit_parts(self.output, known, n_parts, force=force)
        self.output.mkdir(parents=True, exist_ok=True)
        features = as_dask(table.features, self.source, parts=parts)

        def find(path: Path) -> Any:
            about = {"checkpoint": path, **self.asked}
            with choosing(quiet=quiet) as callback:
                return find_label_issues(features, table.coded, callback=callback, **about)

        checkpoint = self.output / CHECKPOINT
        found = fit_with_checkpoint(find, checkpoint)
        folder = begin_audit_parts(self.output, known, n_parts, force=force)
        done = self._write_parts(found, folder, tasks, quiet=quiet)
        report = self._report(most_doubtful(found, table.ids), about, pictures)
        checkpoint.unlink()
        say(f"Every row: {self.output / ISSUE_PARTS} ({done}).")
        if found.n_issues and self._can_be_corrected():
            say_next(report, self.output, [self.source])

    def _can_be_corrected(self) -> bool:
        """Return whether `twohot apply` writes the source again: Parquet, with its own labels."""
        is_parquet = self.source.suffix == SUFFIX or is_parquet_source(self.source)
        return self.has_labels and is_parquet and self.source.exists()

    def _write_parts(
        self,
        issues: LazyLabelIssues,
        folder: PartFolder,
        tasks: ClusterTasks | None,
        *,
        quiet: bool,
    ) -> str:
        """Write the parts that are not there yet; return what was done."""
        n_missing = len(folder.missing())
        calls = issues.part_calls(folder, self.table.ids, self.table.items)
        n_there = folder.n_parts - n_missing
        with writing_parts(folder.n_parts, n_there=n_there, quiet=quiet) as done:
            write_parts(write_chunk, calls, tasks, done)
        return parts_in_words(folder, n_missing)

    def _report(
        self, found: DoubtfulRows, about: Mapping[str, Any], pictures: Mapping[str, Any]
    ) -> str:
        """Write the report, print what it shows, and return its name."""
        table, issues = self.table, found.issues
        counts = replace(found.counts, full_table=ISSUE_PARTS)
        summary = review_summary(None, issues, counts=counts, **about)
        items = None if table.items is None else [table.items[row] for row in found.places]
        rows = rows_of_issues(issues, items, table.item_kind)
        name = write_parts_report(self.output, rows, summary, **pictures)
        names = issues.classes.tolist()
        pairs = {(names[a], names[b]): count for (a, b), count in found.confusions.items()}
        noted = label_notes(table.coded)
        print_findings(
            Counter(pairs), [message for message in summary.messages if message not in noted]
        )
        say(f"Report {name}: open {self.output / 'report.html'} in a browser.")
        return name

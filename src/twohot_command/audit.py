"""`twohot audit`: find wrong labels, and write a report for the review."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from twohot.audit import (
    MODEL,
    LabelIssues,
    check_audit_folder,
    check_flagging,
    find_label_issues,
    review_rows,
    review_summary,
    write_audit_folder,
)
from twohot.base import ArgumentError, label_notes
from twohot.judge import naming_cells
from twohot.probes import load
from twohot.review import ReviewSummary, check_map
from twohot.tables import format_of, with_used_classes
from twohot_command.app import errors_in_words, option_writer
from twohot_command.certify import check_draw, draw_for_check
from twohot_command.gate import Annotations, Certificate, FailAbove, FailOn, Gate, JUnit
from twohot_command.parts import (
    Scheduler,
    audit_in_parts,
    check_apart,
    connected,
    exceeds_memory,
)
from twohot_command.sources import (
    GroupedTableOptions,
    SpreadsheetSafe,
    image_root,
    spellings_in_words,
)
from twohot_command.terminal import Force, Quiet, choosing, print_table, say, say_next, share

# Number of corrections that are printed.
SHOWN_CONFUSIONS = 5
# The probability in the printed example of --accept-all.
TAKEN_UNSEEN = 0.9


EXAMPLES = {
    "audit": (
        "twohot audit tickets.features -o audit/",
        "twohot audit tickets.features -o most_doubtful/ --budget 100",
        "twohot audit tickets.features -o gate/ --fail-above 50%",
    ),
}


def audit(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Folder for the report and the tables.")],
    options: GroupedTableOptions,
    probe: Annotated[
        Path | None, Option(help="File of the probe that judges the labels; by default, AutoProbe.")
    ] = None,
    checked: Annotated[
        Path | None, Option(help="Decisions of an earlier review: these labels are known.")
    ] = None,
    budget: Annotated[int | None, Option(min=0, help="Flag at most this many labels.")] = None,
    precision: Annotated[
        float | None, share("Flag as many labels as possible; at least this share should be wrong.")
    ] = None,
    draw_check: Annotated[
        float | None,
        share("Draw rows for `twohot certify`; its list may have this share of right labels."),
    ] = None,
    fail_above: FailAbove = None,
    fail_on: FailOn = "lower",
    junit: JUnit = None,
    annotations: Annotations = False,
    certificate: Certificate = None,
    images: Annotated[Path | None, Option(help="Folder that image paths are relative to.")] = None,
    map: Annotated[  # noqa: A002 - the option is called so
        Literal["pca", "umap", "none"], Option(help="Map of the embeddings in the report.")
    ] = "pca",
    seed: Annotated[int, Option(min=0, help="Random seed of folds and --draw-check.")] = 0,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find wrong labels, suggest corrections, and write a report for the review."""
    # Check outputs before the audit, so that no result is lost.
    check_audit_folder(output, (*options.inputs, probe, checked), force=force)
    check_flagging(budget, precision)
    about: dict[str, Any] = {"map_method": check_map(None if map == "none" else map)}
    gate = Gate(
        fail_above=fail_above,
        fail_on=fail_on,
        junit=junit,
        annotations=annotations,
        certificate=certificate,
    )
    gate.check(output, options.inputs, force=force)
    judge = None if probe is None else load(probe)
    whole = options.read() if probe is None or judge is None else options.read_for(judge, probe)
    if options.labels is not None and options.classes is None:
        whole = with_used_classes(whole)
    table = whole.take(options.rows_of(whole))
    n_labels = int(table.coded.labelled.sum())
    # Checked rows with wrong labels are flagged in addition to the budget.
    most_flagged = n_labels if budget is None or checked is not None else min(n_labels, budget)
    check_draw(output, draw_check, seed, most_flagged)
    source, groups = options.source.name, options.groups_of(table)
    # Image paths in a table are relative to the table's folder; image paths in a feature file are
    # relative to the folder in which `twohot extract` ran.
    beside = options.source.parent
    root = image_root(options.source, table, [beside, Path()], images, default=beside)
    details = {
        "source": source,
        "columns": table.columns_in_words,
        "spellings merged": spellings_in_words(table.spellings, {}) or None,
        "seed": str(seed) if probe is None else None,
        "probe": None if probe is None else probe.name,
        "checked": None if checked is None else checked.name,
        "budget": None if budget is None else str(budget),
        "precision": None if precision is None else f"{precision:g}",
    }
    details = {name: value for name, value in details.items() if value is not None}
    about |= {"title": f"Labels of {source}", "details": details}
    asked = {"budget": budget, "precision": precision, "random_state": seed}
    known: dict[str, Any] = {"groups": groups, "checked": checked}
    if scheduler is not None or exceeds_memory(table):
        if probe is not None:
            problem = "judges rows in memory, but these are read in parts"
            raise ArgumentError({"probe": probe}, problem, "leave it out: a probe is then chosen.")
        check_apart(output, options.inputs)
        known |= {"about": about, "image_root": root, "force": force, "quiet": quiet}
        with connected(scheduler) as client:
            issues, summary, name, said = audit_in_parts(
                table, output, asked, client=client, **known
            )
    else:
        known |= {"probe": judge, "ids": table.ids, **asked}
        with naming_cells(table):
            with choosing(quiet=quiet or judge is not None) as callback:
                issues = find_label_issues(table.features, table.coded, callback=callback, **known)
            summary = review_summary(table.features, issues, groups=groups, **about)
        rows, guard = review_rows(table, issues), {"spreadsheet_safe": spreadsheet_safe}
        name = write_audit_folder(output, rows, summary, image_root=root, force=force, **guard)
        said = f"{output / 'issues.csv'}. Corrected labels: {output / 'corrected.csv'}."
    # Notes on the labels were printed when they were read.
    _print_findings(issues, summary, noted=label_notes(table.coded))
    say(f"Report {name}: open {output / 'report.html'} in a browser.")
    say(f"All rows: {said}")
    if issues.n_issues:
        made_of = table.provenance.get("source")
        sources = (options.labels, None if made_of is None else Path(made_of), options.source)
        some_sure = bool((issues.is_label_issue & ~issues.is_undecided).any())
        _say_how_to_apply(name, output, sources, some_sure=some_sure)
    # If few labels are flagged, a draw may be impossible.
    with gate.closing(issues, source, output), errors_in_words(option_writer(audit)):
        draw_for_check(output, draw_check, seed, root)


def _print_findings(issues: LabelIssues, summary: ReviewSummary, noted: Collection[str]) -> None:
    """Print how many labels are wrong, notes not printed before, and frequent corrections."""
    say(issues.answer(), "bold")
    if MODEL in summary.details:
        say(f"The {MODEL} {summary.details[MODEL]}.")
    for message in summary.messages:
        if message not in noted:
            say(message)
    flagged = issues.is_label_issue
    pairs = zip(issues.given_label[flagged], issues.predicted_label[flagged], strict=True)
    frequent = [(*pair, n) for pair, n in Counter(pairs).most_common(SHOWN_CONFUSIONS)]
    if frequent:
        names, title = ("given", "suggested"), "Most frequent corrections"
        print_table((*names, "rows"), frequent, names=names, title=title)


def _say_how_to_apply(
    report: str, audit: Path, sources: Iterable[Path | None], *, some_sure: bool
) -> None:
    """Print how to correct the user's data: the first of `sources` that `apply` can copy."""
    own = next(filter(_is_correctable, filter(None, sources)), None)
    where: list[object] = ["--audit", audit]
    if own is not None:
        where += ["--to", own, "-o", own.with_name(f"{own.stem}_clean{own.suffix}")]
    say("Next: review the report, export the decisions, then run")
    say_next("apply", f"decisions-{report}.csv", *where, first="  ")
    if some_sure:
        say("or accept probable suggestions without a review:")
        say_next("apply", "--accept-all", TAKEN_UNSEEN, *where, first="  ")


def _is_correctable(path: Path) -> bool:
    """Return whether `twohot apply` can correct a user's file, or folder of images."""
    kind = format_of(path)
    return path.is_dir() or (path.is_file() and kind is not None and kind.is_correctable)

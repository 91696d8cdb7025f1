"""`twohot audit`: find wrong labels, and write a report for the review."""

from collections import Counter
from collections.abc import Collection, Mapping
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
from twohot.tables import FeatureTable, format_of, with_used_classes
from twohot_command.app import errors_in_words, option_writer
from twohot_command.certify import check_draw, draw_for_check
from twohot_command.gate import Gate
from twohot_command.parts import (
    Audited,
    Scheduler,
    audit_in_parts,
    check_apart,
    connected,
    exceeds_memory,
)
from twohot_command.sources import (
    GroupedTableOptions,
    ImageFolder,
    SpreadsheetSafe,
    image_root,
    spellings_in_words,
)
from twohot_command.terminal import Force, Quiet, choosing, fraction, print_table, say, say_next

# Number of pairs of a given and a suggested label that are printed.
SHOWN_CONFUSIONS = 5
# Probability in the printed command with --accept-all.
ACCEPTED_UNSEEN = 0.9

EXAMPLES = (
    "twohot audit tickets.features -o audit/",
    "twohot audit tickets.features -o most_doubtful/ --budget 100",
    "twohot audit tickets.features -o gate/ --fail-above 50%",
)


def audit(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Folder for the report and the tables.")],
    options: GroupedTableOptions,
    probe: Annotated[
        Path | None,
        Option(
            help="File of a fitted probe, used instead of AutoProbe. If the probe was fitted on "
            "these rows, it is cross-validated."
        ),
    ] = None,
    checked: Annotated[
        Path | None,
        Option(
            help="Decisions file of an earlier review; labels of decided rows are taken as true."
        ),
    ] = None,
    budget: Annotated[int | None, Option(min=0, help="Flag at most this many labels.")] = None,
    precision: Annotated[
        float | None,
        fraction(
            "Flag as many labels as possible so that the expected fraction of wrong labels among "
            "them is at least this number."
        ),
    ] = None,
    draw_check: Annotated[
        float | None,
        fraction(
            "Draw rows that you check, so that `twohot certify` can list wrong labels. On average, "
            "at most this fraction of the listed labels is right (false discovery rate)."
        ),
    ] = None,
    gate: Gate,
    images: ImageFolder = None,
    map: Annotated[  # noqa: A002 - the option is called so
        Literal["pca", "umap", "none"],
        Option(help="Method for the two-dimensional map of the features in the report."),
    ] = "pca",
    seed: Annotated[int, Option(min=0, help="Random seed of the folds and of --draw-check.")] = 0,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Find wrong labels, suggest corrections, and write a report for the review."""
    # Check the outputs before the audit, so that its result can be written.
    check_audit_folder(output, (*options.inputs, probe, checked), force=force)
    check_flagging(budget, precision)
    map_method = check_map(None if map == "none" else map)
    gate.check(output, options.inputs, force=force)
    fitted = None if probe is None else load(probe)
    whole = options.read() if probe is None or fitted is None else options.read_for(fitted, probe)
    if options.labels is not None and options.classes is None:
        whole = with_used_classes(whole)
    table = whole.take(options.rows_of(whole))
    n_labels = int(table.coded.labelled.sum())
    # Checked rows with wrong labels are flagged in addition to the budget.
    most_flagged = n_labels if budget is None or checked is not None else min(n_labels, budget)
    check_draw(output, draw_check, seed, most_flagged)
    # Image paths in a table are relative to the table's folder. Image paths in a feature file are
    # relative to the folder in which `twohot extract` ran.
    source, beside = options.source, options.source.parent
    root = image_root(source, table, [beside, Path()], images, default=beside)
    asked = {"budget": budget, "precision": precision}
    shown = {"seed": seed if probe is None else None, "probe": probe, "checked": checked, **asked}
    details = _details(table, source, shown)
    find = {"groups": options.groups_of(table), "checked": checked, "random_state": seed, **asked}
    about = {"title": f"Labels of {source.name}", "details": details, "map_method": map_method}
    write = {"image_root": root, "force": force}
    if scheduler is not None or exceeds_memory(table):
        if probe is not None:
            problem = "needs all rows in memory, but these rows are read in parts"
            raise ArgumentError({"probe": probe}, problem, "leave it out to use AutoProbe.")
        check_apart(output, options.inputs)
        with connected(scheduler) as client:
            done = audit_in_parts(table, output, find, about, write, client=client, quiet=quiet)
    else:
        find, write = {"probe": fitted, **find}, {"spreadsheet_safe": spreadsheet_safe, **write}
        done = _audit_in_memory(table, output, find, about, write, quiet=quiet)
    issues = done.issues
    _print_findings(issues, done.summary, printed=label_notes(table.coded))
    say(f"Report {done.report}: open {output / 'report.html'} in a browser.")
    say(f"All rows: {done.tables}")
    if issues.n_issues:
        _say_how_to_apply(done, output, _first_correctable(options, table))
    # `draw_for_check` fails if too few labels are flagged.
    with gate.closing(issues, source.name, output), errors_in_words(option_writer(audit)):
        draw_for_check(output, draw_check, seed, root)


def _details(table: FeatureTable, source: Path, shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the source and the settings in `shown`, as text for the report."""

    def text(value: Any) -> str:
        if isinstance(value, Path):
            return value.name
        return f"{value:g}" if isinstance(value, float) else str(value)

    merged = spellings_in_words(table.spellings, {}) or None
    about = {"source": source, "columns": table.columns_in_words, "spellings merged": merged}
    return {name: text(value) for name, value in {**about, **shown}.items() if value is not None}


def _audit_in_memory(
    table: FeatureTable,
    output: Path,
    find: Mapping[str, Any],
    about: Mapping[str, Any],
    write: Mapping[str, Any],
    *,
    quiet: bool,
) -> Audited:
    """Find wrong labels in a table that fits into memory, and write the audit folder."""
    with naming_cells(table):
        with choosing(quiet=quiet or find["probe"] is not None) as callback:
            how = {"ids": table.ids, "callback": callback, **find}
            issues = find_label_issues(table.features, table.coded, **how)
        summary = review_summary(table.features, issues, groups=find["groups"], **about)
    report = write_audit_folder(output, review_rows(table, issues), summary, **write)
    tables = f"{output / 'issues.csv'}. Corrected labels: {output / 'corrected.csv'}."
    return Audited(issues, summary, report, tables)


def _print_findings(issues: LabelIssues, summary: ReviewSummary, printed: Collection[str]) -> None:
    """Print how many labels are wrong, the messages except `printed`, and frequent corrections."""
    say(issues.answer(), "bold")
    if MODEL in summary.details:
        say(f"The {MODEL} {summary.details[MODEL]}.")
    for message in summary.messages:
        if message not in printed:
            say(message)
    flagged = issues.is_label_issue
    pairs = zip(issues.given_label[flagged], issues.predicted_label[flagged], strict=True)
    frequent = [(*pair, n) for pair, n in Counter(pairs).most_common(SHOWN_CONFUSIONS)]
    if frequent:
        names, title = ("given", "suggested"), "Most frequent corrections"
        print_table((*names, "rows"), frequent, names=names, title=title)


def _first_correctable(options: GroupedTableOptions, table: FeatureTable) -> Path | None:
    """Return the first file or folder that has the labels and that `twohot apply` can correct."""
    extracted_from = table.provenance.get("source")
    paths = (
        options.labels,
        None if extracted_from is None else Path(extracted_from),
        options.source,
    )
    for path in filter(None, paths):
        kind = format_of(path)
        if path.is_dir() or (path.is_file() and kind is not None and kind.is_correctable):
            return path
    return None


def _say_how_to_apply(done: Audited, audit: Path, source: Path | None) -> None:
    """Print the commands that correct `source`, the user's file or folder, if there is one."""
    where: list[object] = ["--audit", audit]
    if source is not None:
        where += ["--to", source, "-o", source.with_name(f"{source.stem}_clean{source.suffix}")]
    say("Next: review the report, export the decisions, then run")
    say_next("apply", f"decisions-{done.report}.csv", *where, first="  ")
    if (done.issues.is_label_issue & ~done.issues.is_undecided).any():
        say("or accept probable suggestions without a review:")
        say_next("apply", "--accept-all", ACCEPTED_UNSEEN, *where, first="  ")

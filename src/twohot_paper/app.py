"""`twohot reproduce`: the paper's figures, tables and claims, from resumable runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from typer import Argument, Option

from twohot.base import ArgumentError, check_writable, counted, first_few, load_extra
from twohot_command.terminal import PacedLines, print_table, say
from twohot_paper import Log
from twohot_paper.claim import Answer
from twohot_paper.data_set import SUFFIXES, DataSet, find_feature_files, read_data_sets
from twohot_paper.exhibit import GROUPS, Results, choose_exhibits, exhibits
from twohot_paper.reproduction import Report, Reproduction, show, write_made, write_text
from twohot_paper.runs import Progress as RunProgress

# The remaining time is estimated from the runs that ended during the last seconds, this many.
LONGEST_RUN = 4 * 3600.0


@contextmanager
def show_progress(n_runs: int) -> Iterator[Callable[[RunProgress], None]]:
    """Show the progress of `n_runs` runs; yield a function to call after each run.

    Without a terminal, a line of text is printed at most every half minute.
    """
    console, lines = Console(stderr=True), PacedLines()
    columns = [TextColumn("Runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(
        *(*columns, TextColumn("left"), TimeRemainingColumn()),
        console=console,
        disable=n_runs == 0 or not console.is_terminal,
        speed_estimate_period=LONGEST_RUN,
    ) as bar:
        task = bar.add_task("", total=n_runs)

        def tell(progress: RunProgress) -> None:
            bar.update(task, advance=1)
            lines.say(f"{progress.n_done} of {progress.n_runs} runs done")

        yield tell


LIST = "list"

MOST_NOTES = 12  # maximum number of notes that are printed; the page has all notes
NEEDS_WIDTH = 16  # width of the column "needs" in characters, to leave room for titles
NARROW = 120  # in a narrower terminal, titles are printed below the ids


EXAMPLES = ("twohot reproduce list", "twohot reproduce fig:lambda_pq")


def reproduce(
    names: Annotated[
        list[str],
        Argument(
            help="What to reproduce: labels in the paper (fig:acc_gain), numbers in the paper"
            ' ("Figure 3a"), or a group (synthetic, real, all). The word list prints all names. An'
            " argument that is a file is used as a feature file, so --features a.npz b.npz works."
        ),
    ],
    *,
    features: Annotated[
        list[Path] | None,
        Option(
            help="Feature file with the splits train and test and with true labels; repeat the"
            " option for more files."
        ),
    ] = None,
    features_dir: Annotated[
        Path | None, Option(help="Folder whose feature files are all used.")
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for the figures, the tables and the page.")
    ] = Path("paper"),
    log: Annotated[
        Path | None,
        Option(help="File with the records of runs; by default runs.jsonl in the output folder."),
    ] = None,
    seeds: Annotated[
        int | None,
        Option(
            min=1,
            help="Number of draws of noisy labels for real data; by default as in the paper (3).",
        ),
    ] = None,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, help="Number of parallel runs.")] = 1,
    records_only: Annotated[
        bool, Option("--records-only", help="Use only finished runs; do not start other runs.")
    ] = False,
) -> None:
    """Reproduce the paper: run experiments, draw the figures and judge the claims."""
    more = [Path(name) for name in names if _is_file(name)]
    wanted = [name for name in names if not _is_file(name)] or ([] if not more else ["real"])
    chosen = list(exhibits()) if LIST in wanted else choose_exhibits(wanted)
    check_writable(output, {"output": output})
    if log is not None and log.is_dir():
        advice = f"name a file, for instance {log / 'runs.jsonl'}."
        raise ArgumentError({"log": log}, "is a folder", advice)
    given = [*(features or []), *more]
    if LIST not in wanted and all(each.needs == "nothing" for each in chosen):
        _say_unused(wanted, [*given, *([] if features_dir is None else [features_dir])])
        given, features_dir = [], None
    data = _read(given, features_dir)
    work = Reproduction(chosen, data, Log(log or output / "runs.jsonl"), n_seeds=seeds)
    results = work.results()  # raises for an unusable log before any work
    if LIST in wanted:
        _print_list(work, results)
        return
    load_extra("matplotlib", "paper", "figures")  # before hours of runs, not after
    _check_needs(work, wanted)
    n_failed = 0 if records_only else _run(work.able(), jobs)
    _write(show(work), output)
    if n_failed:
        what = counted(n_failed, "run")
        say(f"{what} failed: run this command again to repeat them.", "red", stderr=True)
        raise typer.Exit(1)


def _is_file(name: str) -> bool:
    known = {LIST, *GROUPS, *(exhibit.id for exhibit in exhibits())}
    return name not in known and Path(name).suffix in SUFFIXES


def _say_unused(wanted: list[str], paths: list[Path]) -> None:
    if paths:
        files = first_few(paths, write=str)
        need, verb = "need" + "s" * (len(wanted) == 1), "is" if len(paths) == 1 else "are"
        say(f"{', '.join(wanted)} {need} no features, so {files} {verb} not used.", stderr=True)


def _read(features: list[Path], folder: Path | None) -> dict[str, DataSet]:
    for path in filter(Path.is_dir, features):
        advice = "pass {features_dir} to use all feature files in this folder."
        raise ArgumentError({"features": path}, "is a folder", advice, features_dir=path)
    found = [*features, *([] if folder is None else find_feature_files(folder))]
    with Console(stderr=True).status("Reading features …"):
        data = read_data_sets(found)
    for each in data.values():
        if each.paper_name is None:
            penalty = f"so its penalty ({each.l2('base'):.3g}) has the ridge of Flowers-102"
            say(f"{each.name} is not one of the paper's datasets, {penalty}.", stderr=True)
    return data


def _print_list(work: Reproduction, results: Results) -> None:
    """Print every figure and table with its needed data, its finished runs and its time."""
    missing = work.missing()
    rows: list[list[object]] = []
    for exhibit in work.exhibits:
        runs = [] if exhibit in missing else work.runs_of(exhibit)
        done = f"{sum(run in results for run in runs)} of {len(runs)}" if runs else "–"
        minutes = work.core_minutes(exhibit, runs)
        about = f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.2g}"
        what = [exhibit.id, f"{exhibit.place}: {exhibit.title}"]
        rows.append([*what, Text(fill(exhibit.needs_words, NEEDS_WIDTH)), done, about])
    headings = ["id", "place and title", "needs", "runs done", "core minutes"]
    if Console().width < NARROW:
        headings = ["id, place and title", *headings[2:]]
        rows = [[Text(f"{name}\n{title}"), *others] for name, title, *others in rows]
    caption = "Core minutes are rough estimates" + (
        "." if work.data else "; if features are needed, for a dataset such as Flowers-102."
    )
    print_table(headings, rows, names=headings[:-2], caption=caption)


def _check_needs(work: Reproduction, wanted: list[str]) -> None:
    """Raise an error if a figure named by the user, or a whole group, lacks its data.

    Other figures without their data are printed. This is called before any file is written.
    """
    missing = work.missing()
    for group in (name for name in wanted if name in GROUPS):
        if missing.keys() >= set(choose_exhibits([group])):
            advice = "pass {features} or {features_dir}."
            problem = f"{group} needs feature files"
            raise ArgumentError("", problem, advice, features=..., features_dir=...)
    by_name = choose_exhibits([name for name in wanted if name not in GROUPS])
    for exhibit, lacks in missing.items():
        if exhibit in by_name:
            advice = "pass {features}."
            other = exhibit.on_any_features() if exhibit.data_sets else None
            if other is not None:
                same = "which makes the same figure from any features"
                advice = f"pass {{features}}, or run `twohot reproduce {other.id}`, {same}."
            raise ArgumentError("", f"{exhibit.id} needs {lacks}", advice, features=...)
    if missing:
        names = first_few([exhibit.id for exhibit in missing], write=str)
        say(f"Not run, because feature files are missing: {names}.", stderr=True)


def _run(work: Reproduction, jobs: int) -> int:
    """Run the unfinished runs with a progress bar; return the number of failures."""
    n_wanted, n_waiting = len(set(work.wanted())), len(work.unfinished())
    if n_waiting < n_wanted:
        say(f"{n_wanted - n_waiting} of {n_wanted} runs were already finished.", stderr=True)
    with show_progress(n_waiting) as callback:
        done = work.run(n_jobs=jobs, callback=callback)
    failed = [record for record in done if record.error is not None]
    for record in failed:
        say(f"Failed: {record.run}: {record.error}", "red", stderr=True)
    return len(failed)


def _write(report: Report, output: Path) -> None:
    n_files = 0
    for each in report.shown:
        n_files += len(write_made(output / each.exhibit.file_name, each.made))
    page = write_text(output / "index.html", report.to_html())
    for claim, verdict in report.verdicts:
        why = f": {verdict.evidence}" if verdict.answer is Answer.NOT_TESTABLE else ""
        say(f"{report.signs[verdict.answer]} {claim.title}: {verdict.with_basis}{why}")
    notes = list(dict.fromkeys(note for each in report.shown for note in each.made.notes))
    for note in notes[:MOST_NOTES]:
        say(note, stderr=True)
    if len(notes) > MOST_NOTES:
        say(f"{len(notes) - MOST_NOTES} more notes are in {page}.", stderr=True)
    say(f"Wrote {counted(n_files, 'file')} and {page}")

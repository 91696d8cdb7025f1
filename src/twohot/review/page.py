"""The review page: one HTML file that works offline in a browser.

The file contains its style, scripts and data. Text from a user's data is not trusted: the template
escapes it, the JSON contains no character that is special in HTML, and the scripts insert text by
`textContent` only. A Content-Security-Policy allows only pictures, and the script and the style of
the file by their hashes.

A *verdict page* is a smaller page, on which a person says which given labels are right.
"""

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    IntArray,
    check_count,
    counted,
    json_safe,
    page_templates,
    whole_file,
)
from twohot.review.charts import choice_plot, method_dots
from twohot.review.embedding_map import map_columns
from twohot.review.page_data import (
    EMBED_LIMIT,
    PictureFiles,
    finding_columns,
    neighbour_columns,
    neighbours_by_row,
    row_columns,
    row_pictures,
    rows_of_page,
    spelling_columns,
    thousandths,
    verdict_columns,
)
from twohot.review.records import ReviewRows, ReviewSummary

# Modules of the page's script. A module imports only from the modules before it.
SCRIPTS = (
    "state",
    "decision_file",
    "storage",
    "filters",
    "elements",
    "map",
    "overview",
    "points",
    "embedding_map",
    "views",
    "dialogs",
    "spellings",
    "review",
)
# In a notebook, the module `notebook` replaces the browser's storage.
STORED = SCRIPTS.index("storage")
NOTEBOOK_SCRIPTS = (*SCRIPTS[:STORED], "notebook", *SCRIPTS[STORED:])
# Modules of a verdict page.
VERDICT_SCRIPTS = ("state", "decision_file", "storage", "elements", "certificate", "verdicts")
# Columns that a verdict page omits, because these columns show how suspicious a label is.
DOUBTS = ("wrong", "confidence", "secondConfidence", "undecided")
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export ", re.MULTILINE)
# Characters that are escaped, because they could end the HTML element or a line of the script.
ESCAPES = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})
PAGES = page_templates("twohot.review")
# The command shown in reports of `twohot audit`.
APPLY_COMMAND = (
    "twohot apply {file} --audit <folder of this report> --to <your file or folder> "
    "-o <new file or folder>"
)


def write_review(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    summary: ReviewSummary,
    *,
    image_root: str | os.PathLike[str] | None = None,
    embed_limit: int = EMBED_LIMIT,
    next_step: str = APPLY_COMMAND,
) -> str:
    """Write the review of an audit as one HTML file.

    Parameters
    ----------
    path : path
        The file to write.
    rows : ReviewRows
        All rows of the data. The page shows the flagged rows and the rows of `summary.findings`.
    summary : ReviewSummary
        The results of the audit as a whole.
    image_root : path, default=None
        Folder to which the paths of pictures are relative; None means the current folder.
    embed_limit : int, default=2000
        Maximum number of pictures that are stored in the page; the most suspicious rows come first.
        The same maximum applies to the small pictures of nearest rows. Other pictures are linked.
    next_step : str
        The command that the page shows for applying decisions. `{file}` in this text is replaced by
        the name of the decision file.

    Returns
    -------
    str
        The name of the report, which is also in each decision file. The same rows give the same
        name.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> given = ["cat", "cat", "dog", "dog"]
    >>> issues = find_label_issues(None, given, probabilities=np.eye(2)[[1, 0, 1, 1]])
    >>> rows = issues.report("audit.html")
    >>> report = write_review("report.html", rows, ReviewSummary(title="Pets"))
    >>> report in Path("report.html").read_text(encoding="utf-8")
    True
    """
    check_count("embed_limit", embed_limit, 0)
    target = Path(path)
    files = PictureFiles(target.parent, Path(image_root or "."), embed_limit)
    _write_page(target, review_page(rows, summary, files, next_step=next_step))
    return rows.report_id()


def review_page(
    rows: ReviewRows,
    summary: ReviewSummary,
    picture_files: PictureFiles,
    *,
    next_step: str,
    in_notebook: bool = False,
) -> str:
    """Return the page as text. If `in_notebook`, the page stores decisions in the notebook."""
    _check_matrices(len(rows.classes), summary)
    shown = rows_of_page(rows.flagged, summary.findings, rows.given_labels != NO_LABEL)
    near = neighbours_by_row(summary.evidence, summary.findings)
    pictures, warning = row_pictures(rows, shown, picture_files)
    report = rows.report_id()
    counts = summary.counts or rows.counts()
    data = {
        "report": report,
        "nextStep": next_step.format(file=f"decisions-{report}.csv"),
        **row_columns(rows, shown),
        **pictures,
        **neighbour_columns(rows, shown, near, picture_files),
        "nFlagged": len(rows.flagged),
        "findings": finding_columns(summary.findings, shown),
        "verdicts": verdict_columns(rows, summary.verdicts, shown),
        "spellings": spelling_columns(rows.classes, counts.class_sizes),
        "alikeClasses": [
            (pair.first, pair.second, round(100 * pair.mixing)) for pair in summary.alike_classes
        ],
        "noise": thousandths(summary.corruption),
        "correlation": thousandths(summary.correlation),
        "order": summary.class_order,
        "map": map_columns(rows, shown, summary.embedding_map),
    }
    headline, sentences = _answer(rows, summary)
    return _rendered(
        "review.html",
        data,
        NOTEBOOK_SCRIPTS if in_notebook else SCRIPTS,
        read_template("review.css"),
        title=summary.title,
        report=report,
        next_step=data["nextStep"],
        in_notebook=in_notebook,
        summary=summary,
        messages=[*summary.messages, *warning],
        headline=headline,
        sentences=sentences,
        spellings=[] if summary.verdicts else data["spellings"],
        methods=method_dots(summary.methods),
        plot=None if summary.choice is None else choice_plot(summary.choice),
    )


def write_verdict_page(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    shown: IntArray,
    task: Mapping[str, Any],
    *,
    title: str,
    sentences: Sequence[str] = (),
    image_root: str | os.PathLike[str] | None = None,
) -> None:
    """Write a page to give verdicts for a certificate, or to show a certified list.

    `shown` has the positions of the rows in the order of the page. `task` has the settings of the
    page's script. `task["mode"]` is "review" (give verdicts until few enough labels can be wrong),
    "check" (give verdicts on rows drawn at random) or "list" (show a certified list of wrong
    labels). `sentences` are part of the help; in the mode "list", they state the guarantee.
    """
    target, mode = Path(path), task["mode"]
    files = PictureFiles(target.parent, Path(image_root or "."))
    pictures, warning = row_pictures(rows, shown, files)
    report = rows.report_id()
    columns = row_columns(rows, shown)
    data = {
        "report": report,
        "nextStep": APPLY_COMMAND.format(file=f"decisions-{report}.csv"),
        **{name: column for name, column in columns.items() if name not in DOUBTS},
        **pictures,
        "findings": [],
        "spellings": spelling_columns(rows.classes, rows.counts().class_sizes),
        "task": task,
    }
    page = _rendered(
        "verdicts.html",
        data,
        VERDICT_SCRIPTS,
        read_template("review.css") + read_template("verdicts.css"),
        title=title,
        mode=mode,
        sentences=[*sentences, *warning],
        file="check_done.csv" if mode == "check" else "certificate.json",
        has_items=rows.items is not None,
    )
    _write_page(target, page)


def _rendered(
    template: str, data: Mapping[str, Any], scripts: Sequence[str], style: str, **words: Any
) -> str:
    """Return a page with its data, scripts and style embedded."""
    script = joined_script(scripts)
    return PAGES.get_template(template).render(
        data=embedded_json(data),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        **words,
    )


def _write_page(target: Path, page: str) -> None:
    with whole_file(target) as file:
        # Lone surrogates become escapes, which are valid in JSON.
        file.write(page.encode("utf-8", "backslashreplace"))


def embedded_json(data: Any) -> str:
    r"""Return JSON without characters that are special in HTML: `<` becomes `\u003c`."""
    text = json.dumps(json_safe(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(ESCAPES)


def joined_script(names: Sequence[str] = SCRIPTS) -> str:
    """Return modules of the page's script as one script without imports and exports.

    A browser refuses imports in a page that is opened from disk.
    """
    modules = (read_template(f"{name}.mjs") for name in names)
    return '"use strict";\n' + "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in modules)


def read_template(name: str) -> str:
    """Return the text of a file in the folder `templates`."""
    return (files("twohot.review") / "templates" / name).read_text("utf-8")


def _answer(rows: ReviewRows, summary: ReviewSummary) -> tuple[str, list[str]]:
    """Return the headline of the page's overview, and sentences on wrong and flagged labels."""
    if summary.verdicts:
        disagree = "Reviewers disagree on the labels of these rows. Your decision here is final."
        return f"{_number(len(summary.verdicts), 'row')} to settle", [disagree]
    counts = summary.counts or rows.counts()
    n_labelled, flagged = counts.n_rows - counts.n_unlabelled, _number(counts.n_flagged, "label")
    headline, sentences, n_wrong = f"{flagged} flagged", [], math.nan
    is_known = summary.noise_interval != (0, 1)
    if not is_known:
        headline = "The fraction of wrong labels is unknown"
        reason = "the features predict the labels no better than class frequencies do"
        sentences.append(f"This fraction cannot be estimated, because {reason}.")
    elif summary.noise_rate is not None:
        n_wrong = summary.noise_rate * n_labelled
        headline = f"About {100 * summary.noise_rate:.0f} % of the labels are wrong"
        between = ""
        if summary.noise_interval:
            least, most = summary.noise_interval
            bounds = f"lower bound {100 * least:.1f} %, upper bound {100 * most:.1f} %"
            between = f" ({bounds}, each with a margin of two standard errors)"
        labels = _number(n_labelled, "label")
        sentences.append(f"That is about {n_wrong:,.0f} of {labels}{between}.")
    close = f", including {_number(counts.n_undecided, 'close call')}" * bool(counts.n_undecided)
    meaning = " (two classes are about equally probable)" * bool(counts.n_undecided)
    sentences.append(f"The audit flags {flagged}{close}{meaning}.")
    # `summary.counts` is set if the page contains only a part of the rows: no sum over all rows.
    if counts.n_flagged and summary.counts is None and is_known:
        expected = float(np.nansum(rows.probability_wrong[rows.is_label_issue]))
        missed = n_wrong - expected
        more = f"; about {missed:,.0f} more wrong labels are not flagged" * (missed >= 1.5)
        sentences[-1] += f" About {expected:,.0f} of the flagged labels are wrong{more}."
    without = f" Rows without a label ({counts.n_unlabelled:,}) are never flagged."
    size = f"The data have {_number(counts.n_rows, 'row')} and {len(rows.classes):,} classes."
    sentences.append(size + without * bool(counts.n_unlabelled))
    return headline, sentences


def _number(count: int, noun: str) -> str:
    return counted(count, noun, form=",")


def _check_matrices(n_classes: int, summary: ReviewSummary) -> None:
    """Raise if a matrix of the summary does not match the classes."""
    advice = f"pass shape ({n_classes}, {n_classes}), one row and one column per class."
    for name in ("corruption", "correlation"):
        matrix = getattr(summary, name)
        if matrix is not None and np.shape(matrix) != (n_classes, n_classes):
            raise ArgumentError(name, f"has shape {np.shape(matrix)}", advice)
    order = summary.class_order
    if order is not None and sorted(np.asarray(order).tolist()) != list(range(n_classes)):
        advice = f"pass each position from 0 to {n_classes - 1} once."
        raise ArgumentError("class_order", "is not an order of all classes", advice)


def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

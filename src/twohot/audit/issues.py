"""`LabelIssues`: the result of an audit of labels, with one entry per row of the data.

A row is *flagged* if its given label is suspicious. The *suggestion* for a row is its most probable
class. A flagged row is a *close call*, or undecided, if two classes are similarly probable.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from twohot.audit.certificate_file import plan_check, verdicts_of_draw
from twohot.audit.guaranteed_list import CheckDraw, GuaranteedList, listable_doubt
from twohot.audit.guaranteed_list import certify as certify_list
from twohot.base import (
    NO_LABEL,
    WHOLE_NUMBER,
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    as_text,
    check_output,
    counted,
    load_extra,
    notebook_table,
)
from twohot.judge import LIKELY_WRONG
from twohot.review import (
    Decision,
    ReviewRows,
    ReviewWidget,
    apply_decisions,
    read_decisions,
    write_review,
)
from twohot.tables import RowIds, check_same_index

LABELS = ("given_label", "predicted_label", "second_label")
COLUMNS = (
    *("is_label_issue", "label_quality", "probability_wrong", *LABELS),
    *("confidence", "second_confidence", "is_undecided"),
)
# Fields with one entry per row, except the ids.
ROW_FIELDS = (
    *("is_label_issue", "label_quality", "given", "predicted", "second"),
    *("confidence", "second_confidence", "is_undecided"),
)
HEADINGS = ("id", "wrong", "given", "suggested", "second")
SHOWN = 10  # maximum number of rows in the printed table
# The next step that a page shows if the page was not written into the folder of an audit.
APPLY_IN_PYTHON = 'labels = issues.apply("{file}")'


@dataclass(frozen=True, eq=False)
class LabelIssues:
    """The result of an audit, with one entry per row of the data, in the same order.

    `issues["label_quality"]` is a column. `issues[:5]` and `issues[mask]` select rows. The
    `noise_rate`, `noise_interval` and `corruption` of such a selection still describe all rows.
    `issues.rows` are the positions of the flagged rows. `issues.to_pandas()` and
    `issues.to_polars()` return data frames; the pandas frame has the index of the data. A loop over
    `issues` yields one dict per row.

    The fields `given`, `predicted` and `second` have labels as positions in `classes`; the columns
    `given_label`, `predicted_label` and `second_label` have the names. `corruption[k, l]` is the
    estimated fraction of rows of true class k with given label l. Its rows sum to one. It is the
    transpose of cleanlab's noise matrix.
    """

    is_label_issue: NDArray[np.bool_]  # (n_rows,), whether the row is flagged
    label_quality: FloatArray  # (n_rows,), probability that the label is right; NaN: no label
    given: IntArray  # (n_rows,), label as a position in classes; NO_LABEL: no label
    predicted: IntArray  # (n_rows,), the most probable class: the suggestion
    second: IntArray  # (n_rows,), the second most probable class
    confidence: FloatArray  # (n_rows,), probability of the suggestion
    second_confidence: FloatArray  # (n_rows,), probability of the class `second`
    is_undecided: NDArray[np.bool_]  # (n_rows,), whether two classes are similarly probable
    classes: NDArray[Any]  # (n_classes,), classes that can be suggested
    noise_rate: float  # estimated fraction of wrong labels: mean of probability_wrong
    # Lower and upper bound of the fraction of wrong labels, widened by two standard errors; (0, 1):
    # the features do not predict the labels
    noise_interval: tuple[float, float]
    # (n_classes, n_classes), row true class, column given label; CSR above 2,000 classes
    corruption: Matrix
    ids: RowIds  # (n_rows,), ids of the rows in your data
    messages: tuple[str, ...] = ()  # notes on the result, as sentences
    probe: Any = None  # the classifier that gave the probabilities; None if you passed them
    n_checked: int = 0  # number of rows that were passed as checked

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return COLUMNS

    @property
    def probability_wrong(self) -> FloatArray:
        """(n_rows,) probability that the label is wrong; NaN for a row without a label."""
        return 1 - self.label_quality

    @property
    def given_label(self) -> NDArray[Any]:
        """(n_rows,) names of the given labels; None for a row without a label."""
        return Labels(self.given, self.classes).values

    @property
    def predicted_label(self) -> NDArray[Any]:
        """(n_rows,) names of the most probable classes: the suggestions."""
        return Labels(self.predicted, self.classes).values

    @property
    def second_label(self) -> NDArray[Any]:
        """(n_rows,) names of the second most probable classes."""
        return Labels(self.second, self.classes).values

    @property
    def n_issues(self) -> int:
        """Number of flagged labels."""
        return int(np.count_nonzero(self.is_label_issue))

    @property
    def rows(self) -> NDArray[np.intp]:
        """Positions of the flagged rows, most suspicious first."""
        flagged = np.flatnonzero(self.is_label_issue)
        return flagged[np.argsort(self.label_quality[flagged], kind="stable")]

    def share_in_words(self) -> str:
        """Return the estimated fraction of wrong labels, and its interval, as text."""
        least, most = self.noise_interval
        if (least, most) == (0, 1):
            return "the fraction of wrong labels cannot be estimated from these features"
        between = f"between {least:.1%} and {most:.1%}, including two standard errors"
        return f"about {self.noise_rate:.1%} are wrong ({between})"

    def corrected_labels(
        self, *, undecided: bool = False, unlabelled: bool = False
    ) -> NDArray[Any]:
        """Return the labels after automatic corrections.

        A flagged label is replaced by the suggestion if it is more likely wrong than right and the
        row is no close call.

        Parameters
        ----------
        undecided : bool
            If True, all flagged labels are replaced.
        unlabelled : bool
            If True, rows without a label get their suggestion. By default they get None.

        Returns
        -------
        array of shape (n_rows,)
            Labels by name.
        """
        return self.corrected(undecided=undecided, unlabelled=unlabelled).values

    def corrected(self, *, undecided: bool = False, unlabelled: bool = False) -> Labels:
        """Return `corrected_labels` as a `Labels` record, which a probe accepts as y."""
        replaced = self.is_label_issue
        if not undecided:
            replaced = taken_unseen(replaced, self.is_undecided, self.label_quality)
        if unlabelled:
            replaced = replaced | (self.given == NO_LABEL)
        return Labels(np.where(replaced, self.predicted, self.given), self.classes)

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...

    @overload
    def __getitem__(self, key: int | slice | Sequence[int] | NDArray[Any]) -> "LabelIssues": ...

    def __getitem__(self, key: Any) -> "NDArray[Any] | LabelIssues":
        if isinstance(key, str):
            if key not in COLUMNS:
                raise KeyError(f"{key!r} is not a column: pass one of {', '.join(COLUMNS)}.")
            values: NDArray[Any] = getattr(self, key)
            return values
        rows = np.atleast_1d(np.arange(len(self))[key])
        columns = {name: getattr(self, name)[rows] for name in ROW_FIELDS}
        return replace(self, ids=self.ids.take(rows), **columns)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, with the id first."""
        columns = (self.ids, *(self[name].tolist() for name in COLUMNS))
        for cells in zip(*columns, strict=True):
            yield dict(zip(("id", *COLUMNS), cells, strict=True))

    def __len__(self) -> int:
        return len(self.is_label_issue)

    def to_pandas(self) -> Any:
        """Return a pandas data frame with the index of the data, or the ids as index."""
        pandas = load_extra("pandas", "frames", "data frames")
        index = self.ids.values
        if not isinstance(index, pandas.Index):
            name = getattr(index, "name", self.ids.column or None)
            index = pandas.Index(list(index), name=name)
        columns: dict[str, Any] = {name: self[name] for name in COLUMNS}
        columns["given_label"] = pandas_labels(Labels(self.given, self.classes))
        return pandas.DataFrame(columns, index=index)

    def to_polars(self) -> Any:
        """Return a polars data frame, whose first column `id` has the ids as text."""
        polars = load_extra("polars", "frames", "data frames")
        columns = {"id": list(self.ids), **{name: self[name].tolist() for name in COLUMNS}}
        return polars.DataFrame(columns, strict=False)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        texts: Sequence[str] | None = None,
        images: Sequence[str | os.PathLike[str]] | None = None,
        X: Matrix | None = None,
        groups: Any = None,
        title: str = "Label audit",
        map: str | None = "pca",  # noqa: A002 - as the option of the command
    ) -> ReviewRows:
        """Write an HTML page to review the flagged labels.

        Parameters
        ----------
        path : path
            The HTML file to write.
        texts, images : sequence of str or paths, optional
            The text or the image path of every row, shown in the page. Paths are relative to the
            current folder. A pandas series, and a pandas X, must have the index of the data.
        X : array, memory map, sparse matrix or data frame, optional
            The audited features. If you pass X, the page also shows nearest rows, near-duplicates,
            outliers, correlations of the classes, and a map of all rows.
        groups : array, list or series of shape (n_rows,), optional
            The group of each row, such as its annotator. The page lists the groups with the largest
            fraction of wrong labels, and can colour the map by group.
        title : str
            Title of the page.
        map : {"pca", "umap"} or None, default="pca"
            Method that maps X to two dimensions; None for no map. To use "umap", install
            `twohot[umap]`.

        Returns
        -------
        ReviewRows
            The rows of the page. Pass the decisions that the page exports to `issues.apply`.

        Examples
        --------
        >>> from twohot import find_label_issues
        >>> issues = find_label_issues(
        ...     None, ["cat", "dog"] * 4, probabilities=np.eye(2)[[1, *[0, 1] * 3, 1]]
        ... )
        >>> issues.report("report.html", texts=["woof", *["meow", "wuff"] * 3, "arf"])
        <ReviewRows: 8 rows of 2 classes, 7 flagged>
        """
        # That module imports this one.
        from twohot.audit.report import page_content  # noqa: PLC0415

        if os.fspath(path).endswith(("/", os.sep)):
            advice = f"pass a file, such as {str(Path(path) / 'report.html')!r}."
            raise ArgumentError({"path": os.fspath(path)}, "is a folder", advice)
        check_output(Path(path), force=True, name="path")
        rows, summary = page_content(self, texts, images, X, groups, title=title, map_method=map)
        write_review(path, rows, summary, next_step=APPLY_IN_PYTHON)
        return rows

    def review(
        self,
        *,
        texts: Sequence[str] | None = None,
        images: Sequence[str | os.PathLike[str]] | None = None,
        X: Matrix | None = None,
        groups: Any = None,
        title: str = "Label audit",
        map: str | None = "pca",  # noqa: A002 - as the option of the command
        height: int = 760,
    ) -> ReviewWidget:
        """Return the page of `report` as a widget, to review flagged labels in a notebook.

        Parameters
        ----------
        texts, images, X, groups, title, map
            As for `report`. The widget shows only the images of the 2,000 most suspicious rows.
        height : int
            Height of the widget, in pixels.

        Returns
        -------
        ReviewWidget
            To show the widget, write it in the last line of a cell. If it is named `review`,
            `issues.apply(review.decisions)` returns the labels after the decisions made so far. To
            use the widget, install `twohot[notebook]`.

        Examples
        --------
        >>> from twohot import find_label_issues
        >>> issues = find_label_issues(
        ...     None, ["cat", "dog"] * 4, probabilities=np.eye(2)[[1, *[0, 1] * 3, 1]]
        ... )
        >>> review = issues.review(texts=["woof", *["meow", "wuff"] * 3, "arf"])
        >>> review
        <ReviewWidget of <ReviewRows: 8 rows of 2 classes, 7 flagged>>
        >>> review.decisions
        []
        """
        from twohot.audit.report import page_content  # noqa: PLC0415

        load_extra("anywidget", "notebook", "reviews in a notebook")  # before anything is computed
        rows, summary = page_content(self, texts, images, X, groups, title=title, map_method=map)
        return ReviewWidget(rows, summary, height=height)

    def apply(self, decisions: str | os.PathLike[str] | Sequence[Decision]) -> Any:
        r"""Return the labels after a review, with the index of the data.

        Parameters
        ----------
        decisions : path or list of Decision
            The file that the page of `issues.report` exported, or the decisions of
            `issues.review`.

        Returns
        -------
        pandas series
            One label per row, possibly a new class. Excluded rows have no label. Rows without a
            decision keep their given label.

        Examples
        --------
        >>> import pandas as pd
        >>> from pathlib import Path
        >>> from twohot import find_label_issues
        >>> animals = pd.Series(["cat", "dog"] * 4, index=[*"abcdefgh"])
        >>> issues = find_label_issues(
        ...     None, animals, probabilities=np.eye(2)[[1, *[1, 0] * 3, 1]]
        ... )
        >>> lines = ["report,id,given_label,suggested_label,decision,label"]
        >>> lines += ["r1,a,cat,dog,accept,", "r1,b,dog,dog,exclude,", "r1,c,cat,cat,new_class,fox"]
        >>> _ = Path("decisions.csv").write_text("\n".join(lines))
        >>> issues.apply("decisions.csv").fillna("(none)").head(4).tolist()
        ['dog', '(none)', 'fox', 'dog']
        """
        rows, name = rows_of_issues(self), "decisions"
        if isinstance(decisions, str | os.PathLike):
            name, decisions = os.fspath(decisions), read_decisions(decisions)
        decisions = list(decisions)
        for column in ("given_label", "suggested_label"):
            if any(getattr(decision, column) is None for decision in decisions):
                problem = f"{name} has no column {column}, which is needed to check the rows"
                raise ValueError(f"{problem}: export the decisions again from the review page.")
        # The labels in each decision are checked, because the reviewer saw them. The name of the
        # report is not checked, because it depends on the texts in the page.
        report = rows.report_id()
        applied = apply_decisions(rows, [replace(made, report=report) for made in decisions])
        new = applied.classes[len(rows.classes) :]
        labels = pandas_labels(Labels(applied.labels, _with_new(self.classes, new)))
        pandas = load_extra("pandas", "frames", "data frames")
        return pandas.Series(labels, index=self.to_pandas().index, name="label")

    def draw_check(self, fdr: float, *, n_checked: int | None = None, seed: int = 0) -> CheckDraw:
        """Draw random rows to check, so that `certify` can list wrong labels with a guarantee.

        The rows are drawn from the most suspicious rows whose suggestion differs from their label.

        Parameters
        ----------
        fdr : float
            The false discovery rate: largest fraction of right labels in the list, on average over
            random draws.
        n_checked : int, optional
            Number of rows to draw. By default, enough rows for a list of about all flagged labels,
            if most flagged labels are wrong.
        seed : int
            Seed of the draw. Draw once: a second draw voids the guarantee of both draws.

        Returns
        -------
        CheckDraw
            `issues[draw.rows]` are the rows to check, in random order. Do not sort them by score.
        """
        doubt = listable_doubt(self.label_quality, self.given, self.predicted)
        return plan_check(doubt, self.n_issues, fdr, n_checked=n_checked, seed=seed)

    def certify(
        self, checked: Any, fdr: float, *, n_checked: int | None = None, seed: int = 0
    ) -> GuaranteedList:
        """Return the longest list of unchecked labels that the verdicts certify as mostly wrong.

        Parameters
        ----------
        checked : mapping, series, path or data frame
            Verdicts on all drawn rows. A verdict is "right", "wrong", "unsure" or the true label.
            Pass a mapping from row id to verdict; a pandas series of verdicts with the ids as
            index; a file or frame with the columns `id` and `verdict`; a frame with the columns
            `id` and `label` or `true_label`; or the decisions of a review. The verdict "unsure"
            counts as right. `issues.ids[row]` is the id of the row at position `row`.
        fdr, n_checked, seed
            The values that you passed to `draw_check`.

        Returns
        -------
        GuaranteedList
            If it is named `listed`, `issues[listed.rows]` are the listed rows, most suspicious
            first. `print(listed)` shows the guarantee, or why the list is empty.

        Examples
        --------
        >>> from twohot import find_label_issues
        >>> from twohot.noise import corrupt_labels, symmetric
        >>> true = np.repeat([0, 1, 2], 300)
        >>> X = np.eye(3)[true] + np.random.default_rng(0).normal(0, 0.2, (900, 3))
        >>> given = corrupt_labels(true, symmetric(3, 0.2), random_state=0).given_labels
        >>> issues = find_label_issues(X, given)
        >>> draw = issues.draw_check(fdr=0.1)
        >>> checked = {row: true[row] for row in draw.rows}  # a person's verdicts
        >>> listed = issues.certify(checked, fdr=0.1)
        >>> len(listed.rows) > 100, np.mean(given[listed.rows] == true[listed.rows]) < 0.2
        (True, np.True_)
        """
        draw = self.draw_check(fdr, n_checked=n_checked, seed=seed)
        words = verdicts_of_draw(checked, draw, self.given, self.classes, self.ids)
        return certify_list(draw, words == "wrong", fdr)

    def answer(self) -> str:
        """Return one sentence on the fraction of wrong labels and the number of flagged labels."""
        n_labels = np.count_nonzero(self.given != NO_LABEL)
        n_close = np.count_nonzero(self.is_label_issue & self.is_undecided)
        close = f", {n_close:,} of them as close calls" * bool(n_close)
        flags = f"The audit flags {counted(self.n_issues, 'label', form=',')}{close}."
        return f"Of {n_labels:,} labels, {self.share_in_words()}. {flags}"

    def _shown(self) -> list[tuple[str, ...]]:
        """Return the cells of the most suspicious rows as text."""
        shown = self[self.rows[:SHOWN]]
        wrong = (f"{share:.1%}" for share in shown.probability_wrong)
        labels = (map(str, shown[name]) for name in LABELS)
        return list(zip(shown.ids, wrong, *labels, strict=True))

    def __repr__(self) -> str:
        rows = [HEADINGS, *self._shown()] if self.n_issues else []
        lines = [
            f"{name:>8.20}  {wrong:>7}  {given:20.20}  {suggested:20.20}  {second:20.20}"
            for name, wrong, given, suggested, second in rows
        ]
        return "\n".join([self.answer(), *lines, *self.messages])

    def _repr_html_(self) -> str:
        """Return the answer, the most suspicious rows and the number of messages as HTML."""
        shown, more = self._shown(), []
        if self.n_issues > len(shown):
            few = f"The table has the {len(shown)} most suspicious rows"
            more.append(f"{few}; issues.review() shows all flagged rows.")
        if self.messages:
            notes = counted(len(self.messages), "note")
            more.append(f"The result has {notes}: see issues.messages.")
        return notebook_table(self.answer(), HEADINGS, shown, more)


def taken_unseen(flagged: BoolArray, undecided: BoolArray, label_quality: FloatArray) -> BoolArray:
    """Return which rows get their suggested label without a review.

    These rows are flagged, are no close calls, and have a label more likely wrong than right.
    """
    # The quality of a row without a label is NaN, which compares as False.
    return np.asarray(flagged & ~undecided & (label_quality < 1 - LIKELY_WRONG))


def pandas_labels(labels: Labels) -> Any:
    """Return labels as a pandas column, as Int64 if they are integers and some are missing."""
    if labels.classes.dtype.kind not in "iu" or labels.labelled.all():
        return labels.values
    pandas = load_extra("pandas", "frames", "data frames")
    return pandas.array(labels.values, dtype="Int64")


def _with_new(classes: NDArray[Any], new: Sequence[str]) -> NDArray[Any]:
    """Return the classes followed by new classes, as integers if all names are integers."""
    if not new:
        return classes
    if classes.dtype.kind in "iu" and all(WHOLE_NUMBER.fullmatch(name) for name in new):
        return np.array([*classes.tolist(), *map(int, new)])
    return np.array([*classes.tolist(), *new], dtype=object)


def rows_of_issues(
    issues: LabelIssues,
    items: Sequence[str] | None = None,
    item_kind: str = "",
    spellings: Mapping[str, str] | None = None,
) -> ReviewRows:
    """Return the result as the rows of a review; `items` are their texts or image paths."""
    return ReviewRows(
        classes=tuple(as_text(name) for name in issues.classes.tolist()),
        ids=issues.ids,
        given_labels=issues.given,
        suggested_labels=issues.predicted,
        second_labels=issues.second,
        label_quality=issues.label_quality,
        confidence=np.minimum(issues.confidence, 1),
        second_confidence=issues.second_confidence,
        is_label_issue=issues.is_label_issue,
        is_undecided=issues.is_undecided,
        items=items,
        item_kind=item_kind,
        spellings=spellings or {},
    )


def check_rows_of_issues(name: str, data: Any, issues: LabelIssues) -> None:
    """Raise if `data` is from pandas and has another index than the audited data."""
    index = issues.ids.values if issues.ids.are_index else None
    check_same_index(name, data, "issues.to_pandas()", index)

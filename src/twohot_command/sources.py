"""Options that choose the data of a command: a table of features, or images and texts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typer import Argument, Option

from twohot.base import (
    ArgumentError,
    Labels,
    as_url,
    counted,
    first_few,
    is_missing,
    label_notes,
    on_other_host,
    told_apart,
)
from twohot.extract import FeatureOrigin, LabelledItems, read_image_folder, read_item_table
from twohot.judge import check_groups
from twohot.probes import FittedProbe
from twohot.review import ReviewRows
from twohot.tables import (
    ALL_ROWS,
    FEATURE_ENDINGS,
    LABEL_ENDINGS,
    TRAINING,
    FeatureTable,
    read_table,
    table_header,
)
from twohot_command.terminal import note, say

TEST = "test"  # name of the split for evaluation

Missing: TypeAlias = Annotated[
    list[str] | None,
    Option(help="Cell text that means a missing label; repeat the option for more texts."),
]

Folds: TypeAlias = Annotated[
    int | None, Option(min=2, help="Number of folds for cross-validation; by default five.")
]

SpreadsheetSafe: TypeAlias = Annotated[
    bool,
    Option(
        "--spreadsheet-safe",
        help="Write CSV cells so that a spreadsheet does not run them as formulas.",
    ),
]


ImageFolder: TypeAlias = Annotated[
    Path | None, Option(help="Folder that image paths are relative to.")
]

# The source of rows for a fitted probe, which stores the backbone for images and texts.
ItemsOrFeatures: TypeAlias = Annotated[
    Path,
    Argument(help="A folder of images, a table of image paths or texts, or a table of features."),
]


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return options and their values as words of a command line; None, False and "" are left out.

    Examples
    --------
    >>> option_words({"split": None, "missing": ["NA", "?"], "force": True, "accept_all": 0.9})
    ['--missing', 'NA', '--missing', '?', '--force', '--accept-all', '0.9']
    """
    words = []
    for name, given in options.items():
        option = f"--{name.replace('_', '-')}"
        values = given if isinstance(given, list) else [given]
        for value in values:
            if value is not None and value is not False and value != "":
                words += [option] if value is True else [option, str(value)]
    return words


ID_COLUMN_HELP = (
    "Column of row ids. By default the column id, else a column whose name ends in id and whose "
    "values all differ, else the ids are the positions of the rows. Pass '' to use the positions."
)


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Options for a table of features, or for images or texts if there is a fitted probe."""

    source: ItemsOrFeatures
    others: Annotated[
        list[Path] | None, Argument(help="More Parquet files with rows of the same table.")
    ] = None
    label_column: Annotated[
        str | None, Option(help="Column of the labels, or array of an .npz file.")
    ] = None
    feature_column: Annotated[
        list[str] | None,
        Option(help="Column of features, or a pattern such as 'e*'; repeat it for more columns."),
    ] = None
    id_column: Annotated[str | None, Option(help=ID_COLUMN_HELP)] = None
    item_column: Annotated[
        str | None, Option(help="Column of the texts or image paths of the rows.")
    ] = None

    def words(
        self, record: "type[FeatureOptions] | None" = None, without: Collection[str] = ()
    ) -> list[str]:
        """Return the source and the options as words of another command line.

        If `record` is a class of options, only its options are returned. The options named in
        `without` are left out.
        """
        names = [field.name for field in fields(record or self)]
        left_out = ("source", "others", *without)
        options = {name: getattr(self, name) for name in names if name not in left_out}
        return [str(self.source), *map(str, self.others or ()), *option_words(options)]

    def read(self) -> FeatureTable:
        """Return the table, with or without labels."""
        return self._read(labelled=False)

    def _read(self, **others: Any) -> FeatureTable:
        # A single column is passed as a string, because it may contain lists of numbers.
        columns = self.feature_column or None
        table = read_table(
            [self.source, *self.others] if self.others else as_url(self.source),
            label_column=self.label_column,
            feature_column=columns[0] if columns is not None and len(columns) == 1 else columns,
            id_column=self.id_column,
            item_column=self.item_column,
            **others,
        )
        if table.columns_in_words:
            say(f"Columns: {table.columns_in_words}")
        for line in table.notes:
            note(line)
        if table.item_kind == "text" and table.n_features < len(table.classes):
            only = f"{counted(table.n_features, 'feature')} for {len(table.classes)} classes"
            unused = f"only {only}: the column {table.item_column!r} is not used as a feature"
            note(f"{unused}. Run `twohot extract` to compute features of this column.")
        return table

    def read_for(self, fitted: FittedProbe, probe: Path) -> FeatureTable:
        """Return the table with the columns that the probe was fitted on, in the probe's order."""
        known = np.asarray(getattr(fitted, "feature_names_in_", ())).tolist()
        chosen = self.feature_column
        if known and not chosen:
            header = table_header([self.source, *(self.others or ())])
            chosen = known if header.keys() >= set(known) else None
        table = replace(self, feature_column=chosen).read()
        check_same_features(table, self.source, fitted, probe)
        return table

    def read_items(self, kind: str, column: str) -> LabelledItems:
        """Return the images of a folder, or the images or texts that a column lists."""
        about_labels = self._labels_of_items()
        if self.source.is_dir():
            return read_image_folder(self.source, unlabelled="unlabelled" in about_labels)
        about_labels["text_column" if kind == "text" else "path_column"] = column
        return read_item_table(self.source, id_column=self.id_column, **about_labels)

    def read_extracted(self, path: Path) -> FeatureTable:
        """Return the table of a feature file that was extracted from the source."""
        return read_table(path, labelled=False)

    def _labels_of_items(self) -> dict[str, Any]:
        return {"unlabelled": True}


@dataclass(frozen=True, kw_only=True)
class TableOptions(FeatureOptions):
    """Options for the features, the labels and the rows of a table."""

    source: Annotated[
        Path,
        Argument(help=f"Table of features: {FEATURE_ENDINGS} file, or folder of Parquet files."),
    ]
    labels: Annotated[
        Path | None,
        Option(help=f"File of labels that replace those of the table: {LABEL_ENDINGS}."),
    ] = None
    classes: Annotated[
        Path | None, Option(help="Text file with all class names in order, one per line.")
    ] = None
    missing: Missing = None
    merge_spellings: Annotated[
        bool,
        Option(
            "--merge-spellings",
            help="Merge classes whose names differ only in case, blanks or Unicode form.",
        ),
    ] = False
    split: Annotated[
        str | None,
        Option(
            help="Name of the split to use, or all for all rows; by default train if it exists."
        ),
    ] = None

    @property
    def inputs(self) -> tuple[Path | None, ...]:
        """Input files, which are never replaced."""
        return self.source, *(self.others or ()), self.labels, self.classes

    def read(self) -> FeatureTable:
        """Return the table, which must have labels; print notes on the labels."""
        return self._checked(
            self._read(missing=self.missing or (), labels=self.labels, classes=self.classes)
        )

    def read_items(self, kind: str, column: str) -> LabelledItems:
        """Return the images or texts of the source; raise if there are no labels."""
        try:
            return super().read_items(kind, column)
        except ArgumentError as error:
            if "unlabelled" not in error.mentions:
                raise
            ways = "have a sub-folder of images for each class"
            if not self.source.is_dir():
                ways = "choose the label column by {label_column}"
            advice = f"pass labels by {{labels}}, or {ways}: this command needs labels."
            words = {"labels": ..., "label_column": ...}
            raise ArgumentError(error.arguments, error.problem, advice, **words) from error

    def read_extracted(self, path: Path) -> FeatureTable:
        """Return the table of a feature file that was extracted from the source, with labels."""
        how: dict[str, Any] = {"missing": self.missing or ()}
        if self.labels is not None:
            how |= {"label_column": self.label_column, "id_column": self.id_column}
        return self._checked(read_table(path, labels=self.labels, **how))

    def _labels_of_items(self) -> dict[str, Any]:
        if self.classes is not None:  # raise before features are extracted
            problem = f"is for tables of features, but {self.source} has images or texts"
            raise ArgumentError({"classes": str(self.classes)}, problem, "leave the option out.")
        if self.labels is not None:
            return {"unlabelled": True}
        return {"label_column": self.label_column, "missing": self.missing or ()}

    def _checked(self, table: FeatureTable) -> FeatureTable:
        self._check_labelled(table.coded, f"its {counted(table.n_rows, 'row')}")
        if self.merge_spellings:
            sizes = dict(zip(table.classes, table.coded.sizes.tolist(), strict=True))
            table = table.merge_spellings()
            merged = spellings_in_words(table.spellings, sizes)
            say(f"Spellings merged: {merged or 'none, no two classes differ only in spelling'}")
        words = {"missing": "by --missing", "merge": "pass --merge-spellings"}
        for line in label_notes(table.coded, **words):
            note(line)
        return table

    def rows_of(self, table: FeatureTable) -> NDArray[np.intp]:
        """Return the rows to use, by default the training rows; raise if no row has a label."""
        rows = table.rows_of_split(self.split)
        place = f"the {counted(len(rows), 'row')} of its split {self.split or TRAINING!r}"
        self._check_labelled(table.coded.take(rows), place)
        return rows

    def _check_labelled(self, labels: Labels, rows: str) -> None:
        if not labels.labelled.any():
            problem = f"{self.source} has no label in {rows}, but this command needs labels"
            advice = "pass a label file by {labels}, or predict labels with `twohot predict`."
            raise ArgumentError("", problem, advice, labels=...)


@dataclass(frozen=True, kw_only=True)
class GroupedTableOptions(TableOptions):
    """A table for cross-validation; the rows of a group, such as a patient, are in one fold."""

    group_column: Annotated[
        str | None,
        Option(
            help="Column of groups, such as patients; all rows of a group are put in the same fold."
        ),
    ] = None

    def groups_of(self, table: FeatureTable) -> NDArray[Any] | None:
        """Return the group of every row; None without a group column."""
        if table.groups is None:
            return None
        named = {"group_column": self.group_column}
        rows = zip(table.ids, table.groups.tolist(), strict=True)
        missing = [name for name, cell in rows if is_missing(cell)]
        if missing:
            problem = f"has no group in {counted(len(missing), 'row')} (id {first_few(missing)})"
            advice = "fill in these cells; give a row that is alone in its group a unique value."
            raise ArgumentError(named, problem, advice)
        try:
            check_groups(table.groups, table.n_rows)
        except ArgumentError as error:
            raise ArgumentError(named, error.problem, error.advice, **error.mentions) from error
        return table.groups

    def _read(self, **others: Any) -> FeatureTable:
        return super()._read(group_column=self.group_column, **others)


@dataclass(frozen=True, kw_only=True)
class TrustedRowsOptions(TableOptions):
    """Rows with trusted labels; the probe was not fitted on these rows."""

    source: ItemsOrFeatures
    split: Annotated[
        str | None,
        Option(
            help="Name of the split to use, or all for all rows; by default test, or all rows if "
            "there is no split test."
        ),
    ] = None

    def rows_of(self, table: FeatureTable) -> NDArray[np.intp]:
        """Return the rows to use, by default the test rows; raise if no row has a label."""
        split = self.split or (TEST if TEST in table.split_names else ALL_ROWS)
        return super(TrustedRowsOptions, replace(self, split=split)).rows_of(table)


def check_same_features(
    table: FeatureTable, source: Path, fitted: FittedProbe, probe: Path
) -> None:
    """Raise if a probe was fitted on features of another backbone, or on other columns."""
    known = FeatureOrigin.from_json(fitted.feature_origin_)
    origin = FeatureOrigin.of_table(table)
    if known is not None and origin is not None and not origin.is_compatible_with(known):
        problem = f"{source} has features of {origin.distinct_name(known)}"
        other = f"{probe} was fitted on features of {known.distinct_name(origin)}"
        raise ValueError(f"{problem}, but {other}: use the same backbone for both.")
    # The names are checked here, because predictions use arrays without names.
    names = fitted.__dict__.pop("feature_names_in_", np.empty(0)).tolist()
    columns = list(table.feature_columns)
    if names and columns and names != columns:
        new = [name for name in columns if name not in names]
        lacking = [name for name in names if name not in columns]
        differs = [f"also has {first_few(new)}"] if new else []
        differs += [f"lacks {first_few(lacking)}"] if lacking else []
        expected = f"{counted(len(names), 'column')} {first_few(names, 3)}"
        found = " and ".join(differs) or "has these columns in another order"
        problem = f"{probe} was fitted on {expected}, but {source} {found}"
        advice = "pass {feature_column} for each column of the probe, in the order of the probe."
        raise ArgumentError("", problem, advice, feature_column=...)
    if table.n_features != fitted.n_features_in_:
        expected = f"{probe} was fitted on {fitted.n_features_in_}"
        problem = f"{source} has {table.n_features} features, but {expected}"
        raise ValueError(f"{problem}: use the same backbone for both.")


def spellings_in_words(spellings: Mapping[str, str], sizes: Mapping[str, int]) -> str:
    """Return text on which labels were merged; `sizes` has the number of rows of some labels.

    Examples
    --------
    >>> spellings_in_words({"FONTS": "fonts", " fonts": "fonts"}, {"FONTS": 2})
    "'FONTS' as 'fonts' (2 rows), '␣fonts' as 'fonts'"
    """
    words = []
    for old, new in spellings.items():
        count = f" ({counted(sizes[old], 'row')})" if old in sizes else ""
        words.append(" as ".join(told_apart((old, new))) + count)
    return first_few(words, write=str)


def image_root(
    source: Path,
    rows: ReviewRows | FeatureTable,
    places: Iterable[Path],
    images: Path | None = None,
    default: Path | None = None,
) -> Path | None:
    """Return the folder that image paths are relative to.

    The folder is `images` if given, else the first of `places` that contains the first image, else
    `default`. An image path on another host is not tried, because Windows would contact that host.
    """
    if rows.item_kind != "image":
        if images is not None:
            problem = f"needs image paths, which {source} does not have."
            raise ArgumentError({"images": images}, problem)
        return None
    first = next(iter(rows.items or ()), "")
    near = (place for place in places if not on_other_host(first, place))
    return images or next((place for place in near if (place / first).is_file()), default)

"""Any CSV file is read as it was written, or refused by a message that names its problem."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from refusals import answer_of, fuzzed

from twohot.tables import read_table

# Numbers and missing numbers of every reader. A fit refuses those that are not finite.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|nan|inf|")
NUMBERS = ("0.5", "-1", "2e3", "1E-300", "+.5", "7.", "00012", "123456789012345678")
OTHERS = ("", " 1.5 ", "1,5", "1_000", "0x10", "nan", "inf", "\uff11", "1e999", "cat", "=1", "1\n")
NAMES = ("x0", "x1", "größe", "a b", "=1", "1", " x", "\u202ebidi", "a,b", "a\nb", 'say "')
ACCENTS = ("caf\u00e9", "cafe\u0301")
LABELS = ("cat", "dog", " cat", "0", "1.0", *ACCENTS, "=1+1", "a,b", "a\nb", '"', "nan")
ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "utf-16")


@dataclass(frozen=True)
class Written:
    """One file as a program might write it."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # cells of the features
    labels: tuple[str, ...]
    delimiter: str = ","
    encoding: str = "utf-8"
    newline: str = "\n"
    quoting: int = csv.QUOTE_MINIMAL

    def stored(self, text: str) -> str:
        """Return a text as the encoding stores it."""
        return text.encode(self.encoding, "replace").decode(self.encoding)

    def write(self, path: Path) -> Path:
        text = io.StringIO(newline="")
        writer = csv.writer(
            text, delimiter=self.delimiter, lineterminator=self.newline, quoting=self.quoting
        )
        writer.writerow([*self.names, "label"])
        writer.writerows((*row, label) for row, label in zip(self.rows, self.labels, strict=True))
        path.write_bytes(text.getvalue().encode(self.encoding, "replace"))
        return path


@st.composite
def written(draw: Any) -> Written:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    cells = st.sampled_from((*NUMBERS * 6, *OTHERS))
    rows = st.lists(st.tuples(*[cells] * len(names)), min_size=1, max_size=5)
    found = draw(rows)
    labels = st.lists(st.sampled_from(LABELS), min_size=len(found), max_size=len(found))
    return Written(
        names=tuple(names),
        rows=tuple(found),
        labels=tuple(draw(labels)),
        delimiter=draw(st.sampled_from((",", ";", "\t"))),
        encoding=draw(st.sampled_from((*["utf-8"] * 4, *ENCODINGS))),
        newline=draw(st.sampled_from(("\n", "\r\n"))),
        quoting=draw(st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))),
    )


def number_of(cell: str, *, comma: bool) -> float:
    """Return the number in a cell; a comma is decimal if it does not separate cells."""
    text = cell.strip().replace(",", "." if comma else ",")
    assert NUMBER.fullmatch(text), cell
    return float(text or "nan")


FINDING = Written(("x0",), (("0.5",), ("1",)), ("1", "1.0"))


def check(file: Written, tmp_path_factory: Any) -> None:
    """Fail unless a file is read as it was written, or refused by name."""
    path = file.write(tmp_path_factory.getbasetemp() / "t.csv")
    table, refused = answer_of(lambda: read_table(path, label_column="label"))
    if refused:
        return
    assert table.n_rows == len(file.rows)
    given = [None if code < 0 else table.classes[code] for code in np.asarray(table.labels)]
    expected = [file.stored(label) for label in file.labels]
    assert given == expected
    names = [file.stored(name) for name in file.names]
    for column, name in enumerate(table.feature_columns):
        cells = [row[names.index(name)] for row in file.rows]
        assert np.allclose(
            np.asarray(table.features)[:, column],
            [number_of(cell, comma=file.delimiter != ",") for cell in cells],
            rtol=1e-15,
            equal_nan=True,
        ), cells


test_file_is_read_as_written_or_refused, test_many_files = fuzzed(
    check, 540, 28_000, FINDING, file=written()
)

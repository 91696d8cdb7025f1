"""The file of decisions that a review exports, one line per row.

Its columns are the fields of `Decision`, in any order. Those that have a default there may be
absent, so that files of older reports are read. A spreadsheet may have saved it with semicolons or
tabs. The page takes and refuses the same files, by the functions of decisions.js.
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import Any

from twohot._checks.messages import first_few
from twohot.audit.decisions import DECISIONS, OPEN, Decision
from twohot.tables.csv_file import DELIMITERS, read_csv

REQUIRED = [field.name for field in fields(Decision) if field.default is MISSING]


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    r"""Read the decisions that a review exported.

    Parameters
    ----------
    path : path
        CSV file in UTF-8, its cells separated by commas, semicolons or tabs.

    Returns
    -------
    list of Decision
        In the order of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("decisions.csv").write_text("report,id,decision,label\nr1,7,relabel,cat\n")
    >>> read_decisions("decisions.csv")
    [Decision(report='r1', id='7', decision='relabel', label='cat', given_label=None, ...)]
    """
    header, *lines = _lines(path) or [[]]
    _check_header(path, header)
    return [
        _decision(f"{path}, decision {number}", header, line)
        for number, line in enumerate(lines, start=1)
    ]


def _lines(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the lines of a file, by the first separator that finds the columns."""
    for delimiter in DELIMITERS:
        with suppress(ValueError):  # by another it may be one
            lines = read_csv(path, delimiter, is_guarded=True)
            if lines and {*REQUIRED} <= {*lines[0]}:
                return lines
    return read_csv(path, is_guarded=True)


def _check_header(path: str | os.PathLike[str], header: Sequence[str]) -> None:
    columns = [field.name for field in fields(Decision)]
    missing = [name for name in REQUIRED if name not in header]
    times = Counter(header)
    unknown = [name for name in header if name not in columns or times[name] > 1]
    if missing or unknown:
        said = [f"lacks {', '.join(missing)}"] * bool(missing)
        said += [f"has {first_few(unknown)}, not known or repeated"] * bool(unknown)
        raise ValueError(
            f"{path} {' and '.join(said)}: its columns must be {', '.join(REQUIRED)}, and may be "
            f"{', '.join(columns[len(REQUIRED) :])}, separated by commas, semicolons or tabs."
        )


def _decision(place: str, header: Sequence[str], line: Sequence[str]) -> Decision:
    """Return one decision, or say what is wrong with its line."""
    if len(line) != len(header):
        fields_found = f"{len(line)} fields and the header has {len(header)}"
        raise ValueError(f"{place} has {fields_found}: export the decisions again.")
    cells: dict[str, Any] = dict(zip(header, line, strict=True))
    decision = cells["decision"]
    if decision not in (*DECISIONS, OPEN):
        known = ", ".join((*DECISIONS, OPEN))
        raise ValueError(f"{place} has decision {decision!r}: pass one of {known}.")
    return Decision(**cells)

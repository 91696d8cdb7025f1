"""Cells that a spreadsheet would compute, guarded by an apostrophe that reading takes away.

Spreadsheets execute a cell that begins like a formula, `=cmd…` for instance, wherever its text
came from. A guarded cell has an apostrophe in front, and one more if it had some: taking one away
gives the text back. A file whose cells are guarded says so by its last column, SAFE_COLUMN: where
that is missing, an apostrophe is one of the user's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

SAFE_COLUMN = "spreadsheet_safe"
NEEDS_GUARD = re.compile(r"'*[=+\-@\t\r\n]")
HAS_GUARD = re.compile(r"'+[=+\-@\t\r\n]")
# What a spreadsheet shows as the number that it is.
PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet computes.

    Examples
    --------
    >>> guarded("=cmd|' /C calc'!A0"), guarded("-1.5"), guarded("'tis")
    ("'=cmd|' /C calc'!A0", '-1.5', "'tis")
    """
    needs_guard = NEEDS_GUARD.match(cell) and not PLAIN_NUMBER.fullmatch(cell)
    return f"'{cell}" if needs_guard else cell


def unguarded(cell: str) -> str:
    """Return a cell without the guard against spreadsheets.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("-1")
    ('=1+1', "'tis", '-1')
    """
    return cell[1:] if HAS_GUARD.match(cell) else cell


def guard_lines(lines: Iterable[Iterable[str]]) -> Iterator[list[str]]:
    """Yield the lines of a table, the header first, as a file for spreadsheets holds them."""
    for number, line in enumerate(lines):
        mark = "true" if number else SAFE_COLUMN
        yield [*(map(guarded, line) if number else line), mark]


def unguard_lines(lines: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the lines of a file, the header first, as they were before they were guarded, if so.

    Examples
    --------
    >>> lines = [["row", "label"], ["0", "=cmd"]]
    >>> list(unguard_lines(guard_lines(lines))) == lines == list(unguard_lines(lines))
    True
    """
    is_safe = False
    for number, line in enumerate(lines):
        if number == 0:
            is_safe = line[-1:] == [SAFE_COLUMN]
        yield [unguarded(cell) for cell in line[:-1]] if is_safe else list(line)

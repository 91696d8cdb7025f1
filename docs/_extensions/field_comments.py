"""The fields of a record on its page: in the code every field has its meaning as a comment."""

import ast
import dataclasses
import inspect
import io
import textwrap
import tokenize
from typing import Any

SECTIONS = ("Attributes", "Parameters")  # a docstring with one of these says it itself


def field_comments(record: type) -> dict[str, str]:
    """Return what the comments of a dataclass say of its fields, in the order of the source."""
    source = textwrap.dedent(inspect.getsource(record))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token for token in tokens if token.type == tokenize.COMMENT]
    comments = {token.start[0]: token.string.lstrip("# ") for token in found}
    body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
    fields = [entry for entry in body if isinstance(entry, ast.AnnAssign)]
    return {
        entry.target.id: " ".join(_lines_about(entry, comments, source.splitlines()))
        for entry in fields
        if isinstance(entry.target, ast.Name)
    }


def _lines_about(entry: ast.AnnAssign, comments: dict[int, str], lines: list[str]) -> list[str]:
    """Return the comments above a field, beside it, and those that go on below."""
    above, number = [], entry.lineno - 1
    while number in comments and lines[number - 1].lstrip().startswith("#"):
        above.insert(0, comments[number])
        number -= 1
    last = entry.end_lineno or entry.lineno
    beside = [comments[line] for line in range(entry.lineno, last + 1) if line in comments]
    return above + beside


def add_fields(
    _app: Any, what: str, _name: str, documented: Any, _options: Any, lines: list[str]
) -> None:
    """Add a section of fields to the docstring of a record."""
    if what != "class" or not dataclasses.is_dataclass(documented):
        return
    if any(line.strip() in SECTIONS for line in lines):
        return
    section = ["", "Attributes", "----------"]
    for name, meaning in field_comments(documented).items():
        section += [name, *([f"    {meaning}"] if meaning else [])]
    lines.extend(section)


def setup(app: Any) -> dict[str, bool]:
    """Connect before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", add_fields, priority=400)
    return {"parallel_read_safe": True}

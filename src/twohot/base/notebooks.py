"""Output in notebooks: tables and progress bars."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

import jinja2

Callback: TypeAlias = Callable[[str], None]

TABLE = (
    "<p>{{ title }}</p>"
    "{% if rows %}<table><thead><tr>"
    "{% for name in headings %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>"
    "{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}"
    "</tbody></table>{% endif %}"
    "{% for note in notes %}<p>{{ note }}</p>{% endfor %}"
)
BAR = '<progress value="{{ done }}" max="{{ total }}"></progress> {{ title }}: {{ line }}'


def notebook_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table as HTML for notebooks, with all text escaped.

    Examples
    --------
    >>> notebook_table("Two", ["name"], [["<b>"]])
    '<p>Two</p><table>...<td>&lt;b&gt;</td></tr></tbody></table>'
    """
    return _filled(TABLE, title=title, headings=headings, rows=list(rows), notes=list(notes))


@contextmanager
def notebook_bar(callback: Callback | None, title: str, total: int) -> Iterator[Callback | None]:
    """Yield a function to call after each step, with one line of text.

    If `callback` is not None, the function is `callback`. Else, in a notebook, the function moves a
    progress bar, which is removed at the end. Outside of notebooks, None is yielded.
    """
    kernel = _kernel()
    if callback is not None or kernel is None:
        yield callback
        return

    def html(done: int, line: str) -> Any:
        return kernel.HTML(_filled(BAR, title=title, done=done, total=total, line=line))

    handle, steps = kernel.display(html(0, "…"), display_id=True), count(1)

    def step(line: str) -> None:
        handle.update(html(next(steps), line))

    try:
        yield step
    finally:
        handle.update(kernel.HTML(""))


def _kernel() -> Any:
    """Return `IPython.display` in a notebook, and None elsewhere."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return sys.modules.get("IPython.display") if getattr(shell, "kernel", None) else None


def _filled(template: str, **content: object) -> str:
    made = jinja2.Template(template, autoescape=True, undefined=jinja2.StrictUndefined)
    return str(made.render(content))

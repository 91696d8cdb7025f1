"""Output in notebooks: tables, and the progress of a search."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
    """Yield the function to call with one line of text after each step.

    It is the callback, if there is one. Otherwise, in a notebook, it moves a progress bar, which is
    removed at the end. Elsewhere, None is yielded.
    """
    kernel = _kernel()
    if callback is not None or kernel is None:
        yield callback
        return
    handle = kernel.display(_html(kernel, title, 0, total, "…"), display_id=True)
    done = 0

    def step(line: str) -> None:
        nonlocal done
        done += 1
        handle.update(_html(kernel, title, done, total, line))

    try:
        yield step
    finally:
        handle.update(kernel.HTML(""))


def _kernel() -> Any:
    """Return `IPython.display` in a notebook, and None elsewhere."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return sys.modules.get("IPython.display") if getattr(shell, "kernel", None) else None


def _html(kernel: Any, title: str, done: int, total: int, line: str) -> Any:
    return kernel.HTML(_filled(BAR, title=title, done=done, total=total, line=line))


def _filled(template: str, **content: object) -> str:
    made = jinja2.Template(template, autoescape=True, undefined=jinja2.StrictUndefined)
    return str(made.render(content))

"""Templates of HTML pages, under one rule: text is escaped, and a name that is missing raises."""

from collections.abc import Iterable, Sequence

import jinja2

NOTEBOOK_TABLE = jinja2.Template(
    "<p>{{ title }}</p>"
    "{% if rows %}<table><thead><tr>"
    "{% for name in headings %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>"
    "{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}"
    "</tbody></table>{% endif %}"
    "{% for note in notes %}<p>{{ note }}</p>{% endfor %}",
    autoescape=True,
    undefined=jinja2.StrictUndefined,
)


def notebook_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table as notebooks show it, every text escaped.

    Examples
    --------
    >>> notebook_table("Two", ["name"], [["<b>"]])
    '<p>Two</p><table>...<td>&lt;b&gt;</td></tr></tbody></table>'
    """
    content = {"title": title, "headings": headings, "rows": list(rows), "notes": list(notes)}
    return str(NOTEBOOK_TABLE.render(content))


def page_templates(package: str) -> jinja2.Environment:
    """Return the templates of a package, which are in its folder `templates`."""
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )

"""The file llms.txt of the site: every page with its title and its first sentence, by section."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes

# Pages below these are many and alike: they come last, under a heading that readers may skip.
DETAILS = ("reference/api/", "reproduction/")


@dataclass(frozen=True)
class Listed:
    """A page in the file."""

    name: str  # "guide/clean"
    title: str
    about: str


def llms_text(title: str, about: str, sections: Mapping[str, Iterable[Listed]], url: str) -> str:
    """Return the file: a title, what the site is about, and a list of links for each section."""
    parts = [f"# {title}", f"> {about}"]
    for heading, pages in sections.items():
        links = (f"- [{page.title}]({url}{page.name}.html): {page.about}" for page in pages)
        parts.append("\n".join([f"## {heading}", "", *links]))
    return "\n\n".join(parts) + "\n"


def below(name: str, children: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield a page, and all pages below it."""
    yield name
    for child in children.get(name, ()):
        yield from below(child, children)


def first_sentence(document: Any) -> str:
    """Return the first sentence of a page that is no heading, table or code."""
    for paragraph in document.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if isinstance(paragraph.parent, nodes.section) and text:
            return text.split(". ")[0].rstrip(".:") + "."
    return ""


def write_llms_text(app: Any, error: Exception | None) -> None:
    """Write the file into the built site."""
    if error is not None or app.builder.format != "html":
        return
    environment, root = app.env, app.config.root_doc

    def listed(name: str) -> Listed:
        about = first_sentence(environment.get_doctree(name))
        return Listed(name, environment.titles[name].astext(), about)

    sections: dict[str, list[Listed]] = {}
    details = []
    for name in environment.toctree_includes[root]:
        pages = list(dict.fromkeys(below(name, environment.toctree_includes)))
        details += [page for page in pages if page.startswith(DETAILS)]
        shown = [listed(page) for page in pages if not page.startswith(DETAILS)]
        sections[shown[0].title] = shown
    sections["Optional"] = [listed(page) for page in details]
    about = first_sentence(environment.get_doctree(root))
    text = llms_text(app.config.project, about, sections, app.config.html_baseurl)
    Path(app.outdir, "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect where a build ends."""
    app.connect("build-finished", write_llms_text)
    return {"parallel_read_safe": True}

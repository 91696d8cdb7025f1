"""Check a built site: nothing comes from the network, no link leads nowhere, no name is missing."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

from twohot_command.commands import COMMANDS

# What a browser fetches by itself, and where its address stands.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# Links that name something and fetch nothing.
NAMES_ONLY = {"alternate", "author", "canonical", "index", "next", "prev", "search"}

# What a style sheet fetches from another place.
FROM_ELSEWHERE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """What a page fetches, where it leads, and what can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names."""
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        address = found.get(FETCHED.get(tag, ""), "")
        if address and not NAMES_ONLY & set(found.get("rel", "").split()):
            self.fetched.append(address)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with the pages of a site."""
    root = site.resolve()
    files = [path for path in sorted(root.rglob("*.html")) if path.parent.name != "_static"]
    pages = {path: Page(path) for path in files}
    for path, page in pages.items():
        place = path.relative_to(root)
        for address in page.fetched:
            if urlsplit(address).scheme not in {"", "data"} or address.startswith("//"):
                yield f"{place} fetches {address}"
        for address in {*page.fetched, *page.links}:
            if not _leads_somewhere(address, path, pages):
                yield f"{place} leads to {address}, which is not there"
    spellings = Counter(str(path.relative_to(root)).lower() for path in files)
    for name in (name for name, count in spellings.items() if count > 1):
        yield f"{name} is there in several spellings, which some disks take for one"
    for path in sorted(root.rglob("*.css")):
        for address in FROM_ELSEWHERE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)} fetches {address}"


def _leads_somewhere(address: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True  # elsewhere, or data
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target not in pages:
        return target.is_file() and not parts.fragment
    return parts.fragment in {"", "top"} or unquote(parts.fragment) in pages[target].ids


def missing_pages(site: Path) -> Iterator[str]:
    """Yield links of llms.txt, the list of pages for language models, that lead nowhere."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    pages = re.findall(r"^- \[.+\]\(https://[^/]+/en/stable/(.+?)\): .+", text, re.MULTILINE)
    if not pages:
        yield "llms.txt has no links"
    yield from (
        f"llms.txt leads to {page}, which is not there"
        for page in pages
        if not (site / page).is_file()
    )


def missing_names(site: Path, package: str) -> Iterator[str]:
    """Yield public names of a package, and commands, that have no place on the site."""
    reference = site / "reference"
    known = set().union(*(Page(path).ids for path in reference.rglob("*.html")))
    for module in public_modules(package):
        names = [f"{module}.{name}" for name in import_module(module).__all__]
        yield from (f"{name} has no page" for name in names if name not in known)
    sections = {f"twohot-{name}": f"twohot {name}" for name in COMMANDS}
    yield from (f"{name} has no section" for key, name in sections.items() if key not in known)


def public_modules(package: str) -> list[str]:
    """Return the modules of a package that say what is public."""
    root = Path(str(import_module(package).__file__)).parent
    found = [path.parent for path in root.rglob("__init__.py") if "__all__" in path.read_text()]
    parts = [folder.relative_to(root.parent).parts for folder in found]
    return sorted(".".join(names) for names in parts)


def main() -> int:
    """Print what is wrong; fail if anything is."""
    site = Path(sys.argv[1])
    found = [*problems(site), *missing_pages(site), *missing_names(site, "twohot")]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{site}: {len(found)} problems\n")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())

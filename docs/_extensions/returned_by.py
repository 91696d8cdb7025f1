"""On the page of a record: what returns it. Examples stand where something is called."""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

MODULES = ("", ".tables", ".extract", ".noise", ".describe", ".theory")


def _calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public function and method with the name it is imported by."""
    for module in (f"twohot{part}" for part in MODULES):
        for name in import_module(module).__all__:
            found = getattr(import_module(module), name)
            if inspect.isclass(found):
                for method, function in inspect.getmembers(found, callable):
                    if method in vars(found) and not method.startswith("_"):
                        yield f"{module}.{name}.{method}", function
            elif callable(found):
                yield f"{module}.{name}", found


@cache
def makers() -> dict[str, list[str]]:
    """Return for the name of every class what returns it, by annotations."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, function in _calls():
        returned = inspect.signature(function).return_annotation
        text = returned if isinstance(returned, str) else inspect.formatannotation(returned)
        for word in set(re.findall(r"\w+", text)):
            found[word].append(name)
    return found


def add_makers(
    _app: Any, what: str, name: str, documented: Any, _options: Any, lines: list[str]
) -> None:
    """Add what returns a class to a docstring that has no example."""
    if what != "class" or "Examples" in map(str.strip, lines):
        return
    others = [maker for maker in makers()[documented.__name__] if not maker.startswith(f"{name}.")]
    if others:
        lines.extend(["", "See Also", "--------", *others])


def setup(app: Any) -> dict[str, bool]:
    """Connect before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", add_makers, priority=400)
    return {"parallel_read_safe": True}

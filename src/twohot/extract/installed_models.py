"""Names of image models that are installed, read from source: imports would take many seconds."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("torchvision", "timm")
REGISTERED = re.compile(r"^@register_model\b.*\n(?:@.*\n)*def (\w+)", re.MULTILINE)
WORD = re.compile(r"\w+")


def surely_unknown(name: str) -> bool:
    """Return whether no installed package can know a model, as far as that is seen unimported.

    A package that is imported may have been given more models, and is to be asked itself.

    Examples
    --------
    >>> surely_unknown("resnet34")
    False
    """
    if any(package in sys.modules for package in PACKAGES):
        return False
    sources = _sources()
    # What follows a dot is the name of weights.
    model = name.removeprefix("timm/").partition(".")[0]
    return bool(sources) and not any(model in WORD.findall(source) for source in sources)


def registered_models() -> list[str]:
    """Return the names under which installed models are registered in so many words."""
    return [name for source in _sources() for name in REGISTERED.findall(source)]


def _sources() -> list[str]:
    """Return the modules that define models; none where a package is missing or has no source."""
    found = []
    for package in PACKAGES:
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        files = [path for folder in folders or () for path in Path(folder, "models").glob("*.py")]
        if not files:
            return []
        found += [path.read_text(encoding="utf-8") for path in sorted(files)]
    return found

"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

# Extras whose packages are large, and whose versions torch decides on.
LEFT_OUT = {"bench", "sgd", "text", "vision"}


def lowest_versions(pyproject: str) -> list[str]:
    """Return a line for every dependency that has a lower bound."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(d for e in extras if e not in LEFT_OUT for d in extras[e]),
    ]
    bounds = (re.fullmatch(r"([\w.-]+)>=([\w.]+)", entry) for entry in needed)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


if __name__ == "__main__":
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    print("\n".join(lowest_versions(pyproject.read_text())))  # noqa: T201

"""Which feature files an experiment is run on."""

from collections.abc import Iterable
from pathlib import Path

from twohot._checks.messages import ArgumentError, first_few
from twohot.reproduce.data_set import DataSet, read_data_set

# Files of features that can hold two splits with labels.
SUFFIXES = (".features", ".npz", ".parquet")


def find_feature_files(folder: Path) -> list[Path]:
    """Return the feature files in a folder, by name; a folder without any is refused."""
    if not folder.is_dir():
        raise ArgumentError({"features_dir": folder}, "is no folder", "name one of feature files.")
    found = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    if not found:
        problem = f"has no feature files ({', '.join(SUFFIXES)})"
        advice = "make them with `twohot extract`, splits train and test."
        raise ArgumentError({"features_dir": folder}, problem, advice)
    return found


def read_data_sets(paths: Iterable[Path]) -> dict[str, DataSet]:
    """Return the data sets in files, by their absolute paths."""
    found: dict[str, DataSet] = {}
    for path in dict.fromkeys(path.resolve() for path in paths):
        data = read_data_set(path)
        same = [other for other, each in found.items() if each.name == data.name]
        if same:
            problem = f"{first_few([*same, str(path)], write=str)} have the same name"
            advice = "rename one of them: results are known by the names of their files."
            raise ArgumentError("features", problem, advice)
        found[str(path)] = data
    return found

"""Whether a table holds the features that a probe was fitted on."""

from pathlib import Path

import numpy as np

from twohot._checks.messages import ArgumentError, counted, first_few
from twohot.distill.fitted import FittedProbe
from twohot.extract.feature_origin import FeatureOrigin
from twohot.tables import FeatureTable


def check_same_features(
    table: FeatureTable, source: Path, fitted: FittedProbe, probe: Path
) -> None:
    """Raise if a probe was fitted on other features than those of the table."""
    known = FeatureOrigin.from_json(fitted.feature_origin_)
    found = FeatureOrigin.of_table(table)
    if known is not None and found is not None and not found.makes_the_same_as(known):
        problem = f"{source} holds features of {found.told_from(known)}"
        other = f"{probe} was fitted on those of {known.told_from(found)}"
        raise ValueError(f"{problem}, and {other}: extract both with the same backbone.")
    _check_columns(table, source, fitted, probe)
    if table.n_features != fitted.n_features_in_:
        expected = f"{probe} is expecting {fitted.n_features_in_}"
        problem = f"{source} has {table.n_features} features, but {expected}"
        raise ValueError(f"{problem}: extract both with the same backbone.")


def _check_columns(table: FeatureTable, source: Path, fitted: FittedProbe, probe: Path) -> None:
    """Raise if a probe was fitted on other columns, or on these in another order."""
    # Checked here once; what is predicted are arrays, which have no names.
    known = fitted.__dict__.pop("feature_names_in_", np.empty(0)).tolist()
    found = list(table.feature_columns)
    if not (known and found) or known == found:
        return
    new = [name for name in found if name not in known]
    lacking = [name for name in known if name not in found]
    said = [f"has {first_few(new)} too"] * bool(new)
    said += [f"lacks {first_few(lacking)}"] * bool(lacking)
    differs = " and ".join(said or ["has them in another order"])
    columns = f"{counted(len(known), 'column')} {first_few(known, 3)}"
    problem = f"{probe} was fitted on {columns}, and {source} {differs}"
    advice = "name the columns in that order by {feature_column}, once for each."
    raise ArgumentError("", problem, advice, feature_column=...)

"""Train accurate classifiers on embeddings of a frozen model, even if many labels are wrong.

The name of a class or function is imported when it is first used. So `import twohot` alone loads
no other package, such as numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "AutoProbe",
    "DataIssues",
    "DiscriminantProbe",
    "DistilledProbe",
    "Explanation",
    "Forecast",
    "LabelIssues",
    "LinearProbe",
    "PartialLabelProbe",
    "ProbeEvaluation",
    "Round",
    "evaluate_probe",
    "explain_label",
    "find_data_issues",
    "find_label_issues",
    "forecast",
    "load",
    "top_candidates",
]

if TYPE_CHECKING:
    from twohot.audit import DataIssues, LabelIssues, find_data_issues, find_label_issues
    from twohot.describe import (  # type: ignore[no-redef]  # `forecast` also names a module
        Explanation,
        Forecast,
        ProbeEvaluation,
        evaluate_probe,
        explain_label,
        forecast,
    )
    from twohot.judge import AutoProbe
    from twohot.probes import (
        DiscriminantProbe,
        DistilledProbe,
        LinearProbe,
        PartialLabelProbe,
        Round,
        load,
        top_candidates,
    )
else:
    # `_DEFINED_IN` are the subpackages that define the names of `__all__`; `_ROOMS` are all public
    # subpackages.
    _DEFINED_IN = ("probes", "judge", "describe", "audit")
    _ROOMS = (
        *_DEFINED_IN,
        "base",
        "extract",
        "noise",
        "review",
        "rows",
        "solve",
        "tables",
        "theory",
    )

    def __getattr__(name):
        if name in __all__:
            rooms = (import_module(f"twohot.{room}") for room in _DEFINED_IN)
            found = next(getattr(room, name) for room in rooms if hasattr(room, name))
        elif name in _ROOMS:
            return import_module(f"twohot.{name}")
        else:
            raise AttributeError(f"module 'twohot' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__():
        special = [name for name in globals() if name.startswith("__")]
        return sorted({*__all__, *_ROOMS, *special})

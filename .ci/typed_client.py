"""A client of the installed package, as its author type-checks it: `mypy --strict` sees our types.

Each line that is ignored is wrong. Were the types unseen, nothing would be, and mypy would say so.
"""

from twohot import AutoProbe, find_label_issues

accuracy: str = AutoProbe().score([[0.0], [1.0]], [0, 1])  # type: ignore[assignment]
find_label_issues([[0.0], [1.0]], [0, 1], labels=[0, 1])  # type: ignore[call-arg]

"""Where features come from: what a probe remembers of those it was fitted on.

Features of another backbone may be as many, and a probe then predicts nonsense without a word.
"""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Self

from twohot._checks.messages import ArgumentError
from twohot.extract.backbone import Backbone
from twohot.extract.backbone_registry import load_backbone
from twohot.extract.items import KINDS
from twohot.tables.table import FeatureTable

DIGITS = 8  # of a digest that are shown


@dataclass(frozen=True)
class FeatureOrigin:
    """The backbone that made features, and the column of what it made them of.

    Examples
    --------
    >>> origin = FeatureOrigin(backbone="pixels", kind="image", weights="", dtype="float16")
    >>> FeatureOrigin.from_json(origin.to_json()) == origin
    True
    >>> origin.load().name
    'pixels'
    """

    backbone: str  # its name
    kind: str  # what it takes, "image" or "text"
    weights: str  # digest; empty if it has none
    dtype: str  # how the features are stored
    item_column: str = ""  # of the images or texts in the user's table; empty if not known

    @classmethod
    def of_table(cls, table: FeatureTable) -> Self | None:
        """Return where the features of a table come from; None if its file does not say."""
        known = table.provenance
        if not {"backbone", "dtype"} <= known.keys():
            return None
        # Images of data sets are in memory: no path names them, and no table says what they are.
        kind = table.item_kind or "image"
        weights = str(known.get("weights", ""))
        return cls(str(known["backbone"]), kind, weights, str(known["dtype"]), table.item_column)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self | None:
        """Return what `to_json` was called on; None if the record is empty, or not as it wrote."""
        names = {entry.name for entry in fields(cls)}
        needed = {entry.name for entry in fields(cls) if entry.default is MISSING}
        is_one = needed <= record.keys() <= names and record["kind"] in KINDS
        return cls(**record) if is_one else None

    def to_json(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)

    def makes_the_same_as(self, other: "FeatureOrigin") -> bool:
        """Return whether features of both may meet; how they are stored a probe hardly sees."""
        return (self.backbone, self.weights) == (other.backbone, other.weights)

    def told_from(self, other: "FeatureOrigin") -> str:
        """Return the name of the backbone, with what differs where the other has the same name."""
        if self.backbone != other.backbone:
            return repr(self.backbone)
        return f"{self.backbone!r} with weights {self.weights[:DIGITS] or 'of its own'}"

    def load(self) -> Backbone:
        """Return the backbone, or say that the one of its name has other weights by now."""
        backbone = load_backbone(self.backbone, self.kind)
        if backbone.description.get("weights", "") != self.weights:
            problem = "has other weights than when the features were made that a probe learnt from"
            advice = "extract these again and fit the probe on them."
            raise ArgumentError({"backbone": self.backbone}, problem, advice)
        return backbone

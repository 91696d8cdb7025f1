"""The measured settings: each combines a dataset, a kind of noise and a shape, in some draws.

The full product would have about 600 settings. The plan has every pair of a set and a noise, and
every pair of a set and a shape: the shapes of a set take turns over its noises, as `TURNS` says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class DataSet:
    """The properties of a dataset that the plan depends on."""

    n_classes: int
    natural: str  # the shape that changes nothing: all rows, or 3,000 where there are more
    turn: int  # index in `TURNS`
    drawn_from: str | None = None  # the set from which so many classes are drawn
    has_superclasses: bool = False


# In the order in which they are measured: the cheap ones first.
SETS = {
    "davidson": DataSet(3, "3000", 1),
    "labelme": DataSet(8, "all", 0),
    "satellite": DataSet(6, "3000", 0),
    "digits": DataSet(10, "all", 1),
    "cifar100/2": DataSet(2, "all", 0, "cifar100"),
    "banking77/3": DataSet(3, "all", 1, "banking77"),
    "generated": DataSet(9, "all", 1, has_superclasses=True),
    "banking77": DataSet(77, "3000", 1),
    "flowers102": DataSet(102, "3000", 0),
    "caltech101": DataSet(101, "3000", 1),
    "cifar100": DataSet(100, "3000", 1, has_superclasses=True),
    "stanfordcars": DataSet(196, "3000", 0),
}
# Each noise with the shape in which a set gets it, in one turn and the other.
TURNS = {
    ("none", 0.0): ("natural", "tail"),
    ("symmetric", 0.1): ("few", "balanced"),
    ("symmetric", 0.3): ("tail", "few"),
    ("symmetric", 0.6): ("balanced", "natural"),
    ("symmetric", 0.8): ("natural", "balanced"),
    ("pair", 0.4): ("natural", "balanced"),
    ("superclass", 0.6): ("natural", "natural"),
    ("one class", 0.4): ("tail", "natural"),
    ("boundary", 0.2): ("balanced", "natural"),
    ("boundary", 0.4): ("natural", "few"),
}
# What the turns leave out: people's votes, all rows of sets with more than 3,000, and settings in
# which earlier versions failed.
PEOPLE = ("people", "majority of people")
EXTRA = (
    ("davidson", "people", 0.0, ("3000", "all", "tail")),
    ("davidson", "none", 0.0, ("3000",)),
    ("davidson", "symmetric", 0.3, ("tail",)),
    ("davidson", "symmetric", 0.6, ("all",)),
    ("labelme", "people", 0.0, ("all", "tail")),
    ("labelme", "majority of people", 0.0, ("all",)),
    ("satellite", "pair", 0.4, ("all",)),
    ("digits", "none", 0.0, ("all",)),
    ("cifar100", "people", 0.0, ("3000", "tail")),
)
# Up to this number of classes a run takes seconds, and the labels are drawn several times.
CHEAP_CLASSES = 10
DRAWS = 3  # of a cheap set
# Draws where chance decides most: 15 rows of a few classes, and classes that are drawn themselves.
MORE_DRAWS = 5


@dataclass(frozen=True)
class Setting:
    """Which rows and which labels a method is given."""

    data: str  # a key of `SETS`
    noise: str  # one of `TURNS` or `PEOPLE`
    rate: float  # asked for; 0 of labels that are not drawn
    shape: str  # "all", "3000", "balanced", "tail" or "few"

    def __str__(self) -> str:
        noise = f"{self.noise} {self.rate:g}" if self.rate else self.noise
        return f"{self.data}, {noise}, {self.shape}"

    @property
    def n_draws(self) -> int:
        """How many times it is drawn."""
        known = SETS[self.data]
        if known.drawn_from:
            return MORE_DRAWS
        # All rows with labels that are not drawn are the same in every draw.
        if known.n_classes > CHEAP_CLASSES or (not self.rate and self.shape == "all"):
            return 1
        return MORE_DRAWS if self.shape == "few" else DRAWS


@dataclass(frozen=True)
class Run:
    """One draw of a setting."""

    who: ClassVar[str]
    setting: Setting
    draw: int  # the seed of all that is drawn

    def __str__(self) -> str:
        return f"{self.setting}, draw {self.draw}, {self.who}"


class PeerRun(Run):
    """What users have without this project."""

    who = "peers"


class OurRun(Run):
    """AutoProbe and find_label_issues."""

    who = "ours"


KINDS = {kind.who: kind for kind in (PeerRun, OurRun)}


def settings() -> list[Setting]:
    """Return all settings, those of cheap sets first."""
    extra = [Setting(*each, shape) for *each, shapes in EXTRA for shape in shapes]
    found = [*(each for name in SETS for each in _in_turn(name)), *extra]
    return sorted(found, key=lambda each: list(SETS).index(each.data))


def _in_turn(name: str) -> Iterator[Setting]:
    known = SETS[name]
    for (noise, rate), shapes in TURNS.items():
        if noise == "superclass" and not known.has_superclasses:
            continue
        # Another label would be as frequent as the right one: nobody could learn the class.
        if noise == "symmetric" and rate >= 1 - 1 / known.n_classes:
            continue
        shape = shapes[known.turn]
        # Drawn and generated classes are about balanced as they are.
        is_balanced = shape == "balanced" and (known.drawn_from or name == "generated")
        yield Setting(
            name, noise, rate, known.natural if shape == "natural" or is_balanced else shape
        )

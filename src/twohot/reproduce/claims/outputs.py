"""Claims about the outputs on training rows of real features."""

import numpy as np

from twohot.reproduce.claim import register_claim
from twohot.reproduce.exact_trainer import ROUNDS, TEACHER
from twohot.reproduce.judged_settings import Judged, Statement, settings_claim
from twohot.reproduce.probe_grid import Models
from twohot.reproduce.table import mean_of

BASE = ("fig:superclass_base", "fig:sym_base", "fig:asym_base")

LAST = ROUNDS[-1]

# Share of the noisy rows whose true label is among the teacher's two that counts as all of them.
ALL_ROWS = 0.99


def truth_in_two(draws: list[Models]) -> Judged | None:
    """State that the teacher's two largest outputs hold the true label of mislabelled rows."""
    shares = [found["2"] for draw in draws if (found := draw[TEACHER].truth_in_top) is not None]
    share = mean_of(shares, factor=100)
    return None if share is None else (share, share.mean >= 100 * ALL_ROWS)


def truth_in_more(draws: list[Models]) -> Judged | None:
    """State that every larger set of the teacher's labels holds the truth more often."""
    found = [each for draw in draws if (each := draw[TEACHER].truth_in_top) is not None]
    if not found:
        return None
    means = [np.mean([shares[size] for shares in found]) for size in found[0]]
    gain = mean_of([100 * float(means[-1] - means[0])])
    return gain, bool((np.diff(means) > 0).all())


def crosses(draws: list[Models]) -> Judged | None:
    """State that mislabelled rows have more output at the given label first, and less at last."""
    pairs = [
        (draw[name].noisy_true, draw[name].noisy_given)
        for draw in draws
        for name in (TEACHER, LAST)
    ]
    leads = [true.mean - given.mean for true, given in pairs if true and given]
    first, last = mean_of(leads[::2], factor=100), mean_of(leads[1::2], factor=100)
    return None if first is None or last is None else (last, first.mean < 0 < last.mean)


def moves(field: str, part: str, direction: int) -> Statement:
    """Return the statement that a mean or spread of outputs rises (1) or falls (-1) every round.

    The number shown is its change from the teacher to the last student, in hundredths.
    """

    def statement(draws: list[Models]) -> Judged | None:
        spreads = [[getattr(draw[name], field) for name in ROUNDS] for draw in draws]
        values = np.array(
            [[getattr(each, part) for each in row] for row in spreads if None not in row]
        )
        if not len(values):
            return None
        change = mean_of((values[:, -1] - values[:, 0]).tolist(), factor=100)
        return change, bool((direction * np.diff(values.mean(axis=0)) > 0).all())

    return statement


# What moves with the round: field of FittedModel, part of it, direction, order, title, words.
MOVES = (
    ("clean_true", "mean", -1, 50, "Confidence in clean labels falls on real features",
     "the softmax output (or confidence) for the true label decreases in clean samples"),
    ("noisy_true", "mean", 1, 51, "Output at the truth of mislabelled rows rises on real features",
     "while increasing in noisy samples due to the label-averaging effect"),
    ("clean_true", "std", -1, 53, "Outputs of clean rows draw together on real features",
     "The shaded region shrinks with t due to label clustering."),
    ("noisy_true", "std", -1, 54, "Outputs of mislabelled rows draw together on real features",
     "The shaded region shrinks with t due to label clustering."),
)  # fmt: skip

for _field, _part, _direction, _order, _title, _text in MOVES:
    _way = "rises" if _direction > 0 else "falls"
    _what = {"mean": "mean", "std": "standard deviation over rows"}[_part]
    register_claim(
        settings_claim(
            claim={
                "id": f"{_field.replace('_', '-')}-{_part}",
                "brief": f"{_what} {_way} every round",
                "title": (_title),
                "text": (_text),
                "place": "Section 5, Figure 3b",
                "rule": (
                    f"A setting supports it if the {_what} of this output {_way} in every round."
                ),
                "exhibits": BASE,
                "order": _order,
            },
            recoverable=False,
            statement=moves(_field, _part, _direction),
            value=f"Change of the {_what} from teacher to last student, hundredths of an output",
        )
    )

register_claim(
    settings_claim(
        claim={
            "id": "crossing",
            "brief": "truth below given label for the teacher, above in round 5",
            "title": "The true label of mislabelled rows overtakes the given one on real features",
            "text": "For noisy samples, the true label starts lower than the given label but"
            " surpasses it after a few rounds.",
            "place": "Figure 3b",
            "rule": "A setting supports it if the mean output of mislabelled rows is larger at the"
            " given than at the true label for the teacher, and smaller in the last round.",
            "exhibits": BASE,
            "order": 52,
        },
        recoverable=False,
        statement=crosses,
        value="Mean output at the true less that at the given label, last round, hundredths",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "truth-in-top-two",
            "brief": "true for 99 % of mislabelled rows",
            "title": ("The true label is among the teacher's top two on real features"),
            "text": (
                "Under mild conditions on the label corruption rates, the teacher's softmax output"
                " at the true label […] consistently ranks at least second-highest--even for"
                " label-noisy samples."
            ),
            "place": "Section 5",
            "rule": (
                "A setting supports it if the true label of at least"
                f" {ALL_ROWS:.0%} of the mislabelled training rows is among the teacher's two"
                " largest outputs."
            ),
            "exhibits": BASE,
            "order": 55,
        },
        recoverable=False,
        statement=truth_in_two,
        value="Mislabelled rows whose true label is among the teacher's two, %",
        advice="Do not rely on it: real classes overlap, and the second guess is often a third"
        " class. `truth_in_top` of a run tells for your data.",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "larger-candidate-sets",
            "brief": "share with the truth rises with each k",
            "title": "Larger candidate sets contain the truth more often",
            "text": "In the PLL student model, using a larger set of partial labels increases the"
            " likelihood of including the true label.",
            "place": "Section 6, Ablation Study of Top-k Targets",
            "rule": "A setting supports it if the share of mislabelled training rows whose true"
            " label is among the teacher's k largest outputs rises from each of k = 1, 2, 3, 5 and"
            " 10 to the next.",
            "exhibits": BASE,
            "order": 56,
        },
        recoverable=False,
        statement=truth_in_more,
        value="Mislabelled rows with the truth in the largest set, less those in the smallest, %",
    )
)

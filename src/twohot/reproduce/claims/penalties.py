"""Claims about the size of the penalty on real features."""

from twohot.reproduce.claim import register_claim
from twohot.reproduce.claims.accuracy import RISES, rises
from twohot.reproduce.exact_trainer import N_ROUNDS, STUDENTS, TWO_HOT
from twohot.reproduce.judged_settings import CLEARLY_AHEAD, ahead, settings_claim

for _order, _strength in enumerate(("small", "big")):
    _exhibits = tuple(f"fig:{kind}_{_strength}" for kind in ("superclass", "sym", "asym"))
    register_claim(
        settings_claim(
            claim={
                "id": f"rounds-at-{_strength}-penalty",
                "brief": f"rounds rise as above, at the {_strength} λ",
                "title": f"Rounds gain at the {_strength} penalty",
                "text": "For these λ values, we observe that there is a consistent accuracy gain as"
                " the distillation round t increases.",
                "place": "Appendix L.1",
                "rule": RISES,
                "exhibits": _exhibits,
                "order": 42 + _order,
            },
            strength=_strength,
            needed=("superclass",),
            statement=rises,
            value="Last round over the teacher, points of test accuracy",
        )
    )
    register_claim(
        settings_claim(
            claim={
                "id": f"two-hot-at-{_strength}-penalty",
                "brief": f"two-hot wins as above, at the {_strength} λ",
                "title": f"The two-hot student beats every round at the {_strength} penalty",
                "text": "Also, we observe that our PLL student model outperforms the multi-round SD"
                " models.",
                "place": "Appendix L.1",
                "rule": f"A setting supports it if the two-hot student is {CLEARLY_AHEAD} the best"
                f" of rounds 2 to {N_ROUNDS} on test rows.",
                "exhibits": _exhibits,
                "order": 44 + _order,
            },
            strength=_strength,
            needed=("superclass",),
            statement=ahead([TWO_HOT], STUDENTS),
            value="Two-hot student over the best round, points of test accuracy",
        )
    )

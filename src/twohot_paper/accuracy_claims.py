"""Claims about test and training accuracy on real features."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from twohot.base import counted
from twohot_paper.claim import Answer, Claim, ClaimVerdict, not_testable, register_claim
from twohot_paper.data_set import DataSet
from twohot_paper.exact_trainer import N_ROUNDS, ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot_paper.grid import NOISE_RATES, Models
from twohot_paper.maker import Results
from twohot_paper.settings_claims import (
    CLEARLY_AHEAD,
    CONVERGED_ONLY,
    MARGIN,
    ONE_FILE,
    RECOVERABLE_ONLY,
    Judged,
    ahead,
    settings_claim,
    settings_of,
)
from twohot_paper.table import Mean, Table, mean_of

BASE = ("fig:superclass_base", "fig:sym_base", "fig:asym_base")
HIGH_NOISE = 0.6  # the rate from which on the paper sees the two-hot student ahead


RISES = (
    f"A setting supports it if round {N_ROUNDS} is {CLEARLY_AHEAD} the teacher on test rows, and no"
    f" round is {MARGIN:g} points or more behind the one before."
)


def rises(draws: list[Models]) -> Judged | None:
    """State that the last student is above the teacher, and no round falls clearly."""
    judged = ahead(ROUNDS[-1:], [TEACHER])(draws)
    steps = [ahead([new], [old])(draws) for old, new in zip(ROUNDS[:-1], STUDENTS, strict=True)]
    means = [step[0].mean for step in steps if step is not None and step[0] is not None]
    return None if judged is None else (judged[0], judged[1] and min(means) > -MARGIN)


register_claim(
    settings_claim(
        claim={
            "id": "rounds-raise-accuracy",
            "brief": "round 5 more than 0.5 points above the teacher, no round 0.5 below the last",
            "title": "Test accuracy rises with the round",
            "text": (
                "Across all datasets, we observe that test accuracy progressively "
                "increases with the number of distillation rounds."
            ),
            "place": "Section 6, Figure 4",
            "rule": RISES,
            "exhibits": ("fig:real_gain",),
            "order": 10,
        },
        corruptions=("superclass",),
        statement=rises,
        value=f"Round {N_ROUNDS} over the teacher, points of test accuracy",
        advice=(
            "Rounds are worth their cost where the penalty is small and labels are "
            "noisy. Compare them with a plain probe at a larger penalty first."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "rounds-raise-accuracy-everywhere",
            "brief": "the same",
            "title": "Test accuracy rises with the round, whatever the noise",
            "text": "Overall, we observe that there is a gain as the distillation step t increases"
            " in multi-round distillation.",
            "place": "Appendix F",
            "rule": RISES,
            "exhibits": BASE,
            "order": 11,
        },
        statement=rises,
        value=f"Round {N_ROUNDS} over the teacher, points of test accuracy",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-at-high-noise",
            "brief": "two-hot more than 0.5 points above the best of rounds 2–5",
            "title": f"The two-hot student beats every round at η ≥ {HIGH_NOISE:g}",
            "text": (
                "Notably, the PLL student model outperforms other multi-round "
                "distillation models at higher corruption rates (η ≥ 0.6)."
            ),
            "place": "Section 6, Figure 4",
            "rule": (
                f"A setting of noise rate {HIGH_NOISE} or more supports it if the two-hot "
                f"student is {CLEARLY_AHEAD} the best of rounds 2 to {N_ROUNDS} on test rows."
            ),
            "exhibits": ("fig:real_gain",),
            "order": 20,
        },
        corruptions=("superclass",),
        statement=ahead([TWO_HOT], STUDENTS),
        rates=[rate for rate in NOISE_RATES if rate >= HIGH_NOISE],
        value="Two-hot student over the best round, points of test accuracy",
        advice=(
            "At high noise take the two-hot student rather than more rounds; "
            "AutoProbe tries both, and a robust loss on the given labels."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-everywhere",
            "brief": "the same, at any rate",
            "title": "The two-hot student beats every round",
            "text": (
                "We confirm that the PLL student model outperforms other multi-round "
                "distillation models."
            ),
            "place": "Appendix F",
            "rule": (
                f"A setting supports it if the two-hot student is {CLEARLY_AHEAD} the best of "
                f"rounds 2 to {N_ROUNDS} on test rows."
            ),
            "exhibits": BASE,
            "order": 21,
        },
        statement=ahead([TWO_HOT], STUDENTS),
        value="Two-hot student over the best round, points of test accuracy",
        advice=(
            "Do not use the two-hot student on labels that are mostly right: half of "
            "every target is a second guess."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-training",
            "brief": "two-hot right on as many training rows as the best round",
            "title": "The two-hot student corrects more training labels than any round",
            "text": (
                "The PLL student model not only replicates the effect of multi-round "
                "distillation in a single round but also achieves better performance in "
                "scenarios with high label-noise rates."
            ),
            "place": "Remark 1 after Theorem 5.1",
            "rule": (
                "A setting supports it if the two-hot student predicts at least as many "
                f"training rows as their true label as the best of rounds 1 to {N_ROUNDS} does."
            ),
            "exhibits": ("fig:training_gain",),
            "order": 22,
        },
        statement=ahead([TWO_HOT], ROUNDS, score=attrgetter("train_accuracy"), margin=-1e-9),
        corruptions=["superclass"],
        value="Two-hot student over the best round, points of training accuracy",
        advice="",
    )
)


# Claims about the number of candidates of a partial-label student ---------------------------------


MORE = ("top-3", "top-5", "top-10")
ALL = ("top-1", TWO_HOT, *MORE)


def two_are_enough(draws: list[Models]) -> Judged | None:
    """State that two candidates are ahead of more, of all numbers that there are labels for."""
    rivals = [name for name in MORE if any(name in draw for draw in draws)]
    return ahead([TWO_HOT], rivals)(draws) if rivals else None


def judge_best_everywhere(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether two candidates have the highest mean gain on every data set."""
    gains: dict[str, dict[str, list[float]]] = {}
    families = ("paper", "candidates")
    settings = settings_of(results, data, ("superclass",), families=families)
    for setting, draws in settings.draws.items():
        for draw in draws.values():
            tried = [name for name in ALL if name in draw]
            if TEACHER in draw and TWO_HOT in tried and len(tried) > 1:
                for name in tried:
                    gain = draw[name].test_accuracy - draw[TEACHER].test_accuracy
                    gains.setdefault(setting.data, {}).setdefault(name, []).append(gain)
    if not gains:
        why = "No run with other numbers of candidates is finished."
        return not_testable(why + settings.left_out_words())
    means = {
        name: {student: mean_of(values, factor=100) for student, values in each.items()}
        for name, each in sorted(gains.items())
    }
    best = {
        name: max(each, key=lambda student: _mean(each[student])) for name, each in means.items()
    }
    table = Table(
        "Gain over the teacher, mean over noise rates and seeds, points",
        ("data set", *ALL, "best"),
        tuple((name, *(means[name].get(student) for student in ALL), best[name]) for name in means),
    )
    winners = [name for name, student in best.items() if student == TWO_HOT]
    evidence = f"Two candidates are best on {len(winners)} of {len(best)} data sets."
    evidence += settings.left_out_words()
    advice = "Two candidates are a fair default; one, the teacher's own label, is worth a try."
    basis = f"{len(winners)} of {counted(len(best), 'data set')}"
    shown = partial(ClaimVerdict, table=table, advice=advice, basis=basis)
    if len(winners) == len(best):
        return shown(Answer.CONFIRMED, evidence)
    if winners:
        return shown(Answer.CONDITIONAL, evidence, f"the data set is {' or '.join(winners)}")
    return shown(Answer.REFUTED, evidence)


def _mean(value: Mean | None) -> float:
    return float("-inf") if value is None else value.mean


register_claim(
    settings_claim(
        claim={
            "id": "more-candidates",
            "brief": "2 candidates more than 0.5 points above 3, 5 and 10",
            "title": ("More than two candidates lower test accuracy"),
            "text": (
                "Using more candidates generally leads to lower test accuracy across most datasets,"
                " supporting our choice of top two labels."
            ),
            "place": "Section 6, Figure 5b",
            "rule": (
                f"A setting (superclass noise) supports it if two candidates are {CLEARLY_AHEAD}"
                " the best of 3, 5 and 10 (fewer than there are classes), on test rows."
            ),
            "exhibits": ("fig:topk_full",),
            "order": 30,
        },
        families=("paper", "candidates"),
        corruptions=("superclass",),
        statement=two_are_enough,
        value="Two candidates over the best of 3, 5 and 10, points of test accuracy",
    )
)
register_claim(
    Claim(
        id="two-candidates-best",
        brief="best mean gain with 2, on every data set",
        title="Two candidates are best on all data sets",
        text="The model targeting the top-two vectors achieves the best trade-offs …, resulting in"
        " the best test accuracies across six benchmark datasets.",
        place="Appendix H.1",
        rule="Confirmed if the gain over the teacher, averaged over noise rates and seeds, is"
        " highest with two candidates (of 1, 2, 3, 5 and 10), by any margin, on every data set;"
        " confirmed only when the data set is one of those where it is; else not confirmed.",
        shared_rule=f"{ONE_FILE} {CONVERGED_ONLY} {RECOVERABLE_ONLY}",
        exhibits=("fig:topk_full",),
        order=31,
        judge=judge_best_everywhere,
    )
)


# Claims about the size of the penalty on real features --------------------------------------------


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

"""Claims about the number of candidates of a partial-label student."""

from collections.abc import Sequence
from functools import partial

from twohot._checks.messages import counted
from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, not_testable, register_claim
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import CLEARLY_AHEAD, Judged, ahead, settings_claim
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import Models
from twohot.reproduce.setting_verdict import CONVERGED_ONLY, ONE_FILE, RECOVERABLE_ONLY
from twohot.reproduce.table import Mean, Table, mean_of
from twohot.reproduce.tried_settings import settings_of

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

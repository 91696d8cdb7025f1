"""Claims about accuracies: in which settings they hold, and under which condition in nearly all.

A setting is a data set, a kind of noise and a noise rate. One rule serves all such claims. A claim
is confirmed if its statement holds in nine of ten settings. Otherwise it is confirmed only under
the widest of these conditions under which the statement does, if that covers a quarter of the
settings: noise of at least, or at most, a rate; one kind of noise; one data set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from twohot.reproduce.claim import Answer, Claim, Verdict, not_testable
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_run import CLEAN, FittedModel, ProbeResult, ProbeRun
from twohot.reproduce.table import Mean, Table, mean_of

# Share of the settings in which a statement must hold, and share that a condition must cover.
NEARLY_ALL = 0.9
COVERED = 0.25

# Points of test accuracy that count as a difference: two or three images of a thousand.
MARGIN = 0.25

RULE = (
    "Confirmed if this holds in nine of ten settings (data set, kind of noise, rate; means over"
    " seeds); confirmed only under the widest condition on the noise rate, the kind of noise or the"
    " data set under which it does, if that covers a quarter of the settings; else not confirmed."
)


@dataclass(frozen=True)
class Place:
    """Where a statement was tried."""

    data: str  # name of the data set
    corruption: str
    noise_rate: float


@dataclass(frozen=True)
class Trial:
    """Whether a statement holds in a setting, and the number that says so."""

    place: Place
    value: Mean | None
    holds: bool


Judged = tuple[Mean | None, bool]  # the number to show, and whether the statement holds


def judge_settings(trials: Sequence[Trial], title: str, advice: str = "") -> Verdict:
    """Return the verdict by the rule above; the table shows the number of every setting.

    Examples
    --------
    >>> trials = [Trial(Place("pets", "symmetric", rate), None, rate > 0.4)
    ...           for rate in (0.1, 0.3, 0.5, 0.6, 0.8)]
    >>> print(judge_settings(trials, "Gain"))
    confirmed only when the noise rate is at least 0.5
    """
    if not trials:
        return not_testable("No run that it needs is finished.")
    held = sum(trial.holds for trial in trials)
    evidence = f"It holds in {held} of {len(trials)} settings."
    table = _table(trials, title)
    if held >= NEARLY_ALL * len(trials):
        return Verdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    condition, covered = _widest(trials)
    if not condition:
        return Verdict(Answer.REFUTED, evidence, table=table, advice=advice)
    inside = f" Where {condition}: {sum(each.holds for each in covered)} of {len(covered)}."
    return Verdict(Answer.CONDITIONAL, evidence + inside, condition, table, advice)


def settings_claim(
    *,
    statement: Callable[[Sequence[ProbeResult]], Judged | None],
    value: str,
    advice: str = "",
    rates: Callable[[float], bool] = lambda _: True,
    corruptions: Sequence[str] = ("superclass", "symmetric", "asymmetric"),
    families: Sequence[str] = ("paper",),
    **claim: object,
) -> Claim:
    """Return a claim that a statement about the runs of one setting holds in nearly all of them.

    Parameters
    ----------
    statement : callable
        Of the results of a setting, one for each seed; None where they do not tell.
    value : str
        What the number is that it returns: the title of the table.
    advice : str
        What a practitioner should do.
    rates : callable
        Which noise rates the claim is about.
    corruptions, families
        Which runs it is about, at the base penalty; models of several families are put together.
    **claim
        Other fields of `Claim`; its rule is what must hold in a setting.
    """

    def judge(results: Results, data: Sequence[DataSet]) -> Verdict:
        parts = [
            dict(grouped(results, data, corruptions=corruptions, family=family))
            for family in families
        ]
        found = []
        for place in parts[0]:
            seeds = joined(*(part.get(place, {}) for part in parts))
            judged = statement(seeds) if seeds and rates(place.noise_rate) else None
            if judged is not None:
                found.append(Trial(place, *judged))
        return judge_settings(found, value, advice)

    rule = f"{claim.pop('rule')} {RULE}"
    return Claim(rule=rule, judge=judge, **claim)  # type: ignore[arg-type]


def grouped(
    results: Results,
    data: Sequence[DataSet],
    *,
    corruptions: Sequence[str],
    family: str = "paper",
    strength: str = "base",
    prepared: bool = False,
) -> Iterator[tuple[Place, dict[int, ProbeResult]]]:
    """Yield every noisy setting with its results by seed."""
    names = {each.key: each.name for each in data}
    penalties = {each.key: penalty(each, strength, prepared=prepared) for each in data}
    found: dict[Place, dict[int, ProbeResult]] = {}
    for run, result in results.items():
        if not isinstance(run, ProbeRun) or run.corruption not in corruptions:
            continue
        if (run.family, run.prepared, run.l2) == (family, prepared, penalties.get(run.data)):
            place = Place(names[run.data], run.corruption, run.noise_rate)
            found.setdefault(place, {})[run.seed] = result
    for place in sorted(found, key=lambda place: (place.data, place.corruption, place.noise_rate)):
        if place.corruption != CLEAN:
            yield place, found[place]


def penalty(data: DataSet, strength: str, *, prepared: bool = False) -> float:
    """Return the penalty of a run, on raw features or one as strong on features of unit norm."""
    l2 = data.l2(strength)
    return float(f"{l2 / data.mean_square:.6g}") if prepared else l2


def difference(seeds: Iterable[ProbeResult], better: str, than: str) -> Mean | None:
    """Return by how many points of test accuracy one model is ahead of another."""
    pairs = [(seed.models.get(better), seed.models.get(than)) for seed in seeds]
    return mean_of(
        [a.test_accuracy - b.test_accuracy for a, b in pairs if a is not None and b is not None],
        100,
    )


def test_score(model: FittedModel) -> float:
    """Return the share of test rows predicted right."""
    return model.test_accuracy


def ahead(
    better: str,
    rivals: Sequence[str],
    score: Callable[[FittedModel], float] = test_score,
    margin: float = 0.0,
) -> Callable[[Sequence[ProbeResult]], Judged | None]:
    """Return the statement that a model scores higher than the best of some others, in points."""

    def statement(seeds: Sequence[ProbeResult]) -> Judged | None:
        lead = mean_of(
            [
                score(seed.models[better]) - max(score(seed.models[rival]) for rival in rivals)
                for seed in seeds
                if {better, *rivals} <= seed.models.keys()
            ],
            factor=100,
        )
        return None if lead is None else (lead, lead.mean > margin)

    return statement


def joined(*parts: Mapping[int, ProbeResult]) -> list[ProbeResult]:
    """Return the models of several families, fitted on the same labels, for the seeds of all."""
    seeds = sorted(set.intersection(*(set(part) for part in parts)))
    return [
        replace(
            parts[0][seed], models={k: v for part in parts for k, v in part[seed].models.items()}
        )
        for seed in seeds
    ]


def _widest(trials: Sequence[Trial]) -> tuple[str, list[Trial]]:
    """Return the condition that covers most, and the settings that it covers."""
    best: tuple[str, list[Trial]] = ("", [])
    for words, covered in _conditions(trials):
        enough = len(covered) >= COVERED * len(trials)
        if enough and sum(each.holds for each in covered) >= NEARLY_ALL * len(covered):
            best = max(best, (words, covered), key=lambda pair: len(pair[1]))
    return best


def _conditions(trials: Sequence[Trial]) -> Iterator[tuple[str, list[Trial]]]:
    """Yield every condition in words, with the settings that it covers."""
    places = [trial.place for trial in trials]
    for rate in sorted({place.noise_rate for place in places}):
        above = [trial for trial in trials if trial.place.noise_rate >= rate]
        below = [trial for trial in trials if trial.place.noise_rate <= rate]
        yield f"the noise rate is at least {rate:g}", above
        yield f"the noise rate is at most {rate:g}", below
    for kind in sorted({place.corruption for place in places}):
        yield f"noise is {kind}", [trial for trial in trials if trial.place.corruption == kind]
    for name in sorted({place.data for place in places}):
        yield f"the data set is {name}", [trial for trial in trials if trial.place.data == name]


def _table(trials: Sequence[Trial], title: str) -> Table:
    rates = sorted({trial.place.noise_rate for trial in trials})
    lines = dict.fromkeys((trial.place.data, trial.place.corruption) for trial in trials)
    values = {trial.place: trial.value for trial in trials}
    rows = [
        (data, kind, *(values.get(Place(data, kind, rate)) for rate in rates))
        for data, kind in lines
    ]
    return Table(title, ("data set", "noise", *(f"η = {rate:g}" for rate in rates)), tuple(rows))

"""Claims about accuracy: the settings in which they are tested, and the rule for the verdict.

A setting is a dataset, a kind of noise and a noise rate. The rule is the text `RULE`, which the
pages of the report print. If a claim holds only in some settings, a condition describes them, such
as a range of noise rates. If several conditions cover the same number of settings, the verdict
names all of them. Settings with a model that did not converge are left out. Settings with noise
beyond recovery are left out too: there, the true label is often not the most frequent label of its
class, so methods can gain accuracy only by chance.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np

from twohot.base import counted
from twohot_paper.claim import ClaimVerdict, not_testable, verdict_if
from twohot_paper.data_set import DataSet, of_backbone
from twohot_paper.exhibit import Results, listed
from twohot_paper.grid import CORRUPTIONS, NOISE_RATES, Models, ProbeGrid, titles, unconverged
from twohot_paper.probe_run import MOST_LOST, ROUNDS, STUDENTS, TEACHER, TWO_HOT, ProbeRun
from twohot_paper.table import Mean, Table, mean_of

NEARLY_ALL = 0.9  # minimum fraction of the settings in which a statement must hold
COVERED = 0.15  # minimum fraction of the settings that a condition must cover
FEWEST_COVERED = 3  # minimum number of settings of a condition; fewer could agree by chance
FEWEST = 4  # minimum number of settings for a verdict

ONE_FILE = "If a dataset has several files, the file with the most finished runs counts."
CONVERGED_ONLY = "Settings with a model that did not converge are left out."
RECOVERABLE_ONLY = (
    "Settings with noise beyond recovery are left out too: in them, the true label is not the most"
    f" frequent label of its class for more than {MOST_LOST:.0%} of the training rows"
    " (symmetric noise of K classes beyond 1 − 1/K, superclass noise among s classes beyond"
    " 1 − 1/s)."
)
SETTINGS_RULE = (
    f"Confirmed if the statement holds in at least {NEARLY_ALL:.0%} of the settings (dataset, kind"
    " of noise and rate; means over seeds). Otherwise, the verdict names the widest condition"
    f" under which the statement holds in at least {NEARLY_ALL:.0%} of the settings: a range of"
    " noise rates, or some kinds of noise or datasets, in each of which it holds in at least"
    f" {NEARLY_ALL:.0%}. The condition must cover {COVERED:.0%} of the settings, and"
    f" {FEWEST_COVERED} settings of each kind or dataset. Without such a condition, the claim is"
    f" not confirmed. {ONE_FILE} {CONVERGED_ONLY}"
)
RULE = f"{SETTINGS_RULE} A verdict needs at least {FEWEST} settings."


@dataclass(frozen=True)
class Setting:
    """A dataset, a kind of noise and a noise rate, for which a statement is tested."""

    data: str  # display name of the dataset
    corruption: str
    noise_rate: float


@dataclass(frozen=True)
class JudgedSetting:
    """Whether a statement holds in a setting, and the number that determines this."""

    setting: Setting
    value: Mean | None
    holds: bool


def judge_settings(
    judged: Sequence[JudgedSetting], title: str, *, fewest: int = FEWEST, left_out: str = ""
) -> ClaimVerdict:
    """Return the verdict by `RULE`, with a table of the values of all settings.

    `title` is the title of this table. The text `left_out` says which settings were left out.

    Examples
    --------
    >>> judged = [JudgedSetting(Setting("pets", "symmetric", rate), None, rate > 0.4)
    ...           for rate in (0.1, 0.3, 0.5, 0.6, 0.8)]
    >>> print(judge_settings(judged, "Gain"))
    confirmed only when the noise rate is at least 0.5
    """
    if len(judged) < fewest:
        finished = f"{len(judged)} of the settings that it needs are finished"
        return not_testable(f"{finished}, and a verdict needs at least {fewest}.{left_out}")
    evidence = f"The statement holds in {_held(judged)} of {len(judged)} settings.{left_out}"
    shown = {"table": _table(judged, title), "basis": _basis(judged)}
    if _nearly_all_hold(judged):
        return verdict_if("", evidence, holds=True, **shown)
    found = _widest(judged)
    inside = "".join(f" Where {words}: {_counts(judged, covered)}." for words, covered in found)
    condition = ", or when ".join(words for words, _ in found)
    evidence += _counts_by_group(judged) + inside
    return verdict_if(condition, evidence, holds=False, **shown)


def _counts(judged: Sequence[JudgedSetting], covered: Sequence[JudgedSetting]) -> str:
    """Return text on how many settings the statement holds in, inside a condition and outside."""
    others = [each for each in judged if each not in covered]
    inside, outside = (f"{_held(part)} of {len(part)}" for part in (covered, others))
    return f"{inside}, elsewhere {outside}"


def _counts_by_group(judged: Sequence[JudgedSetting]) -> str:
    """Return sentences that count settings by dataset, by kind of noise and by noise rate."""
    sentences = []
    words = {"data": "dataset", "corruption": "kind of noise", "noise_rate": "noise rate"}
    for key, what in words.items():
        groups = _grouped(judged, key)
        counts = [f"{name} {_held(group)} of {len(group)}" for name, group in groups.items()]
        if len(groups) > 1:
            sentences.append(f" By {what}: {', '.join(counts)}.")
    return "".join(sentences)


def _grouped(judged: Sequence[JudgedSetting], key: str) -> dict[Any, list[JudgedSetting]]:
    """Return the settings grouped by the value of the field `key`, in the order of the values."""
    groups: dict[Any, list[JudgedSetting]] = {}
    for each in judged:
        groups.setdefault(getattr(each.setting, key), []).append(each)
    return dict(sorted(groups.items()))


def _held(judged: Sequence[JudgedSetting]) -> int:
    return sum(each.holds for each in judged)


def _basis(judged: Sequence[JudgedSetting]) -> str:
    """Return text on the numbers of settings and of label draws that a verdict is based on."""
    kinds = sorted({each.setting.corruption for each in judged})
    every = len(kinds) == len(CORRUPTIONS)
    noises = "all noises" if every else f"{listed(kinds)} noise"
    held = f"{noises}: {_held(judged)} of {counted(len(judged), 'setting')}"
    draws = {each.value.n for each in judged if each.value is not None}
    if not draws:
        return held
    fewest = f"{min(draws)} to " if len(draws) > 1 else ""
    return f"{held}, {fewest}{counted(max(draws), 'draw')}"


def _widest(judged: Sequence[JudgedSetting]) -> list[tuple[str, list[JudgedSetting]]]:
    """Return the conditions that cover the most settings, each with the settings it covers."""
    fewest = max(COVERED * len(judged), FEWEST_COVERED)
    found = [
        (words, covered)
        for words, covered in _conditions(judged)
        if len(covered) >= fewest and _nearly_all_hold(covered)
    ]
    most = max((len(covered) for _, covered in found), default=0)
    widest = {tuple(map(id, covered)): (words, covered) for words, covered in reversed(found)}
    return [pair for pair in reversed(widest.values()) if len(pair[1]) == most]


def _nearly_all_hold(judged: Sequence[JudgedSetting]) -> bool:
    return _held(judged) >= NEARLY_ALL * len(judged)


def _conditions(judged: Sequence[JudgedSetting]) -> Iterator[tuple[str, list[JudgedSetting]]]:
    """Yield every condition in words, with the settings that it covers."""
    rates = sorted({each.setting.noise_rate for each in judged})
    for low, high in combinations_with_replacement(rates, 2):
        covered = [each for each in judged if low <= each.setting.noise_rate <= high]
        yield f"the noise rate is {_range_words(low, high, rates)}", covered
    for words, key in (("noise is", "corruption"), ("the dataset is", "data")):
        held = [
            name
            for name, group in _grouped(judged, key).items()
            if len(group) >= FEWEST_COVERED and _nearly_all_hold(group)
        ]
        covered = [each for each in judged if getattr(each.setting, key) in held]
        yield f"{words} {listed(held, 'or')}", covered


def _range_words(low: float, high: float, rates: Sequence[float]) -> str:
    if high == rates[-1]:
        return f"at least {low:g}"
    return f"at most {high:g}" if low == rates[0] else f"{low:g} to {high:g}"


def _table(judged: Sequence[JudgedSetting], title: str) -> Table:
    rates = sorted({each.setting.noise_rate for each in judged})
    lines = dict.fromkeys((each.setting.data, each.setting.corruption) for each in judged)
    values = {each.setting: each.value for each in judged}
    rows = [
        (data, kind, *(values.get(Setting(data, kind, rate)) for rate in rates))
        for data, kind in lines
    ]
    return Table(title, ("dataset", "noise", *(f"η = {rate:g}" for rate in rates)), tuple(rows))


@dataclass(frozen=True, eq=False)
class TriedSettings:
    """The settings with results, and the settings that are left out."""

    draws: dict[Setting, dict[int, Models]] = field(default_factory=dict)  # models by label seed
    left_out: dict[Setting, str] = field(default_factory=dict)  # reason why it is left out

    def left_out_words(self, corruptions: Sequence[str] = CORRUPTIONS) -> str:
        """Return a sentence on the settings left out and the reasons; empty if there are none."""
        sentences = []
        for why in dict.fromkeys(self.left_out.values()):
            rates: dict[str, list[str]] = {}
            for place, reason in self.left_out.items():
                if reason == why and place.corruption in corruptions:
                    where = f"{place.data}, {place.corruption} noise"
                    rates.setdefault(where, []).append(f"{place.noise_rate:g}")
            places = [f"{where}, η = {', '.join(each)}" for where, each in rates.items()]
            if places:
                sentences.append(f" Left out, {why}: {'; '.join(places)}.")
        return "".join(sentences)


def settings_of(
    results: Results,
    data: Sequence[DataSet],
    corruptions: Sequence[str] = CORRUPTIONS,
    rates: Sequence[float] = NOISE_RATES[1:],
    *,
    recoverable: bool = True,
    **grid: Any,
) -> TriedSettings:
    """Return every setting with results, with the models of each draw of noisy labels, by seed.

    If `recoverable`, settings with noise beyond recovery are left out.
    """
    names = titles(data)
    seeds = tuple(sorted({run.seed for run in results if isinstance(run, ProbeRun)}))
    tried = TriedSettings()
    for each in one_file_each(results, data):
        for corruption in corruptions:
            runs = ProbeGrid(corruption, seeds=seeds, **grid)
            for rate in rates:
                draws = runs.draws_by_seed(results, each, rate)
                setting = Setting(names[each.key], corruption, rate)
                if not draws:
                    continue
                if any(unconverged(models) for models in draws.values()):
                    tried.left_out[setting] = "because a model did not converge"
                elif recoverable and runs.is_lost(each, rate):
                    tried.left_out[setting] = "because the noise is beyond recovery"
                else:
                    tried.draws[setting] = draws
    return tried


def one_file_each(results: Results, data: Sequence[DataSet]) -> list[DataSet]:
    """Return one file per dataset: that with the most finished runs; among equals, the largest."""
    n_runs = Counter(run.data for run in results if isinstance(run, ProbeRun))
    by_weight = sorted(data, key=lambda each: (n_runs[each.key], len(each.X)))
    chosen = {each.paper_name or each.name: each for each in by_weight}  # the last of equal names
    return [each for each in data if each in chosen.values()]


# A claim about accuracy: a statement about models, judged in all settings -------------------------


# Differences of accuracy up to this number of percentage points (five images of a thousand) do not
# count. A tenfold smaller tolerance of the fits changes accuracy by less.
MARGIN = 0.5

# A claim about all mislabelled rows holds if it is true of at least this fraction of these rows.
ALL_ROWS = 0.99

NEARLY_ALL_GAIN = 0.9  # fraction of the gain of four students that two students must reach
SOME_GAIN = 1.0  # smallest gain of four students that is considered, in percentage points

Judged: TypeAlias = tuple[Mean | None, bool]  # the number to show, and whether the statement holds
Draws: TypeAlias = Sequence[Models]  # models of all draws of one setting


@dataclass(frozen=True, kw_only=True)
class AccuracyRule:
    """How a claim about accuracy is tested: the keys of the table `accuracy` in its TOML file."""

    statement: str  # a name in STATEMENTS
    arguments: dict[str, Any] = field(default_factory=dict)  # arguments of the statement
    value: str  # title of the table: the number that the statement returns
    corruptions: tuple[str, ...] = CORRUPTIONS  # kinds of noise that the claim is about
    needed: tuple[str, ...] | None = None  # kinds of noise that must have settings; None: all
    lowest_rate: float = NOISE_RATES[1]
    recoverable: bool = True  # whether settings with noise beyond recovery are left out
    backbone: str = ""  # text that names of feature files must contain; empty: any file
    grid: dict[str, Any] = field(default_factory=dict)  # other fields of `ProbeGrid`

    @property
    def shared_rule(self) -> str:
        """The part of the rule that all claims about accuracy share."""
        return RULE + f" {RECOVERABLE_ONLY}" * self.recoverable

    def judge(self, results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        """Return whether the statement holds in nearly all settings, or under which condition."""
        files = of_backbone(data, self.backbone)
        if self.backbone and not files:
            return not_testable(f"None of the feature files has {self.backbone} in its name.")
        rates = [rate for rate in NOISE_RATES[1:] if rate >= self.lowest_rate]
        tried = settings_of(
            results, files, self.corruptions, rates, recoverable=self.recoverable, **self._grid()
        )
        kinds = {setting.corruption for setting in tried.draws}
        without = [kind for kind in self.corruptions if kind not in kinds]
        lacks = f"there is no setting of {listed(without)} noise" if without else ""
        needed = self.corruptions if self.needed is None else self.needed
        if len(self.corruptions) > 1 and not kinds.issuperset(needed):
            about = f"It is about {listed(self.corruptions)} noise"
            return not_testable(f"{about}, and {lacks}.{tried.left_out_words(without)}")
        holds = partial(STATEMENTS[self.statement], **self.arguments)
        outcomes = {setting: holds([*draws.values()]) for setting, draws in tried.draws.items()}
        found = [JudgedSetting(place, *each) for place, each in outcomes.items() if each]
        absent = f" {lacks.capitalize()}." if lacks else ""
        left_out = absent + tried.left_out_words(self.corruptions)
        return judge_settings(found, self.value, left_out=left_out)

    def _grid(self) -> dict[str, Any]:
        """Return the other fields of `ProbeGrid`, with tuples instead of TOML lists."""
        return {k: tuple(v) if isinstance(v, list) else v for k, v in self.grid.items()}


def ahead(
    draws: Draws,
    models: Sequence[str],
    rivals: Sequence[str],
    *,
    score: str = "test_accuracy",
    margin: float = MARGIN,
) -> Judged | None:
    """Test that the best of `models` exceeds the best of `rivals` by more than `margin`, in points.

    The best model is the one with the largest mean score over the draws.
    """
    whole = [draw for draw in draws if draw.keys() >= {*models, *rivals}]

    def scores(names: Sequence[str]) -> np.ndarray:
        found = [[getattr(draw[name], score) for draw in whole] for name in names]
        return np.array(max(found, key=sum))

    lead = mean_of((scores(models) - scores(rivals)).tolist(), factor=100)
    return None if lead is None else (lead, lead.mean > margin)


def rises(draws: Draws) -> Judged | None:
    """Test that the last student beats the teacher, and that no round loses more than `MARGIN`."""
    judged = ahead(draws, ROUNDS[-1:], [TEACHER])
    steps = [ahead(draws, [new], [old]) for old, new in zip(ROUNDS[:-1], STUDENTS, strict=True)]
    means = [step[0].mean for step in steps if step is not None and step[0] is not None]
    return None if judged is None else (judged[0], judged[1] and min(means) > -MARGIN)


def two_are_enough(draws: Draws) -> Judged | None:
    """Test that two candidates give a higher accuracy than every larger number of candidates."""
    more = ("top-3", "top-5", "top-10")
    rivals = [name for name in more if any(name in draw for draw in draws)]
    return ahead(draws, [TWO_HOT], rivals) if rivals else None


def early_gain(draws: Draws) -> Judged | None:
    """Test that the second student has nearly all of the fourth student's gain over the teacher."""
    gains = [
        [draw[name].test_accuracy - draw[TEACHER].test_accuracy for name in STUDENTS]
        for draw in draws
        if draw.keys() >= set(ROUNDS)
    ]
    early = mean_of([each[1] for each in gains], factor=100)
    late = mean_of([each[-1] for each in gains], factor=100)
    if early is None or late is None or late.mean < SOME_GAIN:
        return None
    share = mean_of([100 * early.mean / late.mean])
    return share, early.mean >= NEARLY_ALL_GAIN * late.mean


def truth_in_two(draws: Draws) -> Judged | None:
    """Test that nearly all mislabelled rows have the true label in the teacher's top two."""
    share = mean_of([shares["2"] for shares in _truth_in_top(draws)], factor=100)
    return None if share is None else (share, share.mean >= 100 * ALL_ROWS)


def truth_in_more(draws: Draws) -> Judged | None:
    """Test that the teacher's top k labels contain the true label more often, the larger k is."""
    found = _truth_in_top(draws)
    if not found:
        return None
    means = [np.mean([shares[size] for shares in found]) for size in found[0]]
    gain = mean_of([100 * float(means[-1] - means[0])])
    return gain, bool((np.diff(means) > 0).all())


def crosses(draws: Draws) -> Judged | None:
    """Test that mislabelled rows favour the given label at first, and the true label at last."""
    pairs = [
        (draw[name].noisy_true, draw[name].noisy_given)
        for draw in draws
        for name in (TEACHER, ROUNDS[-1])
    ]
    leads = [true.mean - given.mean for true, given in pairs if true and given]
    first, last = mean_of(leads[::2], factor=100), mean_of(leads[1::2], factor=100)
    return None if first is None or last is None else (last, first.mean < 0 < last.mean)


def moves(draws: Draws, output: str, moment: str, *, up: bool) -> Judged | None:
    """Test that a moment (mean or standard deviation over rows) of an output changes as expected.

    It must rise in every round if `up`, else fall. The table shows the change from the teacher to
    the last student, in hundredths.
    """
    spreads = [[getattr(draw[name], output) for name in ROUNDS] for draw in draws]
    values = np.array(
        [[getattr(each, moment) for each in row] for row in spreads if None not in row]
    )
    if not len(values):
        return None
    change = mean_of((values[:, -1] - values[:, 0]).tolist(), factor=100)
    steps = np.diff(values.mean(axis=0))
    return change, bool((steps > 0).all() if up else (steps < 0).all())


STATEMENTS: dict[str, Callable[..., Judged | None]] = {
    each.__name__: each
    for each in (
        *(ahead, rises, two_are_enough, early_gain),
        *(truth_in_two, truth_in_more, crosses, moves),
    )
}


def _truth_in_top(draws: Draws) -> list[dict[str, float]]:
    return [found for draw in draws if (found := draw[TEACHER].truth_in_top) is not None]

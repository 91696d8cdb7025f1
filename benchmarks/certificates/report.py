"""The pages: what is required and what was simulated, with a figure; every line of the tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.certificates.lists import ListResult, Lists
from benchmarks.certificates.plan import (
    COVERAGE_REVIEWS,
    COVERAGE_ROWS,
    DRAWN,
    MORE_DRAWS,
    RATES,
    REPEATED_DRAWS,
    REPEATED_REVIEWS,
    CostRun,
    CoverageRun,
    ErringRun,
    ListRun,
    runs,
)
from benchmarks.certificates.reviews import CostResult, CoverageResult, ErringResult
from benchmarks.pages import NOT_MEASURED, Target, table, target_table
from twohot.base import BLUE, ORANGE
from twohot_paper import Log, Record
from twohot_paper.real_figures import new_panels

PAGE, LINES_PAGE = (Path(__file__).with_name(name) for name in ("page.md", "lines.md"))
N_CHECKED = 300  # of the table of lists, and of the required power
LEAST_REACH = 0.25  # of the settings whose power counts: others have no list worth the name
REQUIRED_POWER = {0.05: 0.88, 0.1: 0.9, 0.2: 0.9}


@dataclass(frozen=True)
class Found:
    """All records of the plan, by kind."""

    lists: list[Record[ListRun, ListResult]]
    coverage: list[Record[CoverageRun, CoverageResult]]
    cost: dict[tuple[str, str], CostResult]  # by set and rule
    erring: list[Record[ErringRun, ErringResult]]


def read(log: Log) -> Found:
    planned = runs()

    def of(run: type, result: type) -> list[Record]:
        found = {record.run: record for record in log.finished(run, result)}
        return [found[each] for each in planned if each in found]

    cost = {(each.run.data, each.run.rule): each.result for each in of(CostRun, CostResult)}
    return Found(
        of(ListRun, ListResult),
        of(CoverageRun, CoverageResult),
        cost,
        of(ErringRun, ErringResult),
    )


def render(found: Found, details: str, figure: str) -> str:
    """Return the first page; `details` and `figure` are the paths it links."""
    return PAGE.read_text(encoding="utf-8").format(
        requirements=target_table(requirements(found)),
        n_done=sum(map(len, (found.lists, found.coverage, found.cost, found.erring))),
        n_planned=len(runs()),
        details=details,
        figure=figure,
    )


def render_lines(found: Found) -> str:
    """Return the second page: every line of the tables."""
    return LINES_PAGE.read_text(encoding="utf-8").format(
        n_checked=N_CHECKED,
        lists=list_table(found),
        coverage_rows=COVERAGE_ROWS,
        coverage=coverage_table(found),
        cost=cost_table(found),
        erring=erring_table(found),
    )


def draw(found: Found) -> Any:
    """Return the figure: what a review costs by either rule, over the number of rows."""
    figure, ((axes,),) = new_panels(7, 2.6, 1, 1)
    names = list(dict.fromkeys(data for data, _ in found.cost))
    for rule, colour, marker in (("list first", BLUE, "o"), ("random order", ORANGE, "s")):
        looks = {
            names.index(data): 100 * mean(each.looks) / each.n_rows
            for (data, of), each in found.cost.items()
            if of == rule
        }
        label = "most doubtful rows first" if rule == "list first" else rule
        axes.plot(list(looks.values()), list(looks), marker, color=colour, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="rows looked at, %", xlim=(0, 102), ylim=(max(1, len(names)) - 0.5, -0.5))
    axes.legend(frameon=False, loc="center")
    return figure


# What is required -------------------------------------------------------------------------------


def requirements(found: Found) -> list[Target]:
    once = [record for record in found.lists if record.run.n_draws != REPEATED_DRAWS]
    cells = [each for record in once for each in record.result.lists]
    return [
        target(
            "mean FDP of the lists of each cell",
            "≤ q + 3 standard errors",
            [each.fdp <= each.fdr + 3 * each.error for each in cells],
            lambda held: f"in {sum(held)} of {len(held)} cells",
        ),
        target(
            "mean FDP of all cells, at q = .05 / .1 / .2",
            "≤ q",
            [pooled(cells, fdr) <= fdr for fdr in RATES if cells],
            lambda _: " / ".join(f"{pooled(cells, fdr):.3f}" for fdr in RATES),
        ),
        _missed_target(
            found,
            "fraction of draws in which a bound fails at any threshold: worst cell",
            MORE_DRAWS,
        ),
        _missed_target(found, "the same for the worst cell, simulated again", REPEATED_DRAWS),
        *(_power_target(found, fdr) for fdr in RATES),
        _covered_target(
            found,
            "fraction of reviews in which the bound on the remaining wrong labels holds after "
            "every look: worst setting",
            COVERAGE_REVIEWS,
        ),
        _covered_target(found, "the same for the worst setting, simulated again", REPEATED_REVIEWS),
        *_cost_targets(found),
        target(
            "fraction of reviews in which the corrected bound holds, if the reviewer errs on 2 % "
            "of the looks: worst procedure",
            "≥ 0.95",
            [_covers(record.result.corrected, record.result) >= 0.95 for record in found.erring],
            lambda _: (
                f"{min(_covers(each.result.corrected, each.result) for each in found.erring)}"
            ),
        ),
    ]


def target(
    what: str, asked: str, held: Sequence[bool], write: Callable[[Sequence[bool]], str]
) -> Target:
    """Return a requirement; without anything simulated it is neither met nor not."""
    return Target(what, asked, write(held) if held else NOT_MEASURED, all(held) if held else None)


def pooled(cells: Iterable[Lists], fdr: float) -> float:
    return mean(each.fdp for each in cells if each.fdr == fdr)


def _missed_target(found: Found, what: str, n_draws: int) -> Target:
    missed = [
        share
        for record in found.lists
        if record.run.n_draws == n_draws
        for share in record.result.missed.values()
    ]
    allowed = 0.05 + 2 * (0.05 * 0.95 / n_draws) ** 0.5
    return target(
        f"{what}, {n_draws:,} draws",
        f"≤ {allowed:.3f} (.05 + 2 standard errors)",
        [share <= allowed for share in missed],
        lambda _: f"{max(missed):.3f} (mean of {len(missed)}: {mean(missed):.3f})",
    )


def _covered_target(found: Found, what: str, n_reviews: int) -> Target:
    covered = [1 - each.result.missed for each in found.coverage if each.run.n_reviews == n_reviews]
    least = 0.95 - 2 * (0.05 * 0.95 / n_reviews) ** 0.5
    return target(
        f"{what}, {n_reviews:,} reviews",
        f"≥ {least:.3f} (.95 - 2 standard errors)",
        [share >= least for share in covered],
        lambda _: f"{min(covered):.3f} (mean of {len(covered)}: {mean(covered):.3f})",
    )


def _power_target(found: Found, fdr: float) -> Target:
    powers = [
        each.power
        for record in found.lists
        if record.run.setting.noise in DRAWN and record.run.n_draws != REPEATED_DRAWS
        for each in record.result.lists
        if (each.n_checked, each.fdr) == (N_CHECKED, fdr) and each.reach >= LEAST_REACH
    ]
    return target(
        f"mean power of lists at rate {fdr:g}, with {N_CHECKED} checked rows, simulated noise and "
        f"a reach of at least {LEAST_REACH:g}",
        f"≥ {REQUIRED_POWER[fdr]:g}",
        [mean(powers) >= REQUIRED_POWER[fdr]] if powers else [],
        lambda _: f"{mean(powers):.2f} in {len(powers)} cells",
    )


def _cost_targets(found: Found) -> list[Target]:
    first = {data: each for (data, rule), each in found.cost.items() if rule == "list first"}
    shares = {
        data: _beyond(each) / _beyond(found.cost[data, "random order"])
        for data, each in first.items()
        if (data, "random order") in found.cost
    }
    return [
        target(
            "mean number of looks until at most 1 % of the labels are wrong, divided by (1.3 × "
            "number of wrong labels + 300): worst dataset",
            "≤ 1",
            [_over_allowed(each) <= 1 for each in first.values()],
            lambda _: f"{max(map(_over_allowed, first.values())):.2f}",
        ),
        target(
            "number of looks at right labels, divided by this number for rows in random order: "
            "worst dataset",
            "≤ 0.12",
            [share <= 0.12 for share in shares.values()],
            lambda _: f"{max(shares.values()):.3f}",
        ),
    ]


def _over_allowed(result: CostResult) -> float:
    return mean(result.looks) / (1.3 * result.n_wrong + 300)


def _beyond(result: CostResult) -> float:
    return mean(result.looks) - mean(result.repairs)


def _covers(bounds: Sequence[int], result: ErringResult) -> float:
    return mean(bound >= truth for bound, truth in zip(bounds, result.truth, strict=True))


# Every line ---------------------------------------------------------------------------------------


def list_table(found: Found) -> str:
    head = ["line", "wrong", "flagged", "FDP", "lists appeared", "reach", "power", "bound missed"]
    return table(head, map(_list_line, found.lists))


def _list_line(record: Record[ListRun, ListResult]) -> list[str]:
    result = record.result
    cells = [each for each in result.lists if each.n_checked == N_CHECKED]
    powers = ["–" if each.power is None else f"{each.power:.2f}" for each in cells]
    return [
        str(record.run),
        str(result.n_wrong),
        str(result.n_flagged),
        *(
            " / ".join(shown) or "–"
            for shown in (
                [f"{each.fdp:.3f}" for each in cells],
                [f"{each.appeared:.2f}" for each in cells],
                [f"{each.reach:.2f}" for each in cells],
                powers,
            )
        ),
        f"{result.missed[str(N_CHECKED)]:.3f}" if cells else "–",
    ]


def coverage_table(found: Found) -> str:
    rows = [[str(each.run), f"{each.result.missed:.3f}"] for each in found.coverage]
    return table(["line", "fraction of reviews ever below the truth"], rows)


def cost_table(found: Found) -> str:
    head = ["line", "rows", "wrong", "looks: mean (90 %)", "repairs", "random looks", "allowed"]
    rows = [
        [
            f"{data}, {rule}",
            str(each.n_rows),
            str(each.n_wrong),
            f"{mean(each.looks):,.0f} ({sorted(each.looks)[int(0.9 * len(each.looks))]:,})",
            f"{mean(each.repairs):,.0f}",
            f"{mean(each.n_random):,.0f}",
            f"{1.3 * each.n_wrong + 300:,.0f}",
        ]
        for (data, rule), each in found.cost.items()
    ]
    return table(head, rows)


def erring_table(found: Found) -> str:
    head = ["line", "looks", "truth", "damaged", "bound shown", "it covers", "corrected", "covers"]
    rows = []
    for record in found.erring:
        result = record.result
        counts = (result.looks, result.truth, result.damaged, result.bound)
        rows.append(
            [
                str(record.run),
                *(f"{mean(each):,.0f}" for each in counts),
                f"{_covers(result.bound, result):.0%}",
                f"{mean(result.corrected):,.0f}",
                f"{_covers(result.corrected, result):.0%}",
            ]
        )
    return table(head, rows)

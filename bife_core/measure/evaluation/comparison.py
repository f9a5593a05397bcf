"""Each method against the baseline: ratios with intervals, exact tests, wins (appendix E), and sentences on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from bife_core.base import stats
from bife_core.base.values import Value
from bife_core.base.wording import counted, fits, interval_text
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.solver.scip.cost import Cost

if TYPE_CHECKING:
    import pandas as pd

Finding = Literal["better", "worse", "undecided"]


def finding(ci_low: float | None, ci_high: float | None, p_value: float, confidence: float) -> Finding:
    """Return better or worse only if interval and test agree: the one judge, which report and champion gate ask."""
    if ci_low is None or ci_high is None or p_value >= 1 - confidence:
        return "undecided"
    if ci_high < 1:
        return "better"
    return "worse" if ci_low > 1 else "undecided"


WORTHWHILE: Final = 0.97
"""A measured ratio above this one is no reason to collect more instances."""
SLOW: Final = 1.25
"""On an instance with a larger ratio of costs a method counts as slower."""
MOST_SLOW: Final = 1 / 3
"""Share of instances on which a champion may be slower, by its upper 95 % limit."""
LARGE_GAIN: Final = 0.25
"""Ratio of costs that settings and rule together often reach."""


def fewest_for_champion(use: int, ratio: float = LARGE_GAIN) -> int:
    """Return on how many test instances, at which use of them, a method with this ratio on each may become champion.

    See `Ratio.doubt`: by fewer than eight, too large a share of others may be slower, whatever the ratio.
    """
    enough = next(number for number in count(1) if stats.share_bound(0, number) <= MOST_SLOW)
    return max(enough, stats.fewest_instances(stats.confidence_of(use, stats.CONFIDENCE), ratio))


class Ratio(Value):
    """What a method costs over a baseline by a metric, below 1 if it is better, and how bad it may be elsewhere.

    `ratio` is the geometric mean over the `groups` of the `instances`, with its bootstrap interval at the level
    `confidence`, if there is one. Of the pairs of `solves`, those `missing`, without a result or with a wrong one,
    count with what they are charged; `proofs` ended with a proof. `unbranched` instances, on which methods that differ
    in branching alone do not branch, are left out; on `short` ones both cost at most the metric's `least`.

    `bound` is the `bife_core.base.stats.UpperBound` of the ratio. For that to be below 1 it takes `likely` more groups
    at the measured ratio, and `further` at the lower end of the interval; None if no number may do. In `slower` groups
    the ratio exceeds `SLOW`; `slower_share` is the upper 95 % limit of their share. `worst` is the largest ratio.
    """

    metric: Cost = "time"
    ratio: float = 1.0
    ci_low: float | None = None
    ci_high: float | None = None
    confidence: float = stats.CONFIDENCE
    solves: int = 0
    missing: int = 0
    baseline_missing: int = 0
    proofs: int = 0
    baseline_proofs: int = 0
    instances: int = 0
    unbranched: int = 0
    short: int = 0
    groups: int = 0
    bound: float | None = None
    further: int | None = None
    likely: int | None = None
    slower: int = 0
    slower_share: float = 1.0
    worst: float = 1.0
    worst_instance: str = ""

    @property
    def obstacle(self) -> str:
        """Why the method cannot count as better whatever its ratio, as half a sentence; empty if it can."""
        if self.incomparable:
            return self.incomparable
        for whose, missing in (("the baseline's", self.baseline_missing), ("its", self.missing)):
            if missing:
                return f"{missing} of {whose} {self.solves} solves {'is' if missing == 1 else 'are'} missing"
        if self.proofs < self.baseline_proofs:
            return f"it finishes {self.proofs} of {self.solves} solves, the baseline {self.baseline_proofs}"
        return ""

    @property
    def incomparable(self) -> str:
        """Why the ratio says nothing, as half a sentence; empty if it does."""
        if not self.instances:
            return f"no method branches on any of {counted(self.unbranched, 'instance')}"
        least = f"{METRICS[self.metric].words} at most {METRICS[self.metric].least:g}"
        what = "objectives are too close" if self.metric == "objective" else "solves are too short"
        return f"{what} to compare ({least})" if self.short == self.instances else ""

    @property
    def unit(self) -> str:
        """What is compared: an instance, or a group where some are not independent of each other."""
        return "instance" if self.groups == self.instances else "group"

    @property
    def doubt(self) -> str:
        """Why the method may still be no better on other instances, as half a sentence; empty if that is excluded."""
        if self.bound is None or self.bound >= 1:
            upper = "unknown" if self.bound is None else f"{self.bound:.3f}"
            more = f", which {self.likely} more {self.unit}s of the measured ratio, {self.ratio:.3f}, would exclude"
            return (
                f"its ratio may be up to {upper} if {self.unit}s not seen are up to {stats.CAP:g} times slower"
                f"{more if self.likely and self.ratio <= WORTHWHILE else ''}"
            )
        if self.slower_share > MOST_SLOW:
            return (
                f"up to {100 * self.slower_share:.0f} % of {self.unit}s may be more than {SLOW:g} times slower "
                f"({self.slower} of these are), and a champion may be so on {100 * MOST_SLOW:.0f} %"
            )
        return ""

    @property
    def worst_case(self) -> str:
        """The worst instance in a sentence; empty if none is known."""
        if not self.worst_instance:
            return ""
        most = f"at most {100 * self.slower_share:.0f} % of such {self.unit}s do (95 %)"
        return (
            f"The worst {self.unit}, {self.worst_instance}, takes {self.worst:.2f} times as much; {self.slower} of "
            f"{self.groups} took more than {SLOW:g} times as much, {most}."
        )


class Comparison(Ratio):
    """One method against the baseline on the same instances.

    `node_ratio` is the ratio for nodes and `per_node_ratio` for CPU seconds a node. `p_value` is of the exact two-sided
    Wilcoxon signed-rank test on groups, `p_adjusted` its Holm adjustment over `family` tests unless the comparison is
    `primary`. In `wins`, `ties`, `losses` groups it is cheaper, as cheap, costlier. `note` limits the statement.

    Of at most `repeats` solves of an instance, with other seeds and so other orders of rows and columns, one solve's
    ratio scatters by the factor `spread`, a geometric standard deviation; the ratio of one seed alone is `alone_low` to
    `alone_high`. `luck` is the share of the logarithm of the ratio that this scatter may be (95 %), 1 at most. These
    four are None without repeats.
    """

    setting: str
    method: str
    baseline: str
    node_ratio: float = 1.0
    per_node_ratio: float = 1.0
    p_value: float = 1.0
    p_adjusted: float = 1.0
    family: int = 1
    primary: bool = False
    wins: int = 0
    ties: int = 0
    losses: int = 0
    note: str = ""
    repeats: int = 1
    spread: float | None = None
    alone_low: float | None = None
    alone_high: float | None = None
    luck: float | None = None

    @property
    def finding(self) -> Finding:
        """Better or worse only if interval and adjusted test agree; never better with an `obstacle`."""
        result = finding(self.ci_low, self.ci_high, self.p_adjusted, self.confidence)
        return "undecided" if result == "better" and self.obstacle else result

    @property
    def scatter(self) -> str:
        """How much of the ratio may be luck of the tree, in a sentence; empty without repeats."""
        if self.spread is None or self.luck is None:
            return ""
        share = f"up to {100 * self.luck:.0f} %" if self.luck < 1 else "all"
        return (
            f"Repeats of an instance, {self.repeats} seeds that permute its rows and columns, scatter by a factor of "
            f"{self.spread:.2f}; one seed alone gives a ratio of {self.alone_low:.3f} to {self.alone_high:.3f}, and "
            f"luck of the tree may be {share} of the difference (95 %)."
        )


def branched(frame: pd.DataFrame, methods: Sequence[str] = ()) -> pd.DataFrame:
    """Return the solves of `methods`; if they differ in branching alone, only on instances on which one branches."""
    frame = frame[frame["method"].isin(methods or frame["method"])]
    if frame["beside_branching"].nunique() > 1:
        return frame
    at_root = (frame["nodes"] <= 1) & ~frame["missing"]
    return frame[~at_root.groupby(frame["digest"]).transform("all")]


def compare_methods(
    frame: pd.DataFrame,
    methods: Sequence[str],
    baseline: str,
    metric: Cost = "time",
    confidence: float = stats.CONFIDENCE,
    setting: str = "these instances",
    primary: bool = False,
) -> tuple[Comparison, ...]:
    """Compare each method with the baseline on the solves of a `solve_frame`, and adjust the tests over all of them.

    With `primary`, the comparison of the first method was set in advance as the one that decides, and is left as it is.
    A method that shares no solve with the baseline, of the same instance and seed, gives no comparison.
    """
    pairs = (compare_pair(frame, method, baseline, metric, confidence, setting) for method in methods)
    first = methods[0] if primary else None
    return adjusted([pair.model_copy(update={"primary": pair.method == first}) for pair in pairs if pair])


def adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with the p-values of those that are not primary adjusted over all of these (Holm)."""
    p_values = [pair.p_value for pair in comparisons if not pair.primary]
    values = iter(stats.holm(p_values))
    return tuple(
        pair
        if pair.primary
        else pair.model_copy(update={"p_adjusted": next(values), "family": len(p_values)})
        for pair in comparisons
    )


_SOLVED: Final = ["group", "digest", "seed"]


def log_costs(
    frame: pd.DataFrame, method: str, baseline: str, metric: str, by: str | list[str] = "group"
) -> pd.DataFrame:
    """Return the mean logarithms of two methods' costs by group, or by digest, where both have one, in frame order."""
    valued = frame.assign(cost=np.log(METRICS[metric].of(frame)))
    table = valued.pivot_table(index=_SOLVED, columns="method", values="cost", sort=False)
    return table.reindex(columns=[method, baseline]).dropna().groupby(level=by, sort=False).mean()


def _log_ratios(frame: pd.DataFrame, method: str, baseline: str, metric: str) -> pd.Series[float]:
    costs = log_costs(frame, method, baseline, metric)
    return costs[method] - costs[baseline]


def compare_pair(
    frame: pd.DataFrame, method: str, baseline: str, metric: Cost, confidence: float, setting: str
) -> Comparison | None:
    """Compare two methods; None if they share no solve."""
    import pandas as pd  # which what only reads results does without

    if log_costs(frame, method, baseline, metric).empty:
        return None
    facts: dict[str, Any] = {"setting": setting, "method": method, "baseline": baseline, "metric": metric}
    in_all, frame = frame["digest"].nunique(), branched(frame, (method, baseline))
    facts |= {"confidence": confidence, "unbranched": in_all - frame["digest"].nunique()}
    solves = log_costs(frame, method, baseline, metric, _SOLVED)
    frame = frame[pd.MultiIndex.from_frame(frame[_SOLVED]).isin(solves.index)]
    short = METRICS[metric].of(frame).le(METRICS[metric].least).groupby(frame["digest"]).all()
    facts |= {"instances": len(short), "short": int(short.sum()), "groups": frame["group"].nunique()}
    if short.all():
        return Comparison.model_validate(facts)
    ended = frame.groupby("method")[["missing", "solved"]].sum().to_dict("index")
    logs = _log_ratios(frame, method, baseline, metric)
    interval = stats.ratio_interval(logs.sort_index(), confidence)
    p_value = stats.signed_rank_test(logs)
    nodes, time = (math.exp(_log_ratios(frame, method, baseline, of).mean()) for of in ("nodes", "time"))
    return Comparison(
        **facts,
        ratio=interval.ratio,
        ci_low=interval.low,
        ci_high=interval.high,
        node_ratio=nodes,
        per_node_ratio=time / nodes,
        solves=len(solves),
        missing=ended[method]["missing"],
        baseline_missing=ended[baseline]["missing"],
        proofs=ended[method]["solved"],
        baseline_proofs=ended[baseline]["solved"],
        p_value=p_value,
        p_adjusted=p_value,
        note=interval.note,
        **dict(zip(("wins", "ties", "losses"), stats.win_tie_loss(logs), strict=True)),
        **_tail(frame, logs, confidence, interval.low),
        **_scatter(solves[method] - solves[baseline]),
    )


def _scatter(logs: pd.Series[float]) -> dict[str, Any]:
    """Return the fields of a `Comparison` on repeats, from log ratios by group, digest and seed."""
    of_group = logs.groupby(level="group", sort=False)
    weights = 1 / of_group.transform("count") / of_group.ngroups
    spread, error, freedom = stats.repeat_error(logs, logs.index.get_level_values("digest"), weights)
    if not freedom:
        return {}
    alone = (logs.groupby(level=["seed", "group"]).mean()).groupby(level="seed").mean()
    size, most = abs(float((logs * weights).sum())), stats.t_factor(freedom) * error
    return {
        "repeats": int(logs.groupby(level="digest").count().max()),
        "spread": math.exp(spread),
        "alone_low": math.exp(alone.min()),
        "alone_high": math.exp(alone.max()),
        "luck": most / size if most < size else 1.0,
    }


def _tail(frame: pd.DataFrame, logs: pd.Series[float], level: float, low: float | None) -> dict[str, Any]:
    """Return the fields of a `Ratio` on instances not seen; ratios are by group, in the order of the solves."""
    bound = stats.UpperBound.of(logs, level)
    ratios = {"further": math.log(low) if low else float(logs.mean()), "likely": float(logs.mean())}
    needed = {name: bound.further(log) for name, log in ratios.items()}
    slower, worst = int((logs > math.log(SLOW)).sum()), str(logs.idxmax())
    return {
        "bound": math.exp(bound.value),
        **{name: int(count) if math.isfinite(count) else None for name, count in needed.items()},
        "slower": slower,
        "slower_share": stats.share_bound(slower, len(logs)),
        "worst": math.exp(logs.max()),
        "worst_instance": dict(zip(frame["digest"], frame["instance"], strict=True)).get(worst, worst),
    }


def known_as(method: str) -> str:
    """Return what the literature calls a method."""
    return "RPB" if method == "relpscost" else method


def p_text(value: float) -> str:
    """Return a p-value as it is printed, such as ``p = 0.012`` or ``p < 0.001``."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def change_text(comparison: Comparison) -> str:
    """Return a ratio in words, such as ``35 % less CPU time``."""
    words = METRICS[comparison.metric].words
    change = abs(1 - comparison.ratio)
    if change < 0.005:
        return f"the same {words} within 1 %"
    percent = f"{100 * change:.0f}" if comparison.ratio >= 0.01 else f"{100 * min(change, 0.9999):.2f}"
    return f"{percent} % {'less' if comparison.ratio < 1 else 'more'} {words}"


def evidence_text(comparison: Comparison) -> str:
    """Return the numbers behind a statement: ratio, interval, p-value, instances, missing solves."""
    if comparison.incomparable:
        return comparison.incomparable
    holm_over = f" after Holm over {comparison.family} tests" if comparison.family > 1 else ""
    parts = [
        f"ratio {comparison.ratio:.3f}",
        interval_text(comparison.ci_low, comparison.ci_high, confidence=comparison.confidence),
        f"{p_text(comparison.p_adjusted)}{holm_over}",
        counted(comparison.instances, "instance", comparison.groups),
    ]
    if left_out := comparison.unbranched:
        parts.append(f"{left_out} left out because no method branches on {'it' if left_out == 1 else 'them'}")
    if comparison.short:
        parts.append(f"{comparison.short} of them too short to differ")
    missing = {comparison.method: comparison.missing, comparison.baseline: comparison.baseline_missing}
    solves = f"of {comparison.solves} solves of"
    parts += [f"{count} {solves} {known_as(method)} missing" for method, count in missing.items() if count]
    return ", ".join(parts)


def statement(comparison: Comparison) -> str:
    """Return the sentence on one comparison."""
    method, baseline = known_as(comparison.method), known_as(comparison.baseline)
    where = f"On {comparison.setting},"
    if comparison.incomparable:
        return f"{where} {comparison.incomparable}, so {method} and {baseline} cannot be compared."
    change, evidence = change_text(comparison), evidence_text(comparison)
    if comparison.finding != "undecided":
        verbs = {"better": "does better", "worse": "does worse"}
        if comparison.metric == "time":
            verbs = {"better": "is faster", "worse": "is slower"}
        verb = f"{verbs[comparison.finding]} than"
        return f"{where} {method} {verb} {baseline}: it takes {change} ({evidence})."
    if comparison.obstacle:
        charged = "With missing solves charged, it" if comparison.missing else "It"
        return (
            f"{where} {method} cannot count as better than {baseline}: {comparison.obstacle}. "
            f"{charged} took {change} ({evidence})."
        )
    undecided = f"no difference between {method} and {baseline} is significant"
    by_interval = finding(comparison.ci_low, comparison.ci_high, 0.0, comparison.confidence)
    why = ", since interval and test must agree" if by_interval != "undecided" else ""
    return f"{where} {undecided}{why}: {method} took {change} ({evidence})."


def headline(comparison: Comparison) -> str:
    """Return what a comparison comes to in a line of at most 90 characters."""
    method, baseline = (fits(known_as(name), 24) for name in (comparison.method, comparison.baseline))
    where = fits(f", {comparison.setting}", 20)
    if comparison.incomparable:
        return fits(comparison.incomparable[0].upper() + comparison.incomparable[1:] + where, 90)
    if comparison.finding != "undecided":
        return f"{method} takes {change_text(comparison)} than {baseline}{where}"
    if comparison.obstacle:
        return f"{method} cannot count as better than {baseline}{where}"
    return f"{method} and {baseline} do not differ significantly{where}"

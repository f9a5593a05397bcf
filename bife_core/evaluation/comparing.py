"""Each method against the baseline on each setting: ratios with intervals, exact tests, wins (appendix E).

Here alone it is decided whether a method is better than another; the report and the champion gate both ask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from bife_core.evaluation.metrics import METRICS, Metric
from bife_core.scip.cost import Cost
from bife_core.stats import CONFIDENCE, holm, ratio, ratio_interval, signed_rank_test, win_tie_loss
from bife_core.values import Value
from bife_core.wording import counted, interval_text

Finding = Literal["better", "worse", "undecided"]


def finding(ci_low: float | None, ci_high: float | None, p_value: float, confidence: float) -> Finding:
    """Return better or worse only if interval and test agree that there is a difference.

    Examples
    --------
    >>> finding(0.7, 0.9, 0.01, 0.95), finding(0.7, 0.9, 0.06, 0.95), finding(0.7, 1.1, 0.01, 0.95)
    ('better', 'undecided', 'undecided')
    """
    if ci_low is None or ci_high is None or p_value >= 1 - confidence:
        return "undecided"
    if ci_high < 1:
        return "better"
    return "worse" if ci_low > 1 else "undecided"


class Comparison(Value):
    """One method against the baseline on one setting, by the metric of the evaluation.

    Attributes
    ----------
    ratio, ci_low, ci_high : float
        Geometric mean over instances of the method's cost over the baseline's, with its bootstrap interval
        (None where the data give none); below 1 the method is better.
    node_ratio, per_node_ratio : float
        The same for nodes, and for CPU seconds a node; their product is the ratio of CPU times.
    instances, solves : int
        Instances, and pairs of solves; one that is missing on either side counts with what it is charged.
    missing, baseline_missing : int
        Solves of each that gave no result, or a wrong one.
    proofs, baseline_proofs : int
        Solves of each that ended with a proof.
    p_value, p_adjusted : float
        Exact two-sided Wilcoxon signed-rank test on instances, and its Holm adjustment over `family` tests.
    wins, ties, losses : int
        Instances on which the method is cheaper, as cheap, costlier, seeds collapsed.
    unbranched : int
        Instances left out because no method branches on them.
    note : str
        What limits the statement; empty if nothing does.
    """

    setting: str
    method: str
    baseline: str
    metric: Cost
    ratio: float
    ci_low: float | None
    ci_high: float | None
    confidence: float
    node_ratio: float
    per_node_ratio: float
    instances: int
    solves: int
    missing: int = 0
    baseline_missing: int = 0
    proofs: int = 0
    baseline_proofs: int = 0
    p_value: float
    p_adjusted: float
    family: int
    wins: int
    ties: int
    losses: int
    unbranched: int = 0
    note: str = ""

    @property
    def finding(self) -> Finding:
        """Better or worse only if interval and adjusted test agree; never better with an `obstacle`."""
        found = finding(self.ci_low, self.ci_high, self.p_adjusted, self.confidence)
        return "undecided" if found == "better" and self.obstacle else found

    @property
    def obstacle(self) -> str:
        """Why the method cannot count as better whatever its ratio, as half a sentence; empty if it can."""
        return obstacle(self.missing, self.proofs, self.baseline_proofs, self.solves)


def obstacle(missing: int, proofs: int, baseline_proofs: int, solves: int) -> str:
    """Return why a method cannot count as better whatever its ratio, as half a sentence; empty if it can.

    Examples
    --------
    >>> obstacle(missing=0, proofs=8, baseline_proofs=8, solves=8)
    ''
    >>> obstacle(missing=3, proofs=5, baseline_proofs=8, solves=8)
    '3 of its 8 solves are missing'
    >>> obstacle(missing=0, proofs=7, baseline_proofs=8, solves=8)
    'it finishes 7 of 8 solves, the baseline 8'
    """
    if missing:
        return f"{missing} of its {solves} solves {'is' if missing == 1 else 'are'} missing"
    if proofs < baseline_proofs:
        return f"it finishes {proofs} of {solves} solves, the baseline {baseline_proofs}"
    return ""


def branched(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the solves of those instances on which some method branches.

    Where every solve ends at the root, whatever the seed, methods differ by noise alone.
    """
    at_root = (frame["nodes"] <= 1) & ~frame["missing"]
    return frame[~at_root.groupby([frame["setting"], frame["digest"]]).transform("all")]


def compare(
    frame: pd.DataFrame,
    methods: tuple[str, ...],
    baseline: str,
    metric: Cost = "time",
    confidence: float = CONFIDENCE,
) -> tuple[Comparison, ...]:
    """Compare each method with the baseline on each setting, methods in the given order within a setting.

    Solves of the same instance and seed are compared; instances on which no method branches count nowhere. Settings on
    which a method or the baseline has no solve give no comparison.

    Parameters
    ----------
    frame : pd.DataFrame
        From `solve_frame`.
    """
    found = [
        compared
        for setting in frame["setting"].unique()
        for method in methods
        if method != baseline
        and (
            compared := compare_pair(frame[frame["setting"] == setting], method, baseline, metric, confidence)
        )
        is not None
    ]
    return adjusted(found)


def adjusted(comparisons: list[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with their p-values adjusted over all of them (Holm)."""
    values = holm([comparison.p_value for comparison in comparisons])
    return tuple(
        comparison.model_copy(update={"p_adjusted": value, "family": len(comparisons)})
        for comparison, value in zip(comparisons, values, strict=True)
    )


def paired_costs(
    frame: pd.DataFrame, method: str, baseline: str, metric: Metric
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the costs of two methods by instance digest, one per seed of which both have a cost."""
    return _by_digest(_paired(frame, method, baseline, metric))


def _by_digest(table: pd.DataFrame) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the two columns of `_paired` as costs by instance digest, one per seed."""
    grouped = table.groupby(level="digest", sort=False)
    ours, theirs = (
        {str(digest): costs.tolist() for digest, costs in grouped[name]} for name in table.columns
    )
    return ours, theirs


def _paired(frame: pd.DataFrame, method: str, baseline: str, metric: Metric) -> pd.DataFrame:
    """Return a column of costs for each of two methods, by digest and seed of which both have a cost."""
    pair = frame[frame["method"].isin([method, baseline])]
    valued = pair.assign(cost=metric.of(pair))
    table = valued.pivot_table(index=["digest", "seed"], columns="method", values="cost", sort=False)
    return table.reindex(columns=[method, baseline]).dropna()


def compare_pair(
    frame: pd.DataFrame,
    method: str,
    baseline: str,
    metric: Cost = "time",
    confidence: float = CONFIDENCE,
) -> Comparison | None:
    """Compare two methods on the solves of one setting; None if they share none."""
    setting, in_all = str(frame["setting"].iloc[0]), frame["digest"].nunique()
    shared = _paired(frame, method, baseline, METRICS[metric])
    if shared.empty:
        return None
    frame = branched(frame)
    unbranched = in_all - frame["digest"].nunique()
    known: dict[str, Any] = {"setting": setting, "method": method, "baseline": baseline, "metric": metric}
    known |= {"confidence": confidence, "unbranched": unbranched}
    table = _paired(frame, method, baseline, METRICS[metric])
    if table.empty:
        equal = dict.fromkeys(("ratio", "node_ratio", "per_node_ratio", "p_value", "p_adjusted", "family"), 1)
        none = dict.fromkeys(("instances", "solves", "wins", "ties", "losses"), 0)
        return Comparison.model_validate(known | equal | none | {"ci_low": None, "ci_high": None})
    frame = frame[pd.MultiIndex.from_frame(frame[["digest", "seed"]]).isin(table.index)]
    ended = frame.groupby("method")[["missing", "solved"]].sum().to_dict("index")
    ours, theirs = _by_digest(table)
    interval = ratio_interval(ours, theirs, confidence=confidence, rng=0)
    p_value = signed_rank_test(ours, theirs)
    counts = win_tie_loss(ours, theirs)
    nodes, time = (ratio(*paired_costs(frame, method, baseline, METRICS[name])) for name in ("nodes", "time"))
    return Comparison(
        **known,
        ratio=interval.ratio,
        ci_low=interval.low,
        ci_high=interval.high,
        node_ratio=nodes,
        per_node_ratio=time / nodes,
        instances=interval.instances,
        solves=sum(map(len, ours.values())),
        missing=ended[method]["missing"],
        baseline_missing=ended[baseline]["missing"],
        proofs=ended[method]["solved"],
        baseline_proofs=ended[baseline]["solved"],
        p_value=p_value,
        p_adjusted=p_value,
        family=1,
        wins=counts.wins,
        ties=counts.ties,
        losses=counts.losses,
        note=interval.note,
    )


def costs_by_method(frame: pd.DataFrame, metric: Metric) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return costs by setting, method and instance digest, one per seed; unknown ones are left out."""
    valued = frame.assign(cost=metric.of(frame)).dropna(subset=["cost"])
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for (setting, method, digest), solves in valued.groupby(["setting", "method", "digest"], sort=False):
        by_method = found.setdefault(str(setting), {})
        by_method.setdefault(known_as(str(method)), {})[str(digest)] = solves["cost"].tolist()
    return found


NAMES = {"relpscost": "RPB"}
"""Methods that the literature knows by another name."""


def known_as(method: str) -> str:
    """Return what the literature calls a method."""
    return NAMES.get(method, method)


def p_text(value: float) -> str:
    """Return a p-value as it is printed.

    Examples
    --------
    >>> p_text(0.01234), p_text(2e-6), p_text(1.0)
    ('p = 0.012', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def p_number(value: float) -> str:
    """Return a p-value as it stands in a table, such as ``0.012`` or ``< 0.001``."""
    return p_text(value).removeprefix("p ").removeprefix("= ")


def change_text(comparison: Comparison) -> str:
    """Return a ratio in words, such as ``35 % less CPU time``."""
    words = METRICS[comparison.metric].words
    change = abs(1 - comparison.ratio)
    percent = (f"{change:.0%}" if comparison.ratio >= 0.01 else f"{min(change, 0.9999):.2%}").replace(
        "%", " %"
    )
    if percent == "0 %":
        return f"the same {words} within 1 %"
    return f"{percent} {'less' if comparison.ratio < 1 else 'more'} {words}"


def evidence_text(comparison: Comparison) -> str:
    """Return the numbers behind a statement: ratio, interval, p-value, instances, missing solves."""
    interval = interval_text(comparison.ci_low, comparison.ci_high, confidence=comparison.confidence)
    over = f" after Holm over {comparison.family} tests" if comparison.family > 1 else ""
    return (
        f"ratio {comparison.ratio:.3f}, {interval}, {p_text(comparison.p_adjusted)}{over}, "
        f"{counted(comparison.instances, 'instance')}{_left_out(comparison)}{_missing(comparison)}"
    )


def _left_out(comparison: Comparison) -> str:
    many = comparison.unbranched
    return f", {many} left out because no method branches on {'it' if many == 1 else 'them'}" if many else ""


def _missing(comparison: Comparison) -> str:
    """Return whose solves are missing, to go behind other numbers; nothing where none is."""
    missing = {
        known_as(comparison.method): comparison.missing,
        known_as(comparison.baseline): comparison.baseline_missing,
    }
    return "".join(
        f", {count} of {comparison.solves} solves of {who} missing" for who, count in missing.items() if count
    )


def statement(comparison: Comparison) -> str:
    """Return the sentence on one comparison."""
    method, baseline = known_as(comparison.method), known_as(comparison.baseline)
    if not comparison.instances:
        return (
            f"On {comparison.setting}, no method branches on any of {counted(comparison.unbranched, 'instance')}, so "
            f"{method} and {baseline} cannot be compared."
        )
    evidence = evidence_text(comparison)
    if comparison.finding == "undecided" and comparison.obstacle:
        charged = "With missing solves charged, it" if comparison.missing else "It"
        return (
            f"On {comparison.setting}, {method} cannot count as better than {baseline}: {comparison.obstacle}. "
            f"{charged} took {change_text(comparison)} ({evidence})."
        )
    if comparison.finding == "undecided":
        return (
            f"On {comparison.setting}, no difference between {method} and {baseline} is significant: {method} "
            f"took {change_text(comparison)} ({evidence})."
        )
    verb = _VERBS[comparison.finding] if comparison.metric == "time" else _WORDS[comparison.finding]
    return f"On {comparison.setting}, {method} {verb} {baseline}: it takes {change_text(comparison)} ({evidence})."


_VERBS = {"better": "is faster than", "worse": "is slower than"}
_WORDS = {"better": "does better than", "worse": "does worse than"}


def conclusion(leading: Sequence[Comparison]) -> str:
    """Return one sentence on the leading methods over all settings.

    Parameters
    ----------
    leading : sequence of Comparison
        One per setting: of the method an evaluation is about with its baseline.

    Raises
    ------
    ValueError
        If there is no comparison.

    Notes
    -----
    On several settings it counts how often the methods are significantly better, significantly worse and neither,
    each with its ratios; it never averages over settings.
    """
    if not leading:
        raise ValueError("There is nothing to judge: no method shares a solve with the baseline.")
    if len(leading) == 1:
        return statement(leading[0])
    methods = list(dict.fromkeys(known_as(c.method) for c in leading))
    baselines = list(dict.fromkeys(known_as(c.baseline) for c in leading))
    by_time = all(c.metric == "time" for c in leading)
    better, worse = ("faster", "slower") if by_time else ("better", "worse")
    parts = []
    for finding, words in (
        ("better", better),
        ("worse", worse),
        ("undecided", "not significantly different"),
    ):
        of_kind = [c for c in leading if c.finding == finding]
        if of_kind:
            listed = ", ".join(_on_setting(c, named=len(methods) > 1) for c in of_kind)
            parts.append(f"{words} on {len(of_kind)} of {len(leading)} settings: {listed}")
    who = f"{methods[0]} is" if len(methods) == 1 else "the rules are"
    return f"Compared with {' and '.join(baselines)}, {who} {'; '.join(parts)}."


def _on_setting(comparison: Comparison, *, named: bool) -> str:
    by = f" by {known_as(comparison.method)}" if named else ""
    interval = interval_text(comparison.ci_low, comparison.ci_high, digits=2)
    evidence = f"{interval}, {p_text(comparison.p_adjusted)}{_missing(comparison)}"
    return f"{comparison.setting}{by} ({change_text(comparison)}, {evidence})"


def not_significant(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a sentence per comparison that found no significant difference."""
    return tuple(statement(c) for c in comparisons if c.finding == "undecided")

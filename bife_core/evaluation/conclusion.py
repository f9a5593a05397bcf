"""The sentence an evaluation comes down to, and nothing in it that the numbers do not say."""

from __future__ import annotations

from collections.abc import Sequence

from bife_core.evaluation.comparing import Comparison
from bife_core.evaluation.metrics import METRICS
from bife_core.wording import counted, interval_text

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

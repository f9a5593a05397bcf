"""Numbers in sentences, and texts as databases and Markdown can hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bife_core.base.errors import BifeError


def storable(text: str) -> str:
    """Return a text without NUL and lone surrogates, which no database and UTF-8 can hold."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def fits(value: object, most: int) -> str:
    """Return a value as `storable` text, cut with an ellipsis to at most `most` characters."""
    text = storable(str(value))
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def in_one_line(error: BaseException) -> str:
    """Return what an error says in one line, after its kind if it is none of ours."""
    kind = "" if isinstance(error, BifeError) else f"{type(error).__name__}: "
    return kind + " ".join(str(error).split())


def counted(count: int, noun: str, groups: int | None = None) -> str:
    """Return a count with its noun, and the number of groups where it is another.

    >>> counted(1, "model"), counted(1200, "call"), counted(12, "instance", 7), counted(12, "instance", 12)
    ('1 model', '1,200 calls', '12 instances in 7 groups', '12 instances')
    """
    if groups not in (None, count):
        return f"{counted(count, noun)} in {counted(groups, 'group')}"
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def level_text(confidence: float) -> str:
    """Return a level in percent, with two significant digits of what it leaves to error.

    >>> level_text(0.95), level_text(1 - 1 / 30), level_text(0.99961)
    ('95 %', '96.7 %', '99.961 %')
    """
    error = float(f"{100 * (1 - confidence):.2g}")
    return f"{100 - error:.10g} %"


def interval_text(low: float | None, high: float | None, *, confidence: float | None = None) -> str:
    """Return an interval in words, with its confidence if given.

    >>> interval_text(0.7, 1.1, confidence=0.975), interval_text(0.7, 1.1), interval_text(0.7, None)
    ('97.5 % interval 0.700 to 1.100', 'interval 0.700 to 1.100', 'no interval')
    """
    if low is None or high is None:
        return "no interval"
    level = "" if confidence is None else f"{level_text(confidence)} "
    return f"{level}interval {low:.3f} to {high:.3f}"


def as_markdown(text: str) -> str:
    r"""Return a text escaped for one line of Markdown or one cell of a table.

    >>> print(as_markdown("a|b [link](x) of lot_sizing"))
    a\|b \[link\](x) of lot_sizing
    """
    return re.sub(r"([\\`*\[\]<|]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def fenced(source: str, language: str) -> str:
    """Return a source as a fenced block of code in Markdown."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", source))])
    return f"{fence}{language}\n{source.rstrip()}\n{fence}"


def span_text(values: Iterable[float]) -> str:
    """Return the least and the greatest number, or the one that all are."""
    ordered = sorted(values)
    ends = (ordered[0], ordered[-1])
    low, high = (f"{x:.0f}" if x == round(x) and abs(x) < 1e15 else f"{x:.3g}" for x in ends)
    return low if low == high else f"{low} to {high}"

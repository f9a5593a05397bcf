"""The parts of a prompt that tell what is known: magnitudes of features, scores of parents, earlier attempts."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from bife_core.features import FEATURES, GROUPS, Feature, Group
from bife_core.generators.prompt_context import FeatureRange, PromptContext
from bife_core.search.types import Sample

_EARLIER: Final = 12
"""Earlier attempts that are told at most: the better half are the best, the others the latest."""
_LINE: Final = 240
"""Characters a thought, a formula or a reason may have in a list."""


def feature_line(feature: Feature) -> str:
    """Return what a prompt says of a feature wherever it is used."""
    return f"- variable_features[{feature.index}] {feature.name}: {feature.meaning}"


def heading(group: Group) -> str:
    """Return the heading of a group of features in a prompt."""
    when = "constant during a solve" if group.cost == "solve" else "updated at every node"
    return f"{group.name.replace('_', ' ')} ({when})"


def measured_features(context: PromptContext) -> str:
    """Return the features that tell candidates apart, with their quantiles, and the others by name."""
    lines = [
        "Behind each feature stand its smallest value, 10 % quantile, median, 90 % quantile and largest value over all",
        "candidates of the recorded decisions, and F_LF (see below) of choosing by it alone, in the better direction.",
    ]
    told = [r for r in context.features if not r.constant and r.repeats is None]
    for group in GROUPS:
        own = [r for r in told if FEATURES[r.index].group == group]
        if own:
            lines += ["", f"## {heading(group)}", *map(_measured, own)]
    repeated = [
        f"[{r.index}] {FEATURES[r.index].name} = [{r.repeats}] {FEATURES[r.repeats].name}"
        for r in context.features
        if r.repeats is not None
    ]
    if repeated:
        lines += ["", f"Left out, since they say the same here, up to the sign: {', '.join(repeated)}."]
    constant = [
        f"[{r.index}] {FEATURES[r.index].name} = {r.quantiles[0]:.3g}" for r in context.features if r.constant
    ]
    if constant:
        lines += ["", f"Of no use here, since all candidates have the same value: {', '.join(constant)}."]
    return "\n".join(lines)


def _measured(found: FeatureRange) -> str:
    line = (
        f"{feature_line(FEATURES[found.index])} [{' | '.join(f'{value:.3g}' for value in found.quantiles)}]"
    )
    return line if found.alone is None else f"{line}, alone {found.alone:.2f}, {found.first} first"


def scores(sample: Sample, context: PromptContext) -> str:
    """Return F_LF and F_HF of a rule, and where it fails, in a line."""
    return " ".join([f"{_fidelities(sample, context)}.", *context.failings.get(sample.id, ())])


def earlier_attempts(context: PromptContext, shown: Iterable[Sample]) -> str:
    """Return a line for each of a dozen earlier attempts at most, or nothing; `shown` are left out."""
    known = {sample.id for sample in shown}
    told = [sample for sample in context.earlier if sample.id not in known]
    ranked = sorted(told, key=_rank, reverse=True)[: _EARLIER // 2]
    best = {sample.id for sample in ranked if sample.valid}
    others = [sample for sample in told if sample.id not in best][-(_EARLIER - len(best)) :]
    chosen = best | {sample.id for sample in others}
    return "\n".join(_attempt(sample, context) for sample in told if sample.id in chosen)


def _rank(sample: Sample) -> tuple[bool, float, float]:
    f_hf, f_lf = (float("-inf") if value is None else value for value in (sample.f_hf, sample.f_lf))
    return sample.valid, f_hf, f_lf


def _attempt(sample: Sample, context: PromptContext) -> str:
    fate = _fidelities(sample, context) if sample.valid else f"failed: {_short(sample.failure or '')}"
    return f"- {_short(sample.thought or _formula(sample))}: {fate}"


def _fidelities(sample: Sample, context: PromptContext) -> str:
    parts = [] if sample.f_lf is None else [f"F_LF {sample.f_lf:.3f}"]
    if sample.f_hf is not None:
        rpb = context.rpb
        relative = f" ({sample.f_hf / rpb:.2f} times the cost of SCIP's own rule)" if rpb else ""
        parts.append(f"F_HF {sample.f_hf:.4g}{relative}")
    elif sample.eliminated is not None:
        parts.append(f"lost its race and was given up: {_short(sample.eliminated)}")
    return ", ".join(parts) or "not scored"


def _formula(sample: Sample) -> str:
    """Return what a rule returns last, for one whose author said nothing."""
    try:
        returned = [node for node in ast.walk(ast.parse(sample.source or "")) if isinstance(node, ast.Return)]
    except (SyntaxError, ValueError):
        returned = []
    value = returned[-1].value if returned else None
    return "a rule without a description" if value is None else ast.unparse(value)


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."

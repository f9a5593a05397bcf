"""Names of registered rules, and which of them is for an instance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pyscipopt import Model

from bife_core.base.likeness import Likeness
from bife_core.base.values import digest_of
from bife_core.instances.config import InstancesConfig
from bife_core.instances.formulation import shape
from bife_core.measure.evaluation.comparison import known_as
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.registry.evidence import CHALLENGER, CHAMPION, UNGATED, RegisteredRule
from bife_core.solver.methods.base import RPB
from bife_core.solver.scip.settings import SolverConfig

PREFIX: Final = "bife-"
_LONGEST: Final = 200
"""Characters of a registered name: databases of registries take 256, with what they add to a name."""


def registered_name(instances: InstancesConfig, solver: SolverConfig) -> str:
    """Return the registered name for a benchmark under settings of SCIP; each size has its own."""
    label = instances.label
    if instances.folder is None and instances.size != "test":
        label = f"{label}-{instances.size}"
    # Two dashes only before settings: no folder has the name of another one under these. Some registries allow no dot.
    label = re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9_-]+", "_", label).strip("_"))
    name = PREFIX + (label or "rules")
    name += "" if solver.label == "default" else f"--{solver.label}"
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}_{digest_of(name)[:8]}"


def other_settings(rule: RegisteredRule, solver: SolverConfig, name: str = "") -> str:
    """Return a clause if a rule, called `name`, was measured under other settings than `solver`, else an empty text."""
    if rule.solver_digest == solver.digest:
        return ""
    return f"{name or rule.reference} was measured under {rule.solver}, not under {solver.known_as}"


def choose(rules: Sequence[RegisteredRule], model: Model, solver: SolverConfig) -> tuple[str, str]:
    """Return the reference of one of the rules, or RPB, for an instance, and why; see `Registry.rule_for`."""
    if not rules:
        return RPB, "There is no champion yet."
    form = shape(model)
    fitting, elsewhere, others = _fitting(rules, CHAMPION, form, solver)
    if fitting:
        *_, reference, measured = min(fitting)
        return reference, f"It was measured on instances like this one under {solver.known_as}: {measured}."
    reason = "There is no champion yet."
    if elsewhere or others:
        differing = f"No champion was made for instances like this one ({'; '.join(others)})."
        reason = f"{'; '.join(elsewhere)}." if elsewhere else differing
    for *_, reference, measured in sorted(_fitting(rules, CHALLENGER, form, solver)[0]):
        reason += (
            f" {reference} was measured on instances like this one too, {measured}, and is not champion; "
            f"`--rule {reference}` branches by it."
        )
    return RPB, reason


def _fitting(
    rules: Iterable[RegisteredRule], alias: str, form: dict[str, float], solver: SolverConfig
) -> tuple[list[tuple[bool, float, str, str]], list[str], list[str]]:
    """Return the holders of an alias that fit, clauses on those of other settings, and on those of other instances."""
    fitting, elsewhere, others = list[tuple[bool, float, str, str]](), list[str](), list[str]()
    for rule in rules:
        if alias not in rule.aliases:
            continue
        reference, facts = f"models:/{rule.name}@{alias}", rule.evidence
        difference = "it does not say what instances it was made for"
        if facts is not None and facts.likeness:
            difference = Likeness.model_validate_json(facts.likeness).difference(form) or ""
        if facts is None or difference:
            others.append(f"{rule.name}: {difference}")
        elif differing := other_settings(rule, solver, reference):
            elsewhere.append(differing)
        else:
            measured = f"{facts.ratio:.3f} of {known_as(facts.baseline)}'s {METRICS[facts.metric].words}"
            measured += UNGATED * rule.ungated
            # Ratios of different metrics do not compare; those of time come first.
            fitting.append((facts.metric != "time", facts.ratio, reference, measured))
    return fitting, elsewhere, others

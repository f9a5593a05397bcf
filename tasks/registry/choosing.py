"""Which rule is to branch on a model nobody says anything of: a champion made for such models, or the general rule."""

from __future__ import annotations

from typing import Final

from pyscipopt import Model

from bife_core.benchmarks.formulation import Likeness, shape
from bife_core.evaluation.conclusion import known_as
from bife_core.evaluation.metrics import METRICS
from bife_core.values import Value
from tasks.registry.versions import CHAMPION, list_rules
from tasks.tracking.store import TrackingError

GENERAL: Final = "general"
"""The reference rule for models no champion was made for."""


class RuleForModel(Value):
    """A rule for a model, and why this one.

    Attributes
    ----------
    reference : str
        What `load_method` takes.
    """

    reference: str
    reason: str


def rule_for(model: Model) -> RuleForModel:
    """Return the champion that was measured on models like this one, the best if several were, or the general rule.

    A registry that cannot be reached holds no champions; the reason says so.

    Parameters
    ----------
    model : pyscipopt.Model
        As it was read, before it is solved.
    """
    try:
        champions = [rule for rule in list_rules() if CHAMPION in rule.aliases]
    except TrackingError as error:
        return RuleForModel(reference=GENERAL, reason=f"Champions are not known. {error}")
    if not champions:
        return RuleForModel(reference=GENERAL, reason="There is no champion yet.")
    found = shape(model)
    differences: dict[str, str] = {}
    fitting: list[tuple[tuple[bool, float], RuleForModel]] = []
    for champion in champions:
        known = champion.evidence
        if known is None or not known.models:
            differences[champion.name] = "it does not say what models it was made for"
            continue
        difference = Likeness.model_validate_json(known.models).difference(found)
        if difference is not None:
            differences[champion.name] = difference
            continue
        words = METRICS[known.metric].words
        than = f"{known.ratio:.3f} of {known_as(known.baseline)}'s {words}"
        reason = f"It was measured on models like this one: {than}."
        reference = f"models:/{champion.name}@{CHAMPION}"
        # Ratios of different metrics do not compare; who wants a model solved asks for time first.
        fitting.append(
            ((known.metric != "time", known.ratio), RuleForModel(reference=reference, reason=reason))
        )
    if fitting:
        return min(fitting, key=lambda pair: pair[0])[1]
    others = "; ".join(f"{name}: {difference}" for name, difference in differences.items())
    none = f"No champion was made for models like this one ({others})."
    return RuleForModel(reference=GENERAL, reason=none)

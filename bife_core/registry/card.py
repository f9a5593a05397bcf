"""What a page shows of a registered rule."""

from __future__ import annotations

from typing import Final

from bife_core.evaluation.comparing import p_text
from bife_core.evaluation.metrics import METRICS
from bife_core.methods.base import RPB, Method
from bife_core.registry.evidence import CHAMPION, Evidence
from bife_core.wording import counted, fits, interval_text, storable

MOST_IN_CARD: Final = 3800
"""Characters of a card: MLflow's database takes 5,000, with the links that follow."""

_LANGUAGES: Final = {"rule": "python", "configuration": "ini"}
_SENTENCE: Final = 600
"""Characters of a sentence of it; the evidence has all."""


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: how good it is, what it is, how it is used, and where it holds.

    Of a text that is too long the card shows the beginning.
    """
    language = _LANGUAGES.get(method.kind, "json")
    head = f"## {_headline(evidence)}\n\n{fits(_measured(evidence), _SENTENCE)}\n\n```{language}\n"
    where = "\n".join(f"- {fits(fact, _SENTENCE)}" for fact in _where(evidence) if fact)
    text, end = storable(method.shown.rstrip()), "\n```\n"
    foot = f"{_use(name)}\n\n### Where it holds\n\n{where}"
    if len(head) + len(text) + len(end) + len(foot) > MOST_IN_CARD:
        end += f"This is the beginning of {len(text):,} characters: `artifacts/{method.file_name}` has all.\n"
    return f"{head}{text[: MOST_IN_CARD - len(head) - len(end) - len(foot)]}{end}{foot}"


def _headline(one: Evidence) -> str:
    against = "RPB" if one.baseline == RPB else fits(one.baseline, 80)
    return f"{one.ratio:.3f} of {against}'s {METRICS[one.metric].words}"


def _measured(one: Evidence) -> str:
    better = "faster" if one.metric == "time" else "better"
    tested = f"{counted(one.instances, 'held-out instance', one.groups)} of {fits(one.benchmark, 120)}"
    worst = f" The worst, {one.worst_instance}, takes {one.worst:.3f}." if one.worst_instance else ""
    return (
        f"{interval_text(one.ci_low, one.ci_high, confidence=one.confidence)}, {p_text(one.p_value)}; below 1 is "
        f"{better}. Measured on {tested}, size {one.size}, {counted(one.seeds, 'seed')} each, under "
        f"{one.solver or 'settings that were not recorded'}. {one.proofs} of {one.solves} solves end with a proof, of "
        f"the baseline's {one.baseline_proofs}.{worst}"
    )


def _use(name: str) -> str:
    reference = f"models:/{name}@{CHAMPION}"
    return (
        f"\n### Use it\n\n```python\nbife_core.attach(model, {reference!r})  # a model of PySCIPOpt\n```\n"
        f"```sh\nbife solve MODEL.mps --rule {reference}\nbife export {reference}  # for SCIP without Python\n```\n"
        "Until it is champion: `models:/NAME/VERSION`."
    )


def _where(one: Evidence) -> list[str]:
    """Return what limits the headline, and where the rule is from."""
    words = METRICS[one.metric].words
    time = one.time_ratio if one.metric != "time" else None
    champion = f"Beside the champion it takes {one.champion_ratio or 0:.3f} of its {words}."
    scores = [
        (score, value) for score, value in (("F_LF", one.f_lf), ("F_HF", one.f_hf)) if value is not None
    ]
    found = "".join(f", {score} {value:.4g}" for score, value in scores)
    return [
        "Other instances, settings and versions of SCIP were not tried; `bife evaluate` measures it on yours.",
        f"Slower on {one.slower} of {one.groups}; on at most {one.slower_share:.0%} of such instances.",
        f"CPU time: {time:.3f} of the baseline's." if time is not None else "",
        f"{counted(one.unfinished, 'solve')} ended at a limit." if one.unfinished else "",
        champion if one.champion_ratio is not None else "",
        one.champion_obstacle and f"Beside the champion {one.champion_obstacle}.",
        f"Found by the search {one.evolution_key}: {one.lineage or 'no sample'}{found}."
        if one.evolution_key
        else "",
    ]

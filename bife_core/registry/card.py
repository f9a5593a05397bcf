"""What a page shows of a registered rule."""

from __future__ import annotations

from typing import Final

from bife_core.evaluation.comparing import p_text
from bife_core.evaluation.metrics import METRICS
from bife_core.methods.base import Method
from bife_core.methods.scorer import RuleMethod
from bife_core.registry.evidence import Evidence
from bife_core.rules import complexity
from bife_core.wording import counted, fits, interval_text, storable

MOST_IN_CARD: Final = 4500
_FACTS, _FACT = 3500, 200
"""Characters of a card, of all facts in it and of one; the tags have all of it."""

_NOT_IN_CARD: Final = {
    "benchmark", "size", "ratio", "ci_low", "ci_high", "p_value", "instances", "groups", "seeds", "likeness",
    "solver_params",
}  # fmt: skip


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: how good it was measured to be, where it is from, and its text.

    MLflow's database takes 5,000 characters: of a longer text the card shows the beginning.
    """
    one, words = evidence, METRICS[evidence.metric].words
    measured = f"{one.ratio:.3f} ({interval_text(one.ci_low, one.ci_high, confidence=one.confidence)}, "
    facts = {
        "Benchmark": f"{one.benchmark}, size {one.size}",
        f"{words[0].upper()}{words[1:]} relative to {one.baseline}": (
            f"{measured}{p_text(one.p_value)}; below 1 is {'faster' if one.metric == 'time' else 'better'}; "
            f"{counted(one.instances, 'held-out instance', one.groups)}, {counted(one.seeds, 'seed')} each)"
        ),
        **{key.replace("_", " "): value for key, value in one.model_dump(exclude=_NOT_IN_CARD).items()},
    }
    if isinstance(method, RuleMethod):
        facts |= {key.replace("_", " "): value for key, value in complexity(method.source).items()}
    shown = {key: f"{fact:.4g}" if isinstance(fact, float) else fact for key, fact in facts.items()}
    lines = [f"- **{key}**: {fits(fact, _FACT)}" for key, fact in shown.items() if fact not in (None, "")]
    listed = fits("\n".join(lines), _FACTS)
    language = "python" if isinstance(method, RuleMethod) else method.file_name.rpartition(".")[2]
    head, text, foot = f"## {name}\n\n{listed}\n\n```{language}\n", storable(method.text.rstrip()), "\n```\n"
    if len(head) + len(text) + len(foot) > MOST_IN_CARD:
        foot += (
            f"\nThis is the beginning of {len(text):,} characters: `artifacts/{method.file_name}` has all.\n"
        )
    return f"{head}{text[: MOST_IN_CARD - len(head) - len(foot)]}{foot}"

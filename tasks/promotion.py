"""The task that registers a rule and lets the statistical gate decide on the alias ``champion``."""

from __future__ import annotations

from typing import Any

from prefect import task

from bife_core.config import InstancesConfig
from bife_core.methods.loading import method_of
from bife_core.methods.rule import RuleMethod
from bife_core.rules import complexity
from tasks.champions import crown
from tasks.policy import TRIED_AGAIN
from tasks.registry import Evidence, register_rule, registered_name


@task(
    name="register",
    task_run_name="register a rule for {evidence.benchmark}",
    **TRIED_AGAIN,
)
def register(
    instances: InstancesConfig, source: str, evidence: Evidence, lineage: str, by_gate: bool = True
) -> dict[str, Any]:
    """Register a rule as ``challenger``, and as ``champion`` if it earns that.

    Parameters
    ----------
    source : str
        Text of the rule or scorer.
    lineage : str
        Where the rule came from, for its model card.
    by_gate : bool
        Whether the statistical gate alone decides on ``champion``, now; otherwise that is left to a promotion.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    name = registered_name(instances)
    method = method_of(source)
    size = complexity(method.source).to_dict() if isinstance(method, RuleMethod) else {}
    words = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in size.items())
    card = model_card(name, source, evidence, complexity=words, lineage=lineage)
    registered = register_rule(name, source, evidence, card)
    return (crown(registered, evidence) if by_gate else registered).model_dump(mode="json")


def model_card(name: str, source: str, evidence: Evidence, **more: Any) -> str:
    """Return the description of a version: what it is, how fast it was measured to be, where it is from."""
    interval = (
        "no interval" if evidence.ci_high is None else f"{evidence.ci_low:.3f} to {evidence.ci_high:.3f}"
    )
    seeds = "1 seed" if evidence.seeds == 1 else f"{evidence.seeds} seeds"
    facts = {
        "Benchmark": f"{evidence.benchmark}, size {evidence.size}",
        f"CPU time relative to {evidence.baseline}": (
            f"{evidence.ratio:.3f} ({interval} at {evidence.confidence:.0%}; below 1 is faster; "
            f"{evidence.instances} held-out instances, {seeds} each)"
        ),
        "CPU time relative to the champion before": _beside(evidence),
        "F_LF": "" if evidence.f_lf is None else f"{evidence.f_lf:.4f}",
        "F_HF": "" if evidence.f_hf is None else f"{evidence.f_hf:.4g} ({evidence.cost})",
        "Decisions": evidence.decisions_digest,
        "Test instances": evidence.test_digest,
        "Evolution": evidence.evolution_run,
        "Evaluation": evidence.evaluation_run,
        "Hash": evidence.sha,
    } | {key.replace("_", " ").capitalize(): str(value) for key, value in more.items()}
    lines = [f"- **{key}**: {value}" for key, value in facts.items() if value]
    language = "json" if source.startswith("{") else "python"
    return "\n".join([f"## {name}", "", *lines, "", f"```{language}", source.rstrip(), "```", ""])


def _beside(evidence: Evidence) -> str:
    if evidence.champion_ratio is None:
        return ""
    low, high = evidence.champion_ci_low, evidence.champion_ci_high
    interval = "no interval" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return f"{evidence.champion_ratio:.3f} ({interval}; the champion's hash is {evidence.champion_sha})"

"""How an evaluated rule gets into the registry, whichever flow evaluated it."""

from __future__ import annotations

from typing import Any, Final

from bife_core.config import PipelineConfig
from bife_core.evaluation.metrics import Precheck
from bife_core.stats import fewest_instances
from flows.reporting.events import CHALLENGER_REGISTERED, announce, tried_again
from flows.reporting.observer import noted, observer
from flows.results import EvaluationResult
from tasks.registry import (
    CHALLENGER,
    CHAMPION,
    Evidence,
    Origin,
    RegisteredRule,
    by_alias,
    by_hash,
    gate,
    register,
    registered_name,
)
from tasks.tracking.store import TrackingError

_TEST_SHARE: Final = 3
"""Of how many models of a folder one is held out for the test."""


def register_rule(config: PipelineConfig, evaluated: EvaluationResult, origin: Origin) -> RegisteredRule:
    """Register a rule as challenger; who decides whether it becomes champion is a setting.

    A rule that a person refused stays refused until it is measured on other instances.

    Raises
    ------
    TrackingError
        If the registry cannot be reached, or MLflow does not have the evaluation yet.
    """
    if not evaluated.run.run_id:
        raise TrackingError(
            "A registered rule points to its evaluation in MLflow, which does not have it yet."
        )
    observer().stage("registration", "the best rule")
    known = evidence(config, evaluated, origin)
    name = registered_name(config.instances)
    news = tried_again() or not _registered_before(name, known)
    registered = register(name, evaluated.source, known, by_gate=config.approval == "gate")
    if news and CHALLENGER in registered.aliases and CHAMPION not in registered.aliases:
        payload = {"name": registered.name, "approval": config.approval}
        announce(CHALLENGER_REGISTERED, registered.name, payload)
    noted(refusal_notes(registered))
    return registered


def _registered_before(name: str, known: Evidence) -> bool:
    """Whether a rule is registered with this very evidence, so that nobody need decide on it once more."""
    same = {"evolution_key": known.evolution_key, "evaluation_run": known.evaluation_run}
    return any(same.items() <= version.tags.items() for version in by_hash(name, known.sha))


def refusal_notes(registered: RegisteredRule) -> tuple[str, ...]:
    """Return what a reader must know who finds a registered rule without an alias; nothing for any other."""
    refused = registered.refusal
    if registered.aliases:
        return ()
    if not refused:
        return (
            f"Version {registered.version} of {registered.name} is no challenger: it does not pass the gate, and the "
            "present challenger does.",
        )
    return (
        f"Version {registered.version} of {registered.name} is no challenger: as measured on the same instances, "
        f"{refused}. To weigh it again, give it the alias {CHALLENGER} in MLflow and run the promotion.",
    )


def no_champion(config: PipelineConfig, registered: RegisteredRule, expected: Precheck | None = None) -> str:
    """Return why a registered rule is not champion, and for a user's own instances what could help.

    Empty where it is champion, and where the numbers speak for it and a person decides.

    Parameters
    ----------
    expected : Precheck, optional
        What is known of RPB's share in branching on these models.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    known = registered.evidence
    if known is None or CHAMPION in registered.aliases or registered.refusal:
        return ""
    decision = gate(known, by_alias(registered.name, CHAMPION))
    if decision.promote:
        return ""
    sentence = f"The rule is not champion. {decision.reason}"
    if config.instances.folder is None:
        return sentence
    fewest = fewest_instances(known.confidence)
    few = known.instances < fewest
    more = (
        f"at least {fewest} held out (a folder of {_TEST_SHARE * fewest})"
        if few
        else "as the interval is wide"
    )
    help_ = ["models of one kind, from one application and formulation", f"more of them, {more}"]
    if expected is not None and expected.little and expected.share is not None:
        help_.append(
            f"models on which branching matters (RPB spends {100 * expected.share:.2g} % of its time in it here)"
        )
    return f"{sentence} What could help: {'; '.join(help_)}."


def evidence(config: PipelineConfig, evaluated: EvaluationResult, origin: Origin) -> Evidence:
    """Return what is known of a rule after its evaluation."""
    summary = evaluated.summary
    lead = summary.judged
    champion = by_alias(registered_name(config.instances), CHAMPION)
    champion_sha = "" if champion is None else champion.sha
    label = summary.label_of(champion_sha)
    beside = summary.versus(label) if label is not None and label != summary.rule else None
    measured_beside: dict[str, Any] = {}
    if beside is not None:
        measured_beside = {
            "champion_sha": champion_sha,
            "champion_ratio": beside.ratio,
            "champion_ci_low": beside.ci_low,
            "champion_ci_high": beside.ci_high,
            "champion_p_value": beside.p_value,
            "champion_obstacle": beside.obstacle,
        }
    return Evidence(
        **origin.model_dump(),
        sha=evaluated.sha,
        benchmark=config.instances.label,
        size=config.instances.size,
        metric=lead.metric,
        ratio=lead.ratio,
        ci_low=lead.ci_low,
        ci_high=lead.ci_high,
        p_value=lead.p_adjusted,
        confidence=lead.confidence,
        time_ratio=summary.by("time").ratio,
        baseline=summary.baseline,
        instances=lead.instances,
        seeds=len(summary.protocol.seeds),
        solves=lead.solves,
        missing=lead.missing,
        unfinished=lead.solves - lead.missing - lead.proofs,
        proofs=lead.proofs,
        baseline_proofs=lead.baseline_proofs,
        mismatches=len(summary.mismatches),
        use=summary.use,
        evaluation_run=evaluated.run.run_id,
        test_digest=evaluated.test_digest,
        likeness="" if evaluated.models is None else evaluated.models.model_dump_json(),
        **measured_beside,
    )


def present_champion(config: PipelineConfig) -> tuple[str, ...]:
    """Return the reference of the champion a rule is to be measured beside, if there is one.

    Only what was measured on the same instances at the same time tells which of the two is faster. Without a
    registry to ask there is none, and a rule measured without it is not promoted later by mistake.
    """
    try:
        champion = by_alias(registered_name(config.instances), CHAMPION)
    except TrackingError as error:
        observer().note(f"The rule is not measured beside the champion. {error}")
        return ()
    return () if champion is None else (champion.reference,)

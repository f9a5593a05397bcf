"""How an evaluated rule gets into the registry, whichever stage evaluated it."""

from __future__ import annotations

import json
from typing import Any, Final

from bife_core.base.errors import RegistryError
from bife_core.instances.formulation import likeness_of
from bife_core.measure.evaluation.comparison import Ratio
from bife_core.registry.choosing import registered_name
from bife_core.registry.evidence import CHALLENGER, CHAMPION, Evidence, RegisteredRule, gate
from bife_core.run.config import PipelineConfig
from bife_core.run.stages.results import EvaluationResult
from bife_core.run.stages.runtime import Runtime

CHALLENGER_REGISTERED: Final = "bife.challenger.registered"
"""Event; its payload: `name` of the registered model and `approval`, who is to decide."""


def register_rule(
    config: PipelineConfig, runtime: Runtime, evaluated: EvaluationResult
) -> tuple[RegisteredRule | None, tuple[str, ...]]:
    """Register a rule as challenger and return it with notes; None while the registry cannot be reached."""
    runtime.observer.stage("registration", "the best rule")
    try:
        measured = runtime.registry.located(evidence(config, runtime, evaluated))
        same = {"search_key": measured.search_key, "evaluation_run": measured.evaluation_run}.items()
        name = registered_name(config.instances, config.solver)
        former = runtime.registry.versions(name, measured.sha)
        recorded = any(same <= version.tags.items() for version in former)
        by_gate = config.approval == "gate"
        registered = runtime.conductor.step(
            "register",
            f"register a rule as {name}",
            lambda: runtime.registry.register(name, evaluated.method.text, measured, by_gate),
        )
    except RegistryError as error:
        # All that was measured is on disk, so an unreachable registry must not take the result away.
        return None, runtime.noted(
            (f"The rule is not registered yet; the same command registers it. {error}",)
        )
    news = runtime.conductor.present.tried_again or not recorded
    if news and CHALLENGER in registered.aliases and CHAMPION not in registered.aliases:
        payload = {"name": registered.name, "approval": config.approval}
        runtime.conductor.announce(CHALLENGER_REGISTERED, registered.name, payload)
    if registered.aliases:
        return registered, ()
    reason = "it does not pass the gate, and the present challenger does."
    if registered.refusal:
        reason = (
            f"as measured on the same instances, {registered.refusal}. To decide on it again, give it the "
            f"alias {CHALLENGER} in {runtime.tracker.name} and run the promotion."
        )
    return registered, runtime.noted(
        (f"Version {registered.version} of {registered.name} is no challenger: {reason}",)
    )


def no_champion(registered: RegisteredRule, runtime: Runtime) -> str:
    """Return why the gate does not make a registered rule champion; empty if it does or a person refused the rule."""
    measured = registered.evidence
    if measured is None or CHAMPION in registered.aliases or registered.refusal:
        return ""
    decision = gate(measured, runtime.registry.find(registered.name, CHAMPION))
    # The sentence of the comparison, which comes before, has the numbers.
    return "" if decision.promote else f"The rule is not champion. {decision.reason}."


def evidence(config: PipelineConfig, runtime: Runtime, evaluated: EvaluationResult) -> Evidence:
    """Return what is known of a rule after its evaluation."""
    summary = evaluated.summary
    lead = summary.judged
    champion = runtime.registry.champion_of(config.instances, config.solver)
    champion_sha = "" if champion is None else champion.sha
    label = summary.label_of(champion_sha)
    champion_facts: dict[str, Any] = {}
    if label not in (None, summary.rule) and (beside := summary.versus(label)) is not None:
        champion_facts = beside.model_dump(include={"ratio", "ci_low", "ci_high", "p_value"})
        champion_facts |= {"sha": champion_sha, "obstacle": beside.obstacle or beside.doubt}
    return Evidence(
        **evaluated.origin.model_dump(),
        **lead.model_dump(include=set(Ratio.model_fields)),
        **{f"champion_{name}": value for name, value in champion_facts.items()},
        sha=evaluated.method.identity,
        brought="" if evaluated.ablation is None else evaluated.ablation.factors,
        benchmark=config.instances.label,
        size="" if config.instances.folder else config.instances.size,  # of a family alone
        p_value=lead.p_adjusted,
        time_ratio=summary.by("time").ratio,
        baseline=summary.baseline,
        seeds=len(summary.protocol.seeds),
        unfinished=lead.solves - lead.missing - lead.proofs,
        mismatches=len(summary.mismatches),
        use=summary.use,
        evaluation_run=evaluated.directory.name,
        test_digest=evaluated.held_out.content,
        likeness=likeness_of([instance.path for instance in evaluated.held_out.instances]).model_dump_json(),
        solver=summary.solver.known_as,
        solver_digest=summary.solver.digest,
        solver_params=json.dumps(summary.solver.effective),
    )


def present_champion(config: PipelineConfig, runtime: Runtime) -> tuple[str, ...]:
    """Return the reference of the champion, if there is one, that a rule is to be measured beside.

    The gate does not promote a rule that was measured without it, since the registry could not be reached.
    """
    try:
        champion = runtime.registry.champion_of(config.instances, config.solver)
    except RegistryError as error:
        runtime.observer.note(f"The rule is not measured beside the champion. {error}")
        return ()
    return () if champion is None else (champion.reference,)

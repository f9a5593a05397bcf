"""A rule becomes a version in the registry, with its evidence, and perhaps challenger and champion."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec
from prefect import task

from bife_core.config import InstancesConfig
from bife_core.errors import BifeError
from bife_core.evaluation.conclusion import p_text
from bife_core.evaluation.metrics import METRICS
from bife_core.features import N_FEATURES
from bife_core.methods.base import Method
from bife_core.methods.loading import method_of
from bife_core.methods.rule import RuleMethod
from bife_core.rules import complexity
from bife_core.scip.solving import versions
from bife_core.values import Value
from bife_core.wording import counted, interval_text
from tasks.registry.evidence import APPROVED, Evidence, GateDecision, Word, gate, refusal
from tasks.registry.versions import (
    CHALLENGER,
    CHAMPION,
    RegisteredRule,
    by_alias,
    by_hash,
    registered_name,
    registered_rule,
    registry,
)
from tasks.states import TRIED_AGAIN
from tasks.tracking import store

GATE: Final = "the statistical gate"
"""Who decides where no person does."""

_REPLACED: Final = "replaced_version"


class PromotionError(BifeError):
    """There is nothing to promote or to roll back."""


class Case(Value):
    """A challenger before the gate.

    Attributes
    ----------
    card : str
        The challenger's description in Markdown.
    champion : int or None
        Version that is champion now.
    page : str
        Address of the version in MLflow.
    refused : str
        What a person said against the same rule before, as a sentence, or nothing.
    """

    name: str
    version: int
    champion: int | None
    decision: GateDecision
    card: str
    page: str
    refused: str = ""


class ChampionChange(Value):
    """What became of an alias: who decided it, and why."""

    name: str
    version: int | None
    champion: bool
    by: str
    reason: str


def promote_by_gate(registered: RegisteredRule, evidence: Evidence) -> RegisteredRule:
    """Give a version the alias ``champion`` if `gate` says so, and return it with its present aliases.

    The gate does not overrule a person who refused the rule.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    name, number = registered.name, registered.version
    with registry(held=name) as client:
        champion = by_alias(name, CHAMPION)
        if _number(champion) != number and registered.refusal is None:
            decision = gate_decision(evidence, champion)
            if decision.promote:
                _set_champion(name, number, champion, GATE, decision.reason)
        return registered_rule(client.get_model_version(name, str(number)))


@task(name="weigh the challenger", task_run_name="weigh the challenger of {name}", **TRIED_AGAIN)
def open_case(name: str) -> Case:
    """Return the case of a registered model's challenger.

    Raises
    ------
    PromotionError
        If the model has no challenger, or its challenger is champion already.
    TrackingError
        If the registry cannot be reached.
    """
    challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    if challenger is None:
        raise PromotionError(f"{name} has no challenger; `bife rules list` shows what is registered.")
    if _number(champion) == challenger.version:
        raise PromotionError(f"Version {challenger.version} of {name}, its challenger, is champion already.")
    evidence = challenger.evidence
    if evidence is None:
        raise PromotionError(
            f"Version {challenger.version} of {name} carries no evidence; evaluate it first."
        )
    before = refusal(known.tags for known in by_hash(name, evidence.sha))
    return Case(
        name=name,
        version=challenger.version,
        champion=_number(champion),
        decision=gate_decision(evidence, champion),
        card=challenger.card,
        page=store.page(f"models/{name}/versions/{challenger.version}"),
        refused="" if before is None else before.sentence,
    )


@task(name="set the champion", task_run_name="make version {version} of {name} champion")
def promote(name: str, version: int, by: str, reason: str) -> ChampionChange:
    """Make a version champion, and record who decided it and why.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    with registry(held=name):
        champion = by_alias(name, CHAMPION)
        if _number(champion) != version:
            _set_champion(name, version, champion, by, reason)
    return ChampionChange(name=name, version=version, champion=True, by=by, reason=reason)


@task(name="refuse the challenger", task_run_name="refuse version {version} of {name}")
def refuse(name: str, version: int, by: str, reason: str) -> ChampionChange:
    """Take the alias ``challenger`` from a version, and record who decided it and why.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    with registry(held=name):
        _put_aside(name, version, "rejected", by, reason)
    return ChampionChange(name=name, version=version, champion=False, by=by, reason=reason)


@task(name="roll back the champion", task_run_name="roll {name} back")
def roll_back(name: str, by: str, reason: str) -> ChampionChange:
    """Give the alias ``champion`` back to the version that held it before.

    The version that loses it is a challenger no more.

    Raises
    ------
    PromotionError
        If there is no champion, or none before it.
    TrackingError
        If the registry cannot be reached.
    """
    with registry(held=name) as client:
        champion = by_alias(name, CHAMPION)
        if champion is None:
            raise PromotionError(
                f"{name} has no champion to roll back; `bife rules list` shows what there is."
            )
        before = champion.tags.get(_REPLACED)
        if not before:
            raise PromotionError(f"Version {champion.version} of {name} replaced no other champion.")
        client.set_registered_model_alias(name, CHAMPION, before)
        _put_aside(name, champion.version, "rolled_back", by, reason)
    return ChampionChange(name=name, version=int(before), champion=True, by=by, reason=reason)


def gate_decision(evidence: Evidence, champion: RegisteredRule | None) -> GateDecision:
    """Return what `gate` says of a challenger beside the present champion, if there is one."""
    return gate(evidence, None) if champion is None else gate(evidence, champion.sha, champion.metric)


def _number(version: RegisteredRule | None) -> int | None:
    return None if version is None else version.version


def _set_champion(name: str, number: int, before: RegisteredRule | None, by: str, reason: str) -> None:
    client = store.client()
    # First the reason, then the alias: a champion without a reason is the worse state to be found in.
    _note(name, number, APPROVED, by, reason)
    replaced = "" if before is None else str(before.version)
    client.set_model_version_tag(name, str(number), _REPLACED, replaced)
    client.set_registered_model_alias(name, CHAMPION, str(number))


def _put_aside(name: str, number: int, word: Word, by: str, reason: str) -> None:
    """Record why a version is out of the running, on which instances it was measured, and end its challenge."""
    client = store.client()
    _note(name, number, word, by, reason)
    measured = client.get_model_version(name, str(number)).tags.get("test_digest", "")
    client.set_model_version_tag(name, str(number), f"{word}_test_digest", measured)
    if _number(by_alias(name, CHALLENGER)) == number:
        client.delete_registered_model_alias(name, CHALLENGER)


def _note(name: str, number: int, what: str, by: str, reason: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for key, value in (("by", by), ("reason", reason), ("at", now)):
        store.client().set_model_version_tag(name, str(number), f"{what}_{key}", value)


@task(name="register", task_run_name="register a rule for {evidence.benchmark}", **TRIED_AGAIN)
def register(
    instances: InstancesConfig, source: str, evidence: Evidence, by_gate: bool = True
) -> RegisteredRule:
    """Register a rule as ``challenger``, and as ``champion`` if it earns that.

    Parameters
    ----------
    source : str
        Text of the rule or scorer.
    by_gate : bool
        Whether the statistical gate alone decides on ``champion``, now; otherwise that is left to a promotion.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    registered = register_rule(registered_name(instances), source, evidence)
    return promote_by_gate(registered, evidence) if by_gate else registered


def register_rule(name: str, source: str, evidence: Evidence) -> RegisteredRule:
    """Register a rule or scorer and give it the alias ``challenger``.

    The same rule of the same evolution is registered only once for each metric it is judged by.

    A rule that a person refused as measured on the same instances is registered without the alias, and so is one that
    the gate lets not pass while it lets the present challenger pass: a person may be about to decide on that.

    Parameters
    ----------
    name : str
        See `registered_name`.
    source : str
        Text of the method, see `Method.text`.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    method = method_of(source)
    tags = {key: str(value) for key, value in evidence.model_dump().items() if value is not None}
    tags["file"] = method.file_name
    with registry(held=name) as client:
        known = by_hash(name, evidence.sha)
        refused = refusal((version.tags for version in known), evidence.test_digest)
        if refused is not None:
            tags |= refused.tags
        # By another metric it is another entry: what a champion was judged by never changes under it.
        same = next(
            (
                version
                for version in known
                if version.tags.get("evolution_key", "") == evidence.evolution_key
                and version.metric == evidence.metric
            ),
            None,
        )
        number = str(same.version) if same is not None else _create(client, name, method, evidence, tags)
        if same is not None:
            # What the new evidence is silent on is known no more.
            for key in (same.tags.keys() & Evidence.model_fields.keys()) - tags.keys():
                client.delete_model_version_tag(name, number, key)
            for key, value in tags.items():
                if same.tags.get(key) != value:
                    client.set_model_version_tag(name, number, key, value)
        client.update_model_version(name, number, model_card(name, method, evidence))
        if refused is None and not _outdone(name, int(number), evidence):
            client.set_registered_model_alias(name, CHALLENGER, number)
        return registered_rule(client.get_model_version(name, number))


def _outdone(name: str, number: int, evidence: Evidence) -> bool:
    """Whether the gate lets another version that is challenger now pass, and would not let this one."""
    challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    taken = {number} if champion is None else {number, champion.version}
    if challenger is None or challenger.version in taken or challenger.evidence is None:
        return False
    return (
        gate_decision(challenger.evidence, champion).promote and not gate_decision(evidence, champion).promote
    )


def model_name(name: str, evidence: Evidence) -> str:
    """Return what MLflow's list of models calls a rule: its benchmark and its sample, or its hash where it has none.

    Examples
    --------
    >>> evidence = Evidence.model_construct(lineage="g02-c03 by m2 from g01-c00", sha="0123456789abcdef")
    >>> model_name("bife-combinatorial_auction", evidence)
    'bife-combinatorial_auction-g02-c03'
    """
    return f"{name}-{evidence.lineage.partition(' ')[0] or evidence.sha[:8]}"


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: what it is, how good it was measured to be, where it is from."""
    size = complexity(method.source).to_dict() if isinstance(method, RuleMethod) else {}
    seeds = counted(evidence.seeds, "seed")
    words, by_time = METRICS[evidence.metric].words, evidence.metric == "time"
    judged = f"{words[0].upper()}{words[1:]}"
    within = interval_text(evidence.ci_low, evidence.ci_high, confidence=evidence.confidence)
    facts = {
        "Benchmark": f"{evidence.benchmark}, size {evidence.size}",
        f"{judged} relative to {evidence.baseline}": (
            f"{evidence.ratio:.3f} ({within}, {p_text(evidence.p_value)}; below 1 is "
            f"{'faster' if by_time else 'better'}; {evidence.instances} held-out instances, {seeds} each)"
        ),
        f"Judged by {METRICS[evidence.metric].words}": (
            ""
            if by_time or evidence.time_ratio is None
            else f"CPU time relative to {evidence.baseline} is {evidence.time_ratio:.3f}"
        ),
        "Solves": (
            f"{evidence.solves}, {evidence.proofs} with a proof ({evidence.baseline}: {evidence.baseline_proofs}), "
            f"{evidence.unfinished} ended at a limit, {evidence.missing} missing"
        ),
        f"{judged} relative to the champion before": _beside(evidence),
        "F_LF": "" if evidence.f_lf is None else f"{evidence.f_lf:.4f}",
        "F_HF": "" if evidence.f_hf is None else f"{evidence.f_hf:.4g} ({evidence.cost})",
        "Decisions": evidence.decisions_digest,
        "Test instances": evidence.test_digest,
        "Evolution": evidence.evolution_run,
        "Evaluation": evidence.evaluation_run,
        "Hash": evidence.sha,
        "Complexity": ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in size.items()),
        "Lineage": evidence.lineage,
    }
    lines = [f"- **{key}**: {value}" for key, value in facts.items() if value]
    language = "python" if isinstance(method, RuleMethod) else "json"
    return "\n".join([f"## {name}", "", *lines, "", f"```{language}", method.text.rstrip(), "```", ""])


def _beside(evidence: Evidence) -> str:
    if evidence.champion_ratio is None:
        return ""
    known = interval_text(evidence.champion_ci_low, evidence.champion_ci_high)
    return f"{evidence.champion_ratio:.3f} ({known}; the champion's hash is {evidence.champion_sha})"


def _create(client: MlflowClient, name: str, method: Method, evidence: Evidence, tags: dict[str, str]) -> str:
    """Make a version that holds a method, and return its number."""
    if not client.search_registered_models(f"name = '{name}'"):
        about = f"Branching rules for {evidence.benchmark}: features in, one score out."
        with store.made_by_another():
            client.create_registered_model(name, description=about)
    number = np.dtype(np.float64)
    own = versions()["bife"]
    with TemporaryDirectory() as directory:
        path = Path(directory) / method.file_name
        path.write_text(method.text, encoding="utf-8")
        with mlflow.start_run(run_id=evidence.evaluation_run), _quiet():
            info = mlflow.pyfunc.log_model(
                name=model_name(name, evidence),
                python_model=str(Path(__file__).with_name("rule_model.py")),
                artifacts={"rule": str(path)},
                model_config={"sha": evidence.sha},
                signature=ModelSignature(
                    inputs=Schema([TensorSpec(number, (-1, N_FEATURES))]),
                    outputs=Schema([TensorSpec(number, (-1,))]),
                ),
                input_example=np.random.default_rng(0).uniform(0.0, 1.0, size=(3, N_FEATURES)),
                pip_requirements=[
                    "bife" if own == "source" else f"bife=={own}",
                    f"mlflow=={mlflow.__version__}",
                ],
            )
    made = client.create_model_version(
        name,
        source=info.model_uri,
        run_id=evidence.evaluation_run,
        tags=tags,
        model_id=info.model_id,
    )
    return str(made.version)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MLflow's advice on models in general from the person who runs an evolution."""
    logger = logging.getLogger("mlflow")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=UserWarning)
            yield
    finally:
        logger.setLevel(before)

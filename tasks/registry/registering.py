"""A rule becomes a version in the registry, with its evidence, and perhaps challenger and champion."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec
from prefect import task

from bife_core.config import InstancesConfig
from bife_core.evaluation.conclusion import p_text
from bife_core.evaluation.metrics import METRICS
from bife_core.features import N_FEATURES
from bife_core.methods.base import Method
from bife_core.methods.loading import method_of
from bife_core.methods.rule import RuleMethod
from bife_core.rules import complexity
from bife_core.scip.solving import versions
from bife_core.wording import counted, interval_text
from tasks.policy import TRIED_AGAIN
from tasks.registry.champions import crown, weighed
from tasks.registry.evidence import Evidence
from tasks.registry.refusals import refusal
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
from tasks.tracking import store


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
    return crown(registered, evidence) if by_gate else registered


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
    return weighed(challenger.evidence, champion).promote and not weighed(evidence, champion).promote


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

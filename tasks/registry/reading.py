"""What the registry holds: versions by alias, hash and reference, and the champion for an instance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import mlflow
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from pydantic import ValidationError
from pyscipopt import Model

from bife_core.benchmarks.formulation import Likeness, shape
from bife_core.config import InstancesConfig
from bife_core.errors import RuleError
from bife_core.evaluation.comparing import known_as
from bife_core.evaluation.metrics import METRICS
from bife_core.methods.base import RPB
from bife_core.methods.loading import MODEL_REFERENCE, RUN_FILES, RUN_REFERENCE, version_of
from bife_core.scip.solver import SolverConfig
from bife_core.values import digest_of
from tasks.registry.evidence import CHALLENGER, CHAMPION, REPLACED, Evidence, RegisteredRule
from tasks.stores import home_store
from tasks.tracking import store
from tasks.tracking.store import TrackingError

_PREFIX: Final = "bife-"
_LONGEST: Final = 200
"""Characters of a registered name: MLflow's database takes 256, and adds some for a logged model."""


def registered_name(instances: InstancesConfig, solver: SolverConfig) -> str:
    """Return the name rules of a benchmark are registered under.

    Sizes other than the test size have names of their own, and so have settings of SCIP other than its defaults.
    """
    label = instances.label
    if instances.folder is None and instances.size != "test":
        label = f"{label}-{instances.size}"
    # Two dashes only before settings: no folder has the name of another one under these. MLflow allows no dot.
    label = re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9_-]+", "_", label).strip("_"))
    name = _PREFIX + (label or "rules")
    name += "" if solver.label == "default" else f"--{solver.label}"
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}_{digest_of(name)[:8]}"


@contextmanager
def registry(held: str | None = None) -> Iterator[MlflowClient]:
    """Yield MLflow's client, which no other process uses to change the name `held` meanwhile."""
    client = store.client()
    try:
        with home_store().claim(f"registry-{held}") if held is not None else nullcontext():
            yield client
    except store.TRACKING_TROUBLE as error:
        raise TrackingError(
            f"MLflow's registry at {mlflow.get_registry_uri()} cannot be used ({store.first_line(error)}); "
            "check MLFLOW_TRACKING_URI and MLFLOW_REGISTRY_URI."
        ) from error


def by_alias(name: str, alias: str) -> RegisteredRule | None:
    """Return the version that holds an alias, or None."""
    try:
        return registered(f"models:/{name}@{alias}")
    except RuleError:
        return None


def champion_of(instances: InstancesConfig, solver: SolverConfig) -> RegisteredRule | None:
    """Return the champion that was measured on such instances under the very same settings of SCIP, or None."""
    champion = by_alias(registered_name(instances, solver), CHAMPION)
    return champion if champion is not None and champion.solver_digest == solver.digest else None


def by_hash(name: str, sha: str) -> list[RegisteredRule]:
    """Return all versions that hold the rule of that hash, newest first; MLflow leaves their aliases out."""
    wanted = f"name = '{name}' and tags.sha = '{sha}'"
    with registry() as client:
        return [_rule(version, version.aliases) for version in client.search_model_versions(wanted)]


def registered(reference: str) -> RegisteredRule:
    """Return the version that ``models:/<name>@<alias>`` or ``models:/<name>/<version>`` is, or raise `RuleError`."""
    match = MODEL_REFERENCE.fullmatch(reference)
    if match is None:
        raise RuleError(
            f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
            "models:/<name>/<version>."
        )
    with registry() as client:
        try:
            version = version_of(client, match)
            return _rule(version, version.aliases)
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
    raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")


def list_rules() -> list[RegisteredRule]:
    """Return all versions of all registered rules, newest first within a name."""
    ours = f"name LIKE '{_PREFIX}%'"
    with registry():
        # A search for versions leaves their aliases out; the models have them.
        aliases = {one.name: one.aliases for one in mlflow.search_registered_models(filter_string=ours)}
        rules = [
            _rule(
                one, [alias for alias, of in aliases.get(one.name, {}).items() if str(of) == str(one.version)]
            )
            for one in mlflow.search_model_versions(filter_string=ours)
        ]
    return sorted(rules, key=lambda rule: (rule.name, -rule.version))


def _rule(version: ModelVersion, aliases: Iterable[str]) -> RegisteredRule:
    tags, evidence = dict(version.tags), None
    with suppress(ValidationError):
        evidence = Evidence.model_validate({k: v for k, v in tags.items() if k in Evidence.model_fields})
    return RegisteredRule(
        name=version.name,
        version=int(version.version),  # some of MLflow's stores give it as text
        aliases=tuple(sorted(aliases)),
        tags=tags,
        card=version.description or "",
        replaced=tags.get(REPLACED, ""),
        evidence=evidence,
        **{name: tags[name] for name in ("sha", "solver", "solver_digest") if tags.get(name)},
    )


def sample_name(reference: str) -> str | None:
    """Return the sample's id, such as ``g02-c03``, of the rule of a run; None for other references."""
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = store.run_data(match["run"])
    return data.tags.get("best_sample") or data.tags.get("sample_id") or data.params.get("rule")


def other_settings(rule: RegisteredRule, solver: SolverConfig, name: str = "") -> str:
    """Return that a rule, called `name`, was measured under other settings than `solver`; empty if it was not."""
    if rule.solver_digest == solver.digest:
        return ""
    return f"{name or rule.reference} was measured under {rule.solver}, not under {solver.known_as}"


def rule_for(model: Model, solver: SolverConfig) -> tuple[str, str]:
    """Return the reference of a rule for an instance, given as it was read, under settings of SCIP, and why this one.

    It is the champion that was measured on instances like this one under the very same settings, the best if several
    were, or else RPB: a rule that nobody measured on such instances can be slower. The reason then names challengers
    that were measured on such instances. A registry that cannot be reached holds no champions; the reason says so.
    """
    try:
        rules = list_rules()
    except TrackingError as error:
        return RPB, f"Champions are not known. {error}"
    if not rules:
        return RPB, "There is no champion yet."
    found = shape(model)
    fitting, elsewhere, others = _fitting(rules, CHAMPION, found, solver)
    if fitting:
        *_, reference, measured = min(fitting)
        return reference, f"It was measured on instances like this one under {solver.known_as}: {measured}."
    reason = "There is no champion yet."
    if elsewhere or others:
        differing = f"No champion was made for instances like this one ({'; '.join(others)})."
        reason = f"{'; '.join(elsewhere)}." if elsewhere else differing
    for *_, reference, measured in sorted(_fitting(rules, CHALLENGER, found, solver)[0]):
        reason += (
            f" {reference} was measured on instances like this one too, {measured}, and is not champion; "
            f"`--rule {reference}` branches by it."
        )
    return RPB, reason


def _fitting(
    rules: Iterable[RegisteredRule], alias: str, found: dict[str, float], solver: SolverConfig
) -> tuple[list[tuple[bool, float, str, str]], list[str], list[str]]:
    """Return the holders of an alias that were measured on such instances under the same settings, to be sorted.

    Beside them it returns which differ in the settings, and which in the instances.
    """
    fitting, elsewhere, others = list[tuple[bool, float, str, str]](), list[str](), list[str]()
    for rule in rules:
        if alias not in rule.aliases:
            continue
        reference, facts = f"models:/{rule.name}@{alias}", rule.evidence
        difference = "it does not say what instances it was made for"
        if facts is not None and facts.likeness:
            difference = Likeness.model_validate_json(facts.likeness).difference(found) or ""
        if facts is None or difference:
            others.append(f"{rule.name}: {difference}")
        elif differing := other_settings(rule, solver, reference):
            elsewhere.append(differing)
        else:
            measured = f"{facts.ratio:.3f} of {known_as(facts.baseline)}'s {METRICS[facts.metric].words}"
            # Ratios of different metrics do not compare; those of time come first.
            fitting.append((facts.metric != "time", facts.ratio, reference, measured))
    return fitting, elsewhere, others

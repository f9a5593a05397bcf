"""Versions of registered rules: MLflow models without pickle, found by name, alias or number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeVar, cast, get_args

import mlflow
from mlflow import MlflowClient
from mlflow.entities import RunData
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.store.entities import PagedList
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from pydantic import Field
from pyscipopt import Model

from bife_core.benchmarks.formulation import Likeness, shape
from bife_core.config import InstancesConfig
from bife_core.errors import BifeError, RuleError
from bife_core.evaluation.conclusion import known_as
from bife_core.evaluation.metrics import METRICS
from bife_core.methods.loading import MODEL_REFERENCE, RUN_FILES, RUN_REFERENCE
from bife_core.scip.cost import Cost
from bife_core.values import Value
from tasks.registry.evidence import Evidence, Origin, Refusal, refusal
from tasks.stores import home_store
from tasks.tracking import store
from tasks.tracking.store import TrackingError

T = TypeVar("T")

CHALLENGER: Final = "challenger"
CHAMPION: Final = "champion"

_PREFIX: Final = "bife-"


class RegisteredRule(Value):
    """One version in the registry.

    Attributes
    ----------
    card : str
        Its description in Markdown.
    """

    name: str
    version: int
    aliases: tuple[str, ...]
    tags: dict[str, str]
    card: str = Field("", repr=False)

    @property
    def reference(self) -> str:
        """What `load_rule` takes."""
        return f"models:/{self.name}/{self.version}"

    @property
    def sha(self) -> str:
        """Hash of the rule; empty for a version that was registered by other means."""
        return self.tags.get("sha", "")

    @property
    def metric(self) -> Cost:
        """What it was judged by; CPU time for a version that was registered by other means."""
        known = get_args(Cost)
        found = self.tags.get("metric", "time")
        return cast("Cost", found) if found in known else "time"

    @property
    def refusal(self) -> Refusal | None:
        """The word of a person that keeps this version from being challenger, or None."""
        return refusal([self.tags], self.tags.get("test_digest"))

    @property
    def evidence(self) -> Evidence | None:
        """What the tags say; None for a version that was registered by other means, or before tags said so much."""
        needed = {name for name, field in Evidence.model_fields.items() if field.is_required()}
        if not needed <= self.tags.keys():
            return None
        return Evidence.model_validate({k: v for k, v in self.tags.items() if k in Evidence.model_fields})


def registered_name(instances: InstancesConfig) -> str:
    """Return the name rules of a benchmark are registered under.

    Sizes other than a family's test size get a name of their own: a champion on toys is no champion.

    Examples
    --------
    >>> registered_name(InstancesConfig()), registered_name(InstancesConfig(size="tiny"))
    ('bife-combinatorial_auction', 'bife-combinatorial_auction-tiny')
    """
    label = instances.label
    if instances.folder is None and instances.size != "test":
        label = f"{label}-{instances.size}"
    return _PREFIX + (re.sub(r"[^A-Za-z0-9_-]+", "_", label).strip("_") or "rules")


@contextmanager
def registry(held: str | None = None) -> Iterator[MlflowClient]:
    """Yield MLflow's client; what the registry cannot do inside becomes a `TrackingError`.

    Parameters
    ----------
    held : str, optional
        Name no other process may change anything of meanwhile.
    """
    client = store.client()
    try:
        with ExitStack() as locks:
            if held is not None:
                locks.enter_context(home_store().claim(f"registry-{held}"))
            yield client
    except store.TRACKING_TROUBLE as error:
        raise store.TrackingError(
            f"MLflow's registry at {mlflow.get_registry_uri()} cannot be used ({store.first_line(error)}); "
            "check MLFLOW_TRACKING_URI and MLFLOW_REGISTRY_URI."
        ) from error


def by_alias(name: str, alias: str) -> RegisteredRule | None:
    """Return the version that holds an alias, or None.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    return _if_there_is_one(lambda client: client.get_model_version_by_alias(name, alias))


def by_hash(name: str, sha: str) -> list[RegisteredRule]:
    """Return all versions that hold the rule of that hash, newest first; MLflow leaves their aliases out.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    with registry() as client:
        found = client.search_model_versions(f"name = '{name}' and tags.sha = '{sha}'")
        return [registered_rule(version) for version in found]


def registered(reference: str) -> RegisteredRule:
    """Return the version a reference ``models:/<name>@<alias>`` or ``models:/<name>/<version>`` means.

    Raises
    ------
    RuleError
        If there is no such version.
    TrackingError
        If the registry cannot be reached.
    """
    match = MODEL_REFERENCE.fullmatch(reference)
    if match is None:
        raise RuleError(
            f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
            "models:/<name>/<version>."
        )
    name, alias, number = match["name"], match["alias"], match["version"]
    found = _if_there_is_one(
        lambda client: (
            client.get_model_version_by_alias(name, alias)
            if alias
            else client.get_model_version(name, number)
        )
    )
    if found is None:
        raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")
    return found


def list_rules() -> list[RegisteredRule]:
    """Return all versions of all registered rules, newest first within a name.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    if store.not_made_yet():
        return []
    with registry() as client:
        # A search for versions leaves their aliases out; the models have them.
        held: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for model in _all(client.search_registered_models):
            for alias, number in model.aliases.items():
                held[model.name, int(number)].append(alias)
        found = [
            registered_rule(version, held[version.name, int(version.version)])
            for version in _all(client.search_model_versions)
        ]
    return sorted(found, key=lambda rule: (rule.name, -rule.version))


def _all(search: Callable[..., PagedList[T]]) -> Iterator[T]:
    """Yield all that a search of MLflow's finds under our names."""
    token: str | None = None
    while token != "":
        page = search(f"name LIKE '{_PREFIX}%'", max_results=500, page_token=token)
        yield from page
        token = page.token or ""


def registered_rule(version: ModelVersion, aliases: Sequence[str] | None = None) -> RegisteredRule:
    """Return what is known of a version of MLflow's; `aliases` stand in for its own, which a search leaves out."""
    return RegisteredRule(
        name=version.name,
        version=int(version.version),  # some of MLflow's stores give it as text
        aliases=tuple(sorted(version.aliases if aliases is None else aliases)),
        tags=dict(version.tags),
        card=version.description or "",
    )


def _if_there_is_one(find: Callable[[MlflowClient], ModelVersion]) -> RegisteredRule | None:
    """Tell "there is none" from all other trouble."""
    with registry() as client:
        try:
            return registered_rule(find(client))
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                return None
            raise


def sample_name(reference: str) -> str | None:
    """Return what a reader knows the rule of a run by: its sample's id, such as ``g02-c03``; None for other references.

    Raises
    ------
    BifeError
        If the run cannot be read.
    """
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = _data_of(match["run"])
    known = (data.tags.get("best_sample"), data.tags.get("sample_id"), data.params.get("rule"))
    return next(filter(None, known), None)


def origin_of(reference: str) -> Origin:
    """Return what MLflow knows of the evolution a reference ``runs:/RUN_ID`` names; nothing for any other.

    Raises
    ------
    BifeError
        If the run cannot be read.
    """
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return Origin()
    run_id = match["run"]
    data = _data_of(run_id)
    if data.tags.get("kind") != "evolution":
        return Origin()
    best = data.tags.get("best_sample", "")
    the_best = f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{run_id}' and tags.sample_id = '{best}'"
    with _asking_for(run_id):
        child = next(store.find_runs(store.EVOLUTION, the_best), None)
    by = ""
    if child is not None:
        parents = ", ".join(child.data.tags.get("parents", "").split())
        by = f" by {child.data.params.get('operator', '?')}" + (f" from {parents}" if parents else "")
    return Origin(
        evolution_key=data.tags.get("evolution_key", ""),
        evolution_run=run_id,
        f_lf=data.metrics.get("final_f_lf"),
        f_hf=data.metrics.get("final_f_hf"),
        cost=data.params.get("high.cost", ""),
        decisions_digest=data.params.get("decisions", ""),
        lineage=f"{best}{by}",
    )


def tag_of_run(run_id: str, tag: str) -> str:
    """Return a tag of a run, or nothing where the run has no such tag.

    Raises
    ------
    BifeError
        If there is no such run, or the store cannot be reached.
    """
    return str(_data_of(run_id).tags.get(tag, ""))


def _data_of(run_id: str) -> RunData:
    """Return parameters, metrics and tags of a run, or raise `BifeError` in a sentence."""
    with _asking_for(run_id):
        return store.client().get_run(run_id).data


@contextmanager
def _asking_for(run_id: str) -> Iterator[None]:
    """Say in a sentence why a run cannot be had."""
    try:
        store.client()
        yield
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise BifeError(f"MLflow at {store.tracking_uri()} holds no run {run_id}.") from error
        raise store.TrackingError(
            f"MLflow at {store.tracking_uri()} cannot be asked for run {run_id} ({store.first_line(error)})."
        ) from error


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

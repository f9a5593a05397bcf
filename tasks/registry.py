"""Registered rules: versions in MLflow's registry with their evidence, and which of them is champion and why.

A version is an MLflow model without pickle. `register` makes one, `gate` decides by its evidence whether it becomes
champion, and a person may promote, refuse or roll back. All functions raise `TrackingError` if MLflow does not answer.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.entities import RunData
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec
from prefect import task
from pydantic import Field
from pyscipopt import Model

from bife_core.benchmarks.formulation import Likeness, shape
from bife_core.config import InstancesConfig
from bife_core.errors import BifeError, RuleError
from bife_core.evaluation.comparing import finding, known_as, obstacle, p_text
from bife_core.evaluation.metrics import METRICS, judged_by
from bife_core.features import N_FEATURES
from bife_core.methods.base import RPB, Method
from bife_core.methods.loading import MODEL_REFERENCE, RUN_FILES, RUN_REFERENCE, method_of
from bife_core.methods.rule import RuleMethod
from bife_core.rules import complexity
from bife_core.scip.cost import Cost
from bife_core.scip.solving import versions
from bife_core.stats import fewest_instances
from bife_core.values import Value
from bife_core.wording import counted, interval_text
from tasks.states import TRIED_AGAIN
from tasks.stores import home_store
from tasks.tracking import store
from tasks.tracking.store import TrackingError

Word = Literal["rejected", "rolled_back"]

CHALLENGER: Final = "challenger"
CHAMPION: Final = "champion"
GATE: Final = "the statistical gate"
"""Who decides where no person does."""
GENERAL: Final = "general"
"""The reference rule for instances that no champion was made for."""

_PREFIX: Final = "bife-"
_REPLACED: Final = "replaced_version"
_VERBS: Final[Mapping[Word, str]] = {"rejected": "refused it", "rolled_back": "took it out of use"}


class PromotionError(BifeError):
    """There is nothing to promote or to roll back."""


class Origin(Value):
    """The search a rule came from; empty for a rule written by hand."""

    evolution_key: str = ""
    evolution_run: str = ""
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    decisions_digest: str = ""
    lineage: str = ""


class Evidence(Origin):
    """What is known of a rule when it is registered; each field becomes a tag of its version.

    Attributes
    ----------
    metric : str
        What the rule is judged by, see `bife_core.evaluation.metrics.judged_by`; rules compete that share it.
    ratio, ci_low, ci_high, p_value, confidence : float
        The rule's cost by that metric over the baseline's on held-out instances: geometric mean with its interval at
        that level, and the adjusted p-value of the exact test.
    time_ratio : float
        CPU time over the baseline's, whatever the rule is judged by.
    solves, missing, unfinished, proofs, baseline_proofs : int
        Solves of the rule; those of them that gave no result or a wrong one, and that ended at a limit; those that
        ended with a proof, and the baseline's that did.
    likeness : str
        JSON of the `bife_core.benchmarks.formulation.Likeness` of the held-out instances; empty where it is not known.
    use : int
        Which use of its test set the evaluation was; the confidence is that of the use.
    champion_ratio, champion_ci_low, champion_ci_high, champion_p_value : float
        Cost by that metric over the champion's in the same evaluation.
    champion_obstacle : str
        Why the rule cannot count as better than the champion whatever its ratio; empty if it can.
    """

    sha: str
    benchmark: str
    size: str
    metric: Cost = "time"
    ratio: float
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float
    confidence: float
    time_ratio: float | None = None
    baseline: str
    instances: int
    seeds: int
    solves: int
    missing: int = 0
    unfinished: int = 0
    proofs: int
    baseline_proofs: int
    mismatches: int = 0
    use: int = 0
    evaluation_run: str
    test_digest: str
    likeness: str = ""
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None
    champion_p_value: float | None = None
    champion_obstacle: str = ""


class GateDecision(Value):
    """Whether the evidence earns a rule the alias ``champion``, and why."""

    promote: bool
    reason: str


class Refusal(Value):
    """Who decided against a rule, when (ISO 8601, UTC), why, and on which test instances it had been measured."""

    word: Word
    by: str
    reason: str
    at: str
    test_digest: str

    @property
    def sentence(self) -> str:
        """What happened, for a reader who has the rule before them.

        Examples
        --------
        >>> Refusal(word="rejected", by="Ada", reason="too slow", at="2026-05-01T12:00:00+00:00",
        ...     test_digest="").sentence
        'Ada refused it on 2026-05-01 (too slow)'
        """
        return f"{self.by} {_VERBS[self.word]} on {self.at[:10]} ({self.reason})"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of a version that hold it."""
        return {f"{self.word}_{name}": value for name, value in self.model_dump(exclude={"word"}).items()}


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
        """Hash of the rule; empty for a version that was registered by other means, as are the following."""
        return self.tags.get("sha", "")

    @property
    def metric(self) -> Cost:
        """What it was judged by, CPU time by default."""
        return self.evidence.metric if self.evidence is not None else "time"

    @property
    def refusal(self) -> Refusal | None:
        """The decision of a person that keeps this version from being challenger, or None."""
        return refusal([self.tags], self.tags.get("test_digest"))

    @property
    def evidence(self) -> Evidence | None:
        """What the tags say; None for a version that was registered by other means, or before tags said so much."""
        needed = {name for name, known in Evidence.model_fields.items() if known.is_required()}
        if not needed <= self.tags.keys():
            return None
        return Evidence.model_validate({k: v for k, v in self.tags.items() if k in Evidence.model_fields})


class Case(Value):
    """A challenger before the gate; `champion` is the present one's version, `refused` an earlier refusal in words."""

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
    version: int
    champion: bool
    by: str
    reason: str


class RuleForModel(Value):
    """The reference of a rule for an instance, and why this one."""

    reference: str
    reason: str


# The gate


def gate(challenger: Evidence, champion: str | None, champion_metric: Cost = "time") -> GateDecision:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    The present champion, if there is one, is given by its hash and by what it was judged by.

    Notes
    -----
    By its metric it must be better than RPB on held-out instances, and than the present champion on the same ones in
    the same evaluation, in the sense of `bife_core.evaluation.comparing.finding` both times: two ratios to RPB from
    two evaluations do not show which rule is better. Rules that were judged by different metrics do not compete, and
    no count of work, such as nodes, makes a champion.

    Examples
    --------
    >>> evidence = Evidence(sha="a", benchmark="toys", size="test", ratio=0.8, ci_low=0.7, ci_high=1.1, p_value=0.2,
    ...     confidence=0.95, baseline="relpscost", instances=20, seeds=1, solves=20, proofs=20, baseline_proofs=20,
    ...     evaluation_run="", test_digest="")
    >>> gate(evidence, None).reason
    "It is not known to be faster than RPB: 0.800 of RPB's CPU time, interval 0.700 to 1.100, p = 0.2."
    """
    words, fast = METRICS[challenger.metric].words, challenger.metric == "time"
    better, worse = ("faster", "slower") if fast else ("better", "worse")
    level = challenger.confidence
    takes = f"It takes {challenger.ratio:.3f} of RPB's {words}"
    ratio, p_value = challenger.champion_ratio, challenger.champion_p_value
    beside = interval_text(challenger.champion_ci_low, challenger.champion_ci_high)
    fewest = fewest_instances(level)
    reason = ""
    if judged_by(challenger.metric) != challenger.metric:
        reason = f"It was judged by {words}, and fewer {words} make no champion."
    elif challenger.baseline != RPB:
        reason = f"It was compared with {challenger.baseline}, not with {RPB} (RPB)."
    elif challenger.mismatches:
        reason = "Its solves and RPB's prove different optima, which is a defect."
    elif hindered := obstacle(
        challenger.missing, challenger.proofs, challenger.baseline_proofs, challenger.solves
    ):
        reason = f"It cannot count as {better} than RPB: {hindered}."
    elif challenger.instances < fewest:
        uses = f" at use {challenger.use} of the same test set" if challenger.use > 1 else ""
        reason = f"{challenger.instances} held-out instances are too few, {fewest} are needed{uses}."
    elif finding(challenger.ci_low, challenger.ci_high, challenger.p_value, level) != "better":
        within = f"{interval_text(challenger.ci_low, challenger.ci_high)}, {p_text(challenger.p_value)}"
        reason = (
            f"It is not known to be {better} than RPB: {challenger.ratio:.3f} of RPB's {words}, {within}."
        )
    elif champion is None:
        return GateDecision(promote=True, reason=f"{takes}; there is no champion yet.")
    elif champion_metric != challenger.metric:
        other = METRICS[champion_metric].words
        reason = (
            f"{takes}, but the champion was judged by {other}, and only rules judged by the same metric compete; "
            f"evaluate it by {other} too (evaluation.metric={champion_metric})."
        )
    elif champion == challenger.sha:
        return GateDecision(promote=True, reason=f"{takes}; the champion is the same rule.")
    elif challenger.champion_sha != champion or ratio is None or p_value is None:
        reason = "It was not measured side by side with the present champion; evaluate it once more."
    elif challenger.champion_obstacle:
        reason = f"{takes}, but beside the champion {challenger.champion_obstacle}."
    else:
        compared = f"{ratio:.3f} of the champion's ({beside}, {p_text(p_value)})"
        low, high = challenger.champion_ci_low, challenger.champion_ci_high
        if finding(low, high, p_value, level) == "better":
            return GateDecision(promote=True, reason=f"{takes} and {compared}.")
        reason = f"{takes}, but {compared}: it may be {worse} than the champion."
    return GateDecision(promote=False, reason=reason)


def gate_decision(evidence: Evidence, champion: RegisteredRule | None) -> GateDecision:
    """Return the decision of `gate` on a challenger beside the present champion, if there is one."""
    return gate(evidence, None) if champion is None else gate(evidence, champion.sha, champion.metric)


def refusal(tags_of_versions: Iterable[Mapping[str, str]], test_digest: str | None = None) -> Refusal | None:
    """Return the last decision against a rule in all its versions, or None where there is none or it was taken back.

    With a `test_digest`, only decisions on the rule as measured on these instances count.
    """
    approved = ""
    refusals: list[Refusal] = []
    for tags in tags_of_versions:
        approved = max(approved, tags.get("approved_at", ""))
        for word in _VERBS:
            if f"{word}_at" in tags:
                decision = {name: tags.get(f"{word}_{name}", "") for name in ("by", "reason", "at")}
                digest = tags.get(f"{word}_test_digest", tags.get("test_digest", ""))
                refusals.append(Refusal(word=word, test_digest=digest, **decision))
    # All times are written by one clock in one format, so that they sort as text. A champion of this very second
    # was approved before it was rolled back.
    standing = [one for one in refusals if one.at >= approved and test_digest in (None, one.test_digest)]
    return max(standing, key=lambda one: one.at, default=None)


# Reading the registry and runs


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
    return _found(lambda client: client.get_model_version_by_alias(name, alias))


def by_hash(name: str, sha: str) -> list[RegisteredRule]:
    """Return all versions that hold the rule of that hash, newest first; MLflow leaves their aliases out."""
    with registry() as client:
        found = client.search_model_versions(f"name = '{name}' and tags.sha = '{sha}'")
        return [_rule(version) for version in found]


def registered(reference: str) -> RegisteredRule:
    """Return the version a reference ``models:/<name>@<alias>`` or ``models:/<name>/<version>`` means.

    Raises
    ------
    RuleError
        If there is no such version.
    """
    match = MODEL_REFERENCE.fullmatch(reference)
    if match is None:
        raise RuleError(
            f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
            "models:/<name>/<version>."
        )
    name, alias, number = match["name"], match["alias"], match["version"]
    found = by_alias(name, alias) if alias else _found(lambda client: client.get_model_version(name, number))
    if found is None:
        raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")
    return found


def list_rules() -> list[RegisteredRule]:
    """Return all versions of all registered rules, newest first within a name."""
    with registry():
        ours = f"name LIKE '{_PREFIX}%'"
        # A search for versions leaves their aliases out; the models have them.
        held: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for model in mlflow.search_registered_models(filter_string=ours):
            for alias, number in model.aliases.items():
                held[model.name, int(number)].append(alias)
        versions_of = mlflow.search_model_versions(filter_string=ours)
        found = [_rule(version, held[version.name, int(version.version)]) for version in versions_of]
    return sorted(found, key=lambda rule: (rule.name, -rule.version))


def _rule(version: ModelVersion, aliases: Sequence[str] | None = None) -> RegisteredRule:
    """Return what is known of a version of MLflow's; `aliases` replace its own, which a search leaves out."""
    return RegisteredRule(
        name=version.name,
        version=int(version.version),  # some of MLflow's stores give it as text
        aliases=tuple(sorted(version.aliases if aliases is None else aliases)),
        tags=dict(version.tags),
        card=version.description or "",
    )


def _found(find: Callable[[MlflowClient], ModelVersion]) -> RegisteredRule | None:
    """Return the version that is found, or None if there is none, as opposed to all other trouble."""
    with registry() as client:
        try:
            return _rule(find(client))
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                return None
            raise


def sample_name(reference: str) -> str | None:
    """Return the sample's id, such as ``g02-c03``, of the rule of a run; None for other references."""
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = run_data(match["run"])
    names = (data.tags.get("best_sample"), data.tags.get("sample_id"), data.params.get("rule"))
    return next(filter(None, names), None)


def origin_of(reference: str) -> Origin:
    """Return what MLflow knows of the evolution a reference ``runs:/RUN_ID`` names; nothing for any other."""
    match = RUN_REFERENCE.fullmatch(reference)
    data = run_data(match["run"]) if match is not None else None
    if match is None or data is None or data.tags.get("kind") != "evolution":
        return Origin()
    return Origin(
        evolution_key=data.tags.get("evolution_key", ""),
        evolution_run=match["run"],
        f_lf=data.metrics.get("final_f_lf"),
        f_hf=data.metrics.get("final_f_hf"),
        cost=data.params.get("high.cost", ""),
        decisions_digest=data.params.get("decisions", ""),
        lineage=data.tags.get("lineage", ""),
    )


def run_data(run_id: str) -> RunData:
    """Return parameters, metrics and tags of a run."""
    try:
        return store.client().get_run(run_id).data
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise BifeError(f"MLflow at {store.tracking_uri()} holds no run {run_id}.") from error
        raise TrackingError(
            f"MLflow at {store.tracking_uri()} cannot be asked for run {run_id} ({store.first_line(error)})."
        ) from error


def rule_for(model: Model) -> RuleForModel:
    """Return the champion that was measured on instances like this one, the best if several were, or the general rule.

    The instance is given as it was read, before it is solved. A registry that cannot be reached holds no champions;
    the reason says so.
    """
    try:
        champions = [rule for rule in list_rules() if CHAMPION in rule.aliases]
    except TrackingError as error:
        return RuleForModel(reference=GENERAL, reason=f"Champions are not known. {error}")
    if not champions:
        return RuleForModel(reference=GENERAL, reason="There is no champion yet.")
    found = shape(model)
    differences: dict[str, str] = {}
    fitting: list[tuple[bool, float, str, str]] = []
    for champion in champions:
        evidence = champion.evidence
        if evidence is None or not evidence.likeness:
            differences[champion.name] = "it does not say what instances it was made for"
            continue
        difference = Likeness.model_validate_json(evidence.likeness).difference(found)
        if difference is not None:
            differences[champion.name] = difference
            continue
        words = METRICS[evidence.metric].words
        than = f"{evidence.ratio:.3f} of {known_as(evidence.baseline)}'s {words}"
        # Ratios of different metrics do not compare; those of time come first.
        fitting.append((evidence.metric != "time", evidence.ratio, champion.name, than))
    if fitting:
        _, _, name, than = min(fitting)
        reason = f"It was measured on instances like this one: {than}."
        return RuleForModel(reference=f"models:/{name}@{CHAMPION}", reason=reason)
    others = "; ".join(f"{name}: {difference}" for name, difference in differences.items())
    return RuleForModel(
        reference=GENERAL, reason=f"No champion was made for instances like this one ({others})."
    )


# Changing the registry


@task(name="register", task_run_name="register a rule for {evidence.benchmark}", **TRIED_AGAIN)
def register(
    instances: InstancesConfig, source: str, evidence: Evidence, by_gate: bool = True
) -> RegisteredRule:
    """Register the text of a rule or scorer as ``challenger``, and by the gate as ``champion`` if it earns that."""
    return register_rule(registered_name(instances), source, evidence, by_gate=by_gate)


def register_rule(name: str, source: str, evidence: Evidence, *, by_gate: bool = False) -> RegisteredRule:
    """Register a rule or scorer under a name and give it the alias ``challenger``.

    The same rule of the same evolution is registered only once for each metric it is judged by. A rule that a person
    refused as measured on the same instances is registered without the alias, and so is one that does not pass the
    gate while the present challenger does: a person may be about to decide on that.

    Parameters
    ----------
    by_gate : bool
        Whether the gate alone decides on ``champion``, now; it does not overrule a person who refused the rule.
    """
    method = method_of(source)
    tags = {key: str(value) for key, value in evidence.model_dump().items() if value is not None}
    tags["file"] = method.file_name
    with registry(held=name) as client:
        held, champion = by_hash(name, evidence.sha), by_alias(name, CHAMPION)
        refused = refusal((version.tags for version in held), evidence.test_digest)
        tags |= {} if refused is None else refused.tags
        # By another metric it is another entry: what a champion was judged by never changes under it.
        identity = (evidence.evolution_key, evidence.metric)
        same = next((v for v in held if (v.tags.get("evolution_key", ""), v.metric) == identity), None)
        if same is None:
            number = _create(client, name, method, evidence, tags)
        else:
            number = str(same.version)
            # Tags that the new evidence does not have are out of date.
            for key in (same.tags.keys() & Evidence.model_fields.keys()) - tags.keys():
                client.delete_model_version_tag(name, number, key)
            for key, value in tags.items():
                client.set_model_version_tag(name, number, key, value)
        client.update_model_version(name, number, model_card(name, method, evidence))
        decision = gate_decision(evidence, champion)
        if refused is None:
            if decision.promote or not _better_waits(name, int(number), champion):
                client.set_registered_model_alias(name, CHALLENGER, number)
            if by_gate and decision.promote and (champion is None or str(champion.version) != number):
                _set_champion(client, name, int(number), champion, GATE, decision.reason)
        return _rule(client.get_model_version(name, number))


def _better_waits(name: str, number: int, champion: RegisteredRule | None) -> bool:
    """Whether another version is challenger now, and passes the gate."""
    challenger = by_alias(name, CHALLENGER)
    if challenger is None or challenger.version in (number, _number(champion)):
        return False
    return challenger.evidence is not None and gate_decision(challenger.evidence, champion).promote


@task(name="assess the challenger", task_run_name="assess the challenger of {name}", **TRIED_AGAIN)
def open_case(name: str) -> Case:
    """Return the case of a registered model's challenger.

    Raises
    ------
    PromotionError
        If the model has no challenger, or its challenger is champion already.
    """
    challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    if challenger is None:
        raise PromotionError(f"{name} has no challenger; `bife rules list` shows what is registered.")
    number, evidence = challenger.version, challenger.evidence
    if _number(champion) == number:
        raise PromotionError(f"Version {number} of {name}, its challenger, is champion already.")
    if evidence is None:
        raise PromotionError(f"Version {number} of {name} carries no evidence; evaluate it first.")
    before = refusal(version.tags for version in by_hash(name, evidence.sha))
    return Case(
        name=name,
        version=number,
        champion=_number(champion),
        decision=gate_decision(evidence, champion),
        card=challenger.card,
        page=store.page(f"models/{name}/versions/{number}"),
        refused="" if before is None else before.sentence,
    )


@task(name="set the champion", task_run_name="make version {version} of {name} champion")
def promote(name: str, version: int, by: str, reason: str) -> ChampionChange:
    """Make a version champion, and record who decided it and why."""
    with registry(held=name) as client:
        champion = by_alias(name, CHAMPION)
        if _number(champion) != version:
            _set_champion(client, name, version, champion, by, reason)
    return ChampionChange(name=name, version=version, champion=True, by=by, reason=reason)


@task(name="refuse the challenger", task_run_name="refuse version {version} of {name}")
def refuse(name: str, version: int, by: str, reason: str) -> ChampionChange:
    """Take the alias ``challenger`` from a version, and record who decided it and why."""
    with registry(held=name) as client:
        _put_aside(client, name, version, "rejected", by, reason)
    return ChampionChange(name=name, version=version, champion=False, by=by, reason=reason)


@task(name="roll back the champion", task_run_name="roll {name} back")
def roll_back(name: str, by: str, reason: str) -> ChampionChange:
    """Give the alias ``champion`` back to the version that held it before.

    The version that loses it is a challenger no more.

    Raises
    ------
    PromotionError
        If there is no champion, or none before it.
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
        _put_aside(client, name, champion.version, "rolled_back", by, reason)
    return ChampionChange(name=name, version=int(before), champion=True, by=by, reason=reason)


def _number(version: RegisteredRule | None) -> int | None:
    return None if version is None else version.version


def _set_champion(
    client: MlflowClient, name: str, number: int, before: RegisteredRule | None, by: str, reason: str
) -> None:
    # First the reason, then the alias: a champion without a reason is the worse state to be found in.
    replaced = "" if before is None else str(before.version)
    _note(client, name, number, "approved", {"by": by, "reason": reason})
    client.set_model_version_tag(name, str(number), _REPLACED, replaced)
    client.set_registered_model_alias(name, CHAMPION, str(number))


def _put_aside(client: MlflowClient, name: str, number: int, word: Word, by: str, reason: str) -> None:
    """Record why a version is out of the running, on which instances it was measured, and end its challenge."""
    measured = client.get_model_version(name, str(number)).tags.get("test_digest", "")
    _note(client, name, number, word, {"by": by, "reason": reason, "test_digest": measured})
    if _number(by_alias(name, CHALLENGER)) == number:
        client.delete_registered_model_alias(name, CHALLENGER)


def _note(client: MlflowClient, name: str, number: int, what: str, decision: Mapping[str, str]) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for key, value in {**decision, "at": now}.items():
        client.set_model_version_tag(name, str(number), f"{what}_{key}", value)


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: what it is, how good it was measured to be, where it is from."""
    size = complexity(method.source).to_dict() if isinstance(method, RuleMethod) else {}
    words, by_time = METRICS[evidence.metric].words, evidence.metric == "time"
    judged = f"{words[0].upper()}{words[1:]}"
    within = interval_text(evidence.ci_low, evidence.ci_high, confidence=evidence.confidence)
    beside = interval_text(evidence.champion_ci_low, evidence.champion_ci_high)
    facts = {
        "Benchmark": f"{evidence.benchmark}, size {evidence.size}",
        f"{judged} relative to {evidence.baseline}": (
            f"{evidence.ratio:.3f} ({within}, {p_text(evidence.p_value)}; below 1 is "
            f"{'faster' if by_time else 'better'}; {evidence.instances} held-out instances, "
            f"{counted(evidence.seeds, 'seed')} each)"
        ),
        f"Judged by {words}": (
            ""
            if by_time or evidence.time_ratio is None
            else f"CPU time relative to {evidence.baseline} is {evidence.time_ratio:.3f}"
        ),
        "Solves": (
            f"{evidence.solves}, {evidence.proofs} with a proof ({evidence.baseline}: {evidence.baseline_proofs}), "
            f"{evidence.unfinished} ended at a limit, {evidence.missing} missing"
        ),
        f"{judged} relative to the champion before": (
            ""
            if evidence.champion_ratio is None
            else f"{evidence.champion_ratio:.3f} ({beside}; the champion's hash is {evidence.champion_sha})"
        ),
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


def _create(client: MlflowClient, name: str, method: Method, evidence: Evidence, tags: dict[str, str]) -> str:
    """Make a version that holds a method, and return its number."""
    if not client.search_registered_models(f"name = '{name}'"):
        about = f"Branching rules for {evidence.benchmark}: features in, one score out."
        client.create_registered_model(name, description=about)
    number, own = np.dtype(np.float64), versions()["bife"]
    with TemporaryDirectory() as directory, warnings.catch_warnings():
        # MLflow's advice on models in general is not for a person who runs an evolution.
        warnings.simplefilter("ignore", category=UserWarning)
        logging.getLogger("mlflow").setLevel(logging.ERROR)
        path = Path(directory) / method.file_name
        path.write_text(method.text, encoding="utf-8")
        with mlflow.start_run(run_id=evidence.evaluation_run):
            info = mlflow.pyfunc.log_model(
                # MLflow's list of models shows the benchmark and the sample, or the hash where there is none.
                name=f"{name}-{evidence.lineage.partition(' ')[0] or evidence.sha[:8]}",
                python_model=str(Path(__file__).with_name("rule_model.py")),
                artifacts={"rule": str(path)},
                model_config={"sha": evidence.sha},
                signature=ModelSignature(
                    inputs=Schema([TensorSpec(number, (-1, N_FEATURES))]),
                    outputs=Schema([TensorSpec(number, (-1,))]),
                ),
                input_example=np.random.default_rng(0).uniform(0.0, 1.0, size=(3, N_FEATURES)),
                pip_requirements=[
                    "bife-branching" if own == "source" else f"bife-branching=={own}",
                    f"mlflow=={mlflow.__version__}",
                ],
            )
    run_id, model_id = evidence.evaluation_run, info.model_id
    made = client.create_model_version(name, info.model_uri, run_id, tags=tags, model_id=model_id)
    return str(made.version)

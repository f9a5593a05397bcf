"""Registered rules: versions in MLflow's registry with their evidence, and which of them is champion and why.

A version is an MLflow model without pickle. `register` makes one, `gate` decides by its evidence whether it becomes
champion, and a person may promote, refuse or roll back. All functions raise `TrackingError` if MLflow does not answer.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import mlflow
import numpy as np
from mlflow import MlflowClient
from mlflow.entities import RunData
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from prefect import task
from pydantic import Field, ValidationError
from pyscipopt import Model

from bife_core.benchmarks.formulation import Likeness, shape
from bife_core.config import InstancesConfig
from bife_core.errors import BifeError, RuleError
from bife_core.evaluation.comparing import Tail, finding, known_as, obstacle, p_text
from bife_core.evaluation.metrics import METRICS, judged_by
from bife_core.features import N_FEATURES
from bife_core.methods.base import RPB, Method
from bife_core.methods.loading import MODEL_REFERENCE, RUN_FILES, RUN_REFERENCE, method_of, version_of
from bife_core.methods.rule import RuleMethod
from bife_core.methods.scorer import Scorer
from bife_core.rules import complexity
from bife_core.scip.cost import Cost
from bife_core.scip.solver import SolverConfig
from bife_core.scip.solving import versions
from bife_core.values import Value
from bife_core.wording import counted, interval_text
from tasks.states import TRIED_AGAIN
from tasks.stores import home_store
from tasks.tracking import store
from tasks.tracking.store import TrackingError

CHALLENGER: Final = "challenger"
CHAMPION: Final = "champion"
GATE: Final = "the statistical gate"
"""Who decides where no person does."""

_PREFIX: Final = "bife-"
_REPLACED: Final = "replaced_version"
_REFUSALS: Final = {"rejected": "refused it", "rolled_back": "took it out of use"}
"""Beginnings of the tags that hold a decision against a version, with what was done."""

_NOT_IN_CARD: Final = {
    "benchmark", "size", "ratio", "ci_low", "ci_high", "p_value", "instances", "groups", "seeds", "likeness",
    "solver_params",
}  # fmt: skip

_UNRECORDED: Final = "; to let this one be champion, take that alias from the other in MLflow"


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


class Evidence(Origin, Tail):
    """What is known of a rule when it is registered; each field becomes a tag of its version.

    `ratio` is the rule's cost by `metric` over the baseline's on held-out instances, with its interval at the level
    `confidence` and the adjusted p-value of the exact test; `time_ratio` is that of CPU time. `missing` solves gave no
    result or a wrong one, `unfinished` ones ended at a limit, and `proofs` ended with a proof. `use` counts the uses of
    the test instances, and is 0 if they served a search or were chosen among others. `likeness` is JSON of their
    `bife_core.benchmarks.formulation.Likeness`. `solver` names the settings of SCIP it was measured under, and
    `solver_params` is JSON of what they set beside SCIP's defaults. What begins with ``champion`` compares with the
    champion in the same evaluation.
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
    seeds: int
    solves: int
    missing: int = 0
    baseline_missing: int = 0
    unfinished: int = 0
    proofs: int
    baseline_proofs: int
    mismatches: int = 0
    use: int = 1
    evaluation_run: str
    test_digest: str
    likeness: str = ""
    solver: str = ""
    solver_digest: str = ""
    solver_params: str = ""
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None
    champion_p_value: float | None = None
    champion_obstacle: str = ""


class GateDecision(NamedTuple):
    """Whether the evidence earns a rule the alias ``champion``, and why."""

    promote: bool
    reason: str


class RegisteredRule(Value):
    """One version in the registry; `card` is its description in Markdown."""

    name: str
    version: int
    aliases: tuple[str, ...]
    tags: dict[str, str]
    card: str = Field("", repr=False)

    @property
    def reference(self) -> str:
        """What `load_method` takes."""
        return f"models:/{self.name}/{self.version}"

    @property
    def sha(self) -> str:
        """Hash of the rule; empty for a version that was registered by other means."""
        return self.tags.get("sha", "")

    @property
    def solver(self) -> str:
        """The settings of SCIP it was measured under, in words."""
        return self.tags.get("solver") or "settings that were not recorded"

    @property
    def solver_digest(self) -> str:
        """Hash of these settings; empty for a version that does not say."""
        return self.tags.get("solver_digest", "")

    @property
    def metric(self) -> Cost:
        """What it was judged by, CPU time by default."""
        return self.evidence.metric if self.evidence is not None else "time"

    @property
    def refusal(self) -> str:
        """The decision of a person that keeps this version from being challenger, as a sentence; empty without one."""
        return refusal(self.tags, self.tags.get("test_digest"))

    @property
    def evidence(self) -> Evidence | None:
        """What the tags say; None for a version that was registered by other means."""
        try:
            return Evidence.model_validate({k: v for k, v in self.tags.items() if k in Evidence.model_fields})
        except ValidationError:
            return None


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


def gate(challenger: Evidence, champion: Evidence | RegisteredRule | None) -> GateDecision:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    By its metric it must be better than RPB on held-out instances, and than the present champion on the same ones in
    the same evaluation, in the sense of `bife_core.evaluation.comparing.finding` and without `Tail.doubt` both times:
    two ratios to RPB from two evaluations do not show which rule is better. Rules that were judged by different
    metrics, or under different settings of SCIP, do not compete, and no count of work, such as nodes, makes a champion.
    """
    one, words = challenger, METRICS[challenger.metric].words
    better, worse = ("faster", "slower") if one.metric == "time" else ("better", "worse")
    against_rpb = f"{one.ratio:.3f} of RPB's {words}"
    takes = f"It takes {against_rpb}"
    reason = ""
    if judged_by(one.metric) != one.metric:
        reason = f"It was judged by {words}, and fewer {words} make no champion."
    elif one.baseline != RPB:
        reason = f"It was compared with {one.baseline}, not with {RPB} (RPB)."
    elif not one.use:
        reason = "Its test instances served a search or were chosen among others, so they are not held out."
    elif one.mismatches:
        reason = "Its solves and RPB's prove different optima, which is a defect."
    elif hindered := obstacle(one.missing, one.proofs, one.baseline_proofs, one.solves, one.baseline_missing):
        reason = f"It cannot count as {better} than RPB: {hindered}."
    elif finding(one.ci_low, one.ci_high, one.p_value, one.confidence) != "better" and not one.further:
        within = f"{interval_text(one.ci_low, one.ci_high)}, {p_text(one.p_value)}"
        reason = f"It is not known to be {better} than RPB: {against_rpb}, {within}."
    elif one.doubt:
        tested = counted(one.instances, "held-out instance", one.groups)
        uses = f" at use {one.use} of some of them" if one.use > 1 else ""
        reason = f"{takes} on {tested}, but {one.doubt}{uses}."
    elif champion is None:
        return GateDecision(True, f"{takes}; there is no champion yet.")
    elif champion.solver_digest != one.solver_digest:
        reason = (
            f"{takes} under {one.solver}, but the champion was measured under {champion.solver}, and only rules "
            f"measured under the same settings of SCIP compete{_UNRECORDED if not champion.solver_digest else ''}."
        )
    elif champion.metric != one.metric:
        other = METRICS[champion.metric].words
        reason = (
            f"{takes}, but the champion was judged by {other}, and only rules judged by the same metric compete; "
            f"evaluate it by {other} too (evaluation.metric={champion.metric})."
        )
    elif champion.sha == one.sha:
        return GateDecision(True, f"{takes}; the champion is the same rule.")
    elif one.champion_sha != champion.sha or one.champion_ratio is None or one.champion_p_value is None:
        reason = "It was not measured side by side with the present champion; evaluate it once more."
    elif one.champion_obstacle:
        reason = f"{takes}, but beside the champion {one.champion_obstacle}."
    else:
        low, high, p_value = one.champion_ci_low, one.champion_ci_high, one.champion_p_value
        compared = (
            f"{one.champion_ratio:.3f} of the champion's ({interval_text(low, high)}, {p_text(p_value)})"
        )
        if finding(low, high, p_value, one.confidence) == "better":
            return GateDecision(True, f"{takes} and {compared}.")
        reason = f"{takes}, but {compared}: it may be {worse} than the champion."
    return GateDecision(False, reason)


def refusal(tags: Mapping[str, str], test_digest: str | None = None) -> str:
    """Return who decided against a version and why, as a sentence; empty if no person did.

    With a `test_digest`, only a decision on the rule as measured on these instances counts.
    """
    for word, done in _REFUSALS.items():
        at = tags.get(f"{word}_at", "")
        if at and test_digest in (None, tags.get(f"{word}_test_digest")):
            return f"{tags.get(f'{word}_by', '')} {done} on {at[:10]} ({tags.get(f'{word}_reason', '')})"
    return ""


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
    return name if solver.label == "default" else f"{name}--{solver.label}"


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
    with registry() as client:
        return [
            _rule(each) for each in client.search_model_versions(f"name = '{name}' and tags.sha = '{sha}'")
        ]


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
            return _rule(version_of(client, match))
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
    raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")


def list_rules() -> list[RegisteredRule]:
    """Return all versions of all registered rules, newest first within a name."""
    if store.missing_database(mlflow.get_registry_uri()) is not None:
        return []
    ours = f"name LIKE '{_PREFIX}%'"
    with registry():
        # A search for versions leaves their aliases out; the models have them.
        holders: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for model in mlflow.search_registered_models(filter_string=ours):
            for alias, number in model.aliases.items():
                holders[model.name, int(number)].append(alias)
        rules = [_rule(version) for version in mlflow.search_model_versions(filter_string=ours)]
    rules = [
        rule.model_copy(update={"aliases": tuple(sorted(holders[rule.name, rule.version]))}) for rule in rules
    ]
    return sorted(rules, key=lambda rule: (rule.name, -rule.version))


def _rule(version: ModelVersion) -> RegisteredRule:
    return RegisteredRule(
        name=version.name,
        version=int(version.version),  # some of MLflow's stores give it as text
        aliases=tuple(sorted(version.aliases)),
        tags=dict(version.tags),
        card=version.description or "",
    )


def sample_name(reference: str) -> str | None:
    """Return the sample's id, such as ``g02-c03``, of the rule of a run; None for other references."""
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = run_data(match["run"])
    return data.tags.get("best_sample") or data.tags.get("sample_id") or data.params.get("rule")


def origin_of(reference: str) -> Origin:
    """Return what MLflow knows of the evolution a reference ``runs:/RUN_ID`` names; nothing for any other."""
    match = RUN_REFERENCE.fullmatch(reference)
    data = run_data(match["run"]) if match is not None else None
    if match is None or data is None or data.tags.get("kind") != "evolution":
        return Origin()
    own = {name: data.tags.get(name, "") for name in ("evolution_key", "lineage")}
    scores = {name: data.metrics.get(f"final_{name}") for name in ("f_lf", "f_hf")}
    own |= {"cost": data.params.get("high.cost", ""), "decisions_digest": data.params.get("decisions", "")}
    return Origin.model_validate({"evolution_run": match["run"], **own, **scores})


def run_data(run_id: str) -> RunData:
    """Return parameters, metrics and tags of a run."""
    try:
        return store.client().get_run(run_id).data
    except MlflowException as error:
        raise TrackingError(
            f"MLflow at {store.tracking_uri()} gives no run {run_id} ({store.first_line(error)})."
        ) from error


def other_settings(rule: RegisteredRule, solver: SolverConfig, name: str = "") -> str:
    """Return that a rule, called `name`, was measured under other settings than `solver`; empty if it was not."""
    if rule.solver_digest == solver.digest:
        return ""
    return f"{name or rule.reference} was measured under {rule.solver}, not under {solver.known_as}"


def rule_for(model: Model, solver: SolverConfig) -> tuple[str, str]:
    """Return the reference of a rule for an instance, given as it was read, under settings of SCIP, and why this one.

    It is the champion that was measured on instances like this one under the very same settings, the best if several
    were, or else RPB: a rule that nobody measured on such instances can be slower. A registry that cannot be reached
    holds no champions; the reason says so.
    """
    try:
        champions = [rule for rule in list_rules() if CHAMPION in rule.aliases]
    except TrackingError as error:
        return RPB, f"Champions are not known. {error}"
    if not champions:
        return RPB, "There is no champion yet."
    found, others, elsewhere = shape(model), [], []
    fitting: list[tuple[bool, float, str, str]] = []
    for champion in champions:
        evidence, difference = champion.evidence, "it does not say what instances it was made for"
        if evidence is not None and evidence.likeness:
            difference = Likeness.model_validate_json(evidence.likeness).difference(found) or ""
        if evidence is None or difference:
            others.append(f"{champion.name}: {difference}")
            continue
        if differing := other_settings(champion, solver, f"models:/{champion.name}@{CHAMPION}"):
            elsewhere.append(differing)
            continue
        measured = f"{evidence.ratio:.3f} of {known_as(evidence.baseline)}'s {METRICS[evidence.metric].words}"
        # Ratios of different metrics do not compare; those of time come first.
        fitting.append((evidence.metric != "time", evidence.ratio, champion.name, measured))
    if not fitting and elsewhere:
        return RPB, f"{'; '.join(elsewhere)}."
    if not fitting:
        return RPB, f"No champion was made for instances like this one ({'; '.join(others)})."
    _, _, name, measured = min(fitting)
    return f"models:/{name}@{CHAMPION}", (
        f"It was measured on instances like this one under {solver.known_as}: {measured}."
    )


@task(name="register", task_run_name="register a rule as {name}", **TRIED_AGAIN)
def register(name: str, source: str, evidence: Evidence, by_gate: bool = False) -> RegisteredRule:
    """Register the text of a method under a name and give it the alias ``challenger``.

    The same rule of the same evolution is registered only once for each metric and settings of SCIP it is judged by.
    A rule that a person refused as measured on the same instances is registered without the alias, and so is one that
    does not pass the gate while the present challenger does: a person may be about to decide on that. With `by_gate`
    the gate alone decides on ``champion``, now; it does not overrule a person who refused the rule.
    """
    method = method_of(source)
    tags = {key: str(value) for key, value in evidence.model_dump().items() if value is not None}
    tags["file"] = method.file_name
    with registry(held=name) as client:
        held, champion = by_hash(name, evidence.sha), by_alias(name, CHAMPION)
        challenger = by_alias(name, CHALLENGER)
        refused = [each.tags for each in held if refusal(each.tags, evidence.test_digest)]
        tags |= {key: value for key, value in refused[0].items() if _refuses(key)} if refused else {}
        # By another metric it is another entry: what a champion was judged by never changes under it.
        identity = (evidence.evolution_key, evidence.metric, evidence.solver_digest)
        same = next(
            (v for v in held if (v.tags.get("evolution_key", ""), v.metric, v.solver_digest) == identity),
            None,
        )
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
        decision, waiting = gate(evidence, champion), None
        if challenger is not None and challenger.version not in (int(number), _number(champion)):
            waiting = challenger.evidence
        if not refused and (decision.promote or waiting is None or not gate(waiting, champion).promote):
            client.set_registered_model_alias(name, CHALLENGER, number)
        if not refused and by_gate and decision.promote and _number(champion) != int(number):
            _set_champion(client, name, int(number), champion, GATE, decision.reason)
        return _rule(client.get_model_version(name, number))


@task(name="assess the challenger", task_run_name="assess the challenger of {name}", **TRIED_AGAIN)
def open_case(name: str) -> Case:
    """Return the case of a registered model's challenger; without one that could be promoted a `PromotionError`."""
    challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    evidence = challenger.evidence if challenger is not None else None
    if challenger is None or evidence is None:
        raise PromotionError(
            f"{name} has no evaluated challenger; `bife rules list` shows what is registered."
        )
    number = challenger.version
    if _number(champion) == number:
        raise PromotionError(f"Version {number} of {name}, its challenger, is champion already.")
    return Case(
        name=name,
        version=number,
        champion=_number(champion),
        decision=gate(evidence, champion),
        card=challenger.card,
        page=store.page(f"models/{name}/versions/{number}"),
        refused=next(filter(None, (refusal(version.tags) for version in by_hash(name, evidence.sha))), ""),
    )


@task(name="set the champion", task_run_name="make version {version} of {name} champion")
def promote(name: str, version: int, by: str, reason: str) -> ChampionChange:
    """Make a version champion, and record who decided it and why; refusals of the same rule are taken back."""
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
    """Give the alias ``champion`` back to the version that held it before, or raise `PromotionError` without one."""
    with registry(held=name) as client:
        champion = by_alias(name, CHAMPION)
        before = champion.tags.get(_REPLACED) if champion is not None else None
        if champion is None or not before:
            raise PromotionError(
                f"{name} has no champion that replaced another; `bife rules list` shows what there is."
            )
        client.set_registered_model_alias(name, CHAMPION, before)
        _put_aside(client, name, champion.version, "rolled_back", by, reason)
    return ChampionChange(name=name, version=int(before), champion=True, by=by, reason=reason)


def _number(version: RegisteredRule | None) -> int | None:
    return None if version is None else version.version


def _refuses(tag: str) -> bool:
    return tag.startswith(tuple(_REFUSALS))


def _set_champion(
    client: MlflowClient, name: str, number: int, before: RegisteredRule | None, by: str, reason: str
) -> None:
    version = _rule(client.get_model_version(name, str(number)))
    for same in [version, *by_hash(name, version.sha)]:
        for tag in filter(_refuses, same.tags):
            client.delete_model_version_tag(name, str(same.version), tag)
    # First the reason, then the alias: a champion without a reason is the worse state to be found in.
    replaced = "" if before is None else str(before.version)
    decision = {"approved_by": by, "approved_reason": reason, _REPLACED: replaced}
    _note(client, name, number, decision, "approved_at")
    client.set_registered_model_alias(name, CHAMPION, str(number))


def _put_aside(client: MlflowClient, name: str, number: int, word: str, by: str, reason: str) -> None:
    """Record why a version is out of the running, on which instances it was measured, and end its challenge."""
    measured = client.get_model_version(name, str(number)).tags.get("test_digest", "")
    decision = {f"{word}_by": by, f"{word}_reason": reason, f"{word}_test_digest": measured}
    _note(client, name, number, decision, f"{word}_at")
    if _number(by_alias(name, CHALLENGER)) == number:
        client.delete_registered_model_alias(name, CHALLENGER)


def _note(client: MlflowClient, name: str, number: int, tags: Mapping[str, str], at: str) -> None:
    for key, value in {**tags, at: datetime.now(UTC).isoformat(timespec="seconds")}.items():
        client.set_model_version_tag(name, str(number), key, value)


def model_card(name: str, method: Method, evidence: Evidence) -> str:
    """Return the description of a version: how good it was measured to be, where it is from, and its text."""
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
        facts |= {key.replace("_", " "): value for key, value in complexity(method.source)._asdict().items()}
    lines = [f"- **{key}**: {value}" for key, value in facts.items() if value not in (None, "")]
    language = "python" if isinstance(method, RuleMethod) else method.file_name.rpartition(".")[2]
    return "\n".join([f"## {name}", "", *lines, "", f"```{language}", method.text.rstrip(), "```", ""])


def _create(client: MlflowClient, name: str, method: Method, evidence: Evidence, tags: dict[str, str]) -> str:
    """Make a version that holds a method, and return its number."""
    if not client.search_registered_models(f"name = '{name}'"):
        about = f"Branching rules for {evidence.benchmark}: features in, one score out."
        client.create_registered_model(name, description=about)
    own, run_id = versions()["bife"], evidence.evaluation_run
    candidates = np.random.default_rng(0).uniform(0.0, 1.0, size=(3, N_FEATURES))
    with TemporaryDirectory() as directory, warnings.catch_warnings():
        # MLflow's advice on models in general is not for a person who runs an evolution.
        warnings.simplefilter("ignore", category=UserWarning)
        path = Path(directory) / method.file_name
        path.write_text(method.text, encoding="utf-8")
        with mlflow.start_run(run_id=run_id):
            info = mlflow.pyfunc.log_model(
                # MLflow's list of models shows the benchmark and the sample, or the hash where there is none.
                name=f"{name}-{evidence.lineage.partition(' ')[0] or evidence.sha[:8]}",
                python_model=str(Path(__file__).with_name("rule_model.py")),
                artifacts={"rule": str(path)},
                model_config={"sha": evidence.sha},
                input_example=candidates if isinstance(method, Scorer) else None,
                pip_requirements=[
                    "bife-branching" if own == "source" else f"bife-branching=={own}",
                    f"mlflow=={mlflow.__version__}",
                ],
            )
    return str(
        client.create_model_version(name, info.model_uri, run_id, tags, model_id=info.model_id).version
    )

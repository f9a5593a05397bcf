"""Who is champion: by the statistical gate, by a person, or by going back; the registry keeps who and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from mlflow.entities.model_registry import ModelVersion
from prefect import task

from bife_core.errors import BifeError
from bife_core.values import Value
from tasks.home import project_home
from tasks.locks import process_lock
from tasks.policy import TRIED_AGAIN
from tasks.refusals import APPROVED, Word, refusal
from tasks.registry import (
    CHALLENGER,
    CHAMPION,
    FEWEST_INSTANCES,
    RPB,
    Evidence,
    RegisteredRule,
    by_alias,
    registered_rule,
    unreachable,
    versions_of,
)
from tasks.tracking import store

GATE: Final = "the statistical gate"
"""Who decides where no person does."""

_REPLACED: Final = "replaced_version"


class PromotionError(BifeError):
    """There is nothing to promote or to roll back."""


class Weighing(Value):
    """Whether the evidence earns a rule the alias ``champion``, and why."""

    promote: bool
    reason: str


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
    weighing: Weighing
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


def weigh(challenger: Evidence, champion: Evidence | None) -> Weighing:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    It must beat RPB on held-out instances, and the present champion on the same ones in the same evaluation, its
    whole interval below 1 both times: two ratios to RPB from two evaluations do not tell which rule is faster.

    Examples
    --------
    >>> evidence = Evidence(sha="a", benchmark="toys", size="test", ratio=0.8, ci_low=0.7, ci_high=1.1,
    ...     confidence=0.95, baseline="relpscost", instances=20, seeds=1, evaluation_run="", test_digest="")
    >>> weigh(evidence, None).reason
    'The interval of its time ratio reaches 1.100, so it may be slower than RPB.'
    """
    if challenger.baseline != RPB:
        return Weighing(
            promote=False, reason=f"It was compared with {challenger.baseline}, not with {RPB} (RPB)."
        )
    if challenger.mismatches:
        return Weighing(
            promote=False, reason="Its solves and RPB's prove different optima, which is a defect."
        )
    if challenger.instances < FEWEST_INSTANCES:
        few = f"{challenger.instances} held-out instances are too few, {FEWEST_INSTANCES} are needed."
        return Weighing(promote=False, reason=few)
    if challenger.ci_high is None:
        return Weighing(promote=False, reason="Its time ratio has no interval.")
    if not challenger.beats_rpb:
        slow = (
            f"The interval of its time ratio reaches {challenger.ci_high:.3f}, so it may be slower than RPB."
        )
        return Weighing(promote=False, reason=slow)
    faster = f"It takes {challenger.ratio:.3f} of RPB's CPU time"
    if champion is None:
        return Weighing(promote=True, reason=f"{faster}; there is no champion yet.")
    if champion.sha == challenger.sha:
        return Weighing(promote=True, reason=f"{faster}; the champion is the same rule.")
    if challenger.champion_sha != champion.sha or challenger.champion_ratio is None:
        unknown = "It was not measured side by side with the present champion; evaluate it once more."
        return Weighing(promote=False, reason=unknown)
    low, high = challenger.champion_ci_low, challenger.champion_ci_high
    interval = "without interval" if low is None or high is None else f"interval {low:.3f} to {high:.3f}"
    ratio = f"{challenger.champion_ratio:.3f} of the champion's ({interval})"
    if not challenger.beats(champion.sha):
        return Weighing(promote=False, reason=f"{faster}, but {ratio}: it may be slower than the champion.")
    return Weighing(promote=True, reason=f"{faster} and {ratio}.")


def crown(registered: RegisteredRule, evidence: Evidence) -> RegisteredRule:
    """Give a version the alias ``champion`` if `weigh` says so, and return it with its present aliases.

    The gate does not overrule a person who refused the rule.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    name, number = registered.name, registered.version
    try:
        with _registry_lock(name):
            champion = by_alias(name, CHAMPION)
            if _number(champion) != number and registered.refusal is None:
                weighing = weigh(evidence, _evidence(champion))
                if weighing.promote:
                    _set_champion(name, number, champion, GATE, weighing.reason)
            return registered_rule(store.client().get_model_version(name, str(number)))
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error


@task(
    name="weigh the challenger",
    task_run_name="weigh the challenger of {name}",
    **TRIED_AGAIN,
)
def open_case(name: str) -> dict[str, Any]:
    """Return the `Case` of a registered model's challenger as JSON.

    Raises
    ------
    PromotionError
        If the model has no challenger, or its challenger is champion already.
    TrackingError
        If the registry cannot be reached.
    """
    try:
        challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    if challenger is None:
        raise PromotionError(f"{name} has no challenger; `bife rules list` shows what is registered.")
    if champion is not None and _number(champion) == _number(challenger):
        raise PromotionError(f"Version {champion.version} of {name}, its challenger, is champion already.")
    evidence = _evidence(challenger)
    if evidence is None:
        raise PromotionError(
            f"Version {challenger.version} of {name} carries no evidence; evaluate it first."
        )
    try:
        before = refusal(known.tags for known in versions_of(name, evidence.sha))
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    return Case(
        name=name,
        version=_number(challenger),
        champion=_number(champion),
        weighing=weigh(evidence, _evidence(champion)),
        card=challenger.description or "",
        page=store.version_url(name, int(challenger.version)),
        refused="" if before is None else before.sentence,
    ).model_dump(mode="json")


@task(name="set the champion", task_run_name="make version {version} of {name} champion")
def promote(name: str, version: int, by: str, reason: str) -> dict[str, Any]:
    """Make a version champion, record who decided it and why, and return the `ChampionChange` as JSON.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    try:
        with _registry_lock(name):
            champion = by_alias(name, CHAMPION)
            if _number(champion) != version:
                _set_champion(name, version, champion, by, reason)
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    return ChampionChange(name=name, version=version, champion=True, by=by, reason=reason).model_dump(
        mode="json"
    )


@task(name="refuse the challenger", task_run_name="refuse version {version} of {name}")
def refuse(name: str, version: int, by: str, reason: str) -> dict[str, Any]:
    """Take the alias ``challenger`` from a version, record who decided it and why, and return the `ChampionChange`.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    try:
        with _registry_lock(name):
            _put_aside(name, version, "rejected", by, reason)
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    return ChampionChange(name=name, version=version, champion=False, by=by, reason=reason).model_dump(
        mode="json"
    )


@task(name="roll back the champion", task_run_name="roll {name} back")
def roll_back(name: str, by: str, reason: str) -> dict[str, Any]:
    """Give the alias ``champion`` back to the version that held it before, and return the `ChampionChange` as JSON.

    The version that loses it is a challenger no more.

    Raises
    ------
    PromotionError
        If there is no champion, or none before it.
    TrackingError
        If the registry cannot be reached.
    """
    client = store.client()
    try:
        with _registry_lock(name):
            champion = by_alias(name, CHAMPION)
            if champion is None:
                raise PromotionError(
                    f"{name} has no champion to roll back; `bife rules list` shows what there is."
                )
            before = champion.tags.get(_REPLACED)
            if not before:
                raise PromotionError(f"Version {champion.version} of {name} replaced no other champion.")
            client.set_registered_model_alias(name, CHAMPION, before)
            _put_aside(name, int(champion.version), "rolled_back", by, reason)
    except store.TRACKING_TROUBLE as error:
        raise unreachable(error) from error
    return ChampionChange(name=name, version=int(before), champion=True, by=by, reason=reason).model_dump(
        mode="json"
    )


def _registry_lock(name: str) -> Any:
    return process_lock(project_home().locks / f"registry-{name}.lock")


def _set_champion(name: str, number: int, before: ModelVersion | None, by: str, reason: str) -> None:
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


def _number(version: ModelVersion | None) -> int | None:
    """Return a version's number; some of MLflow's stores give it as text."""
    return None if version is None else int(version.version)


def _evidence(version: ModelVersion | None) -> Evidence | None:
    """Return what a version's tags say; None without a version, or one that was registered by other means."""
    if version is None or "ratio" not in version.tags:
        return None
    known = {key: value for key, value in version.tags.items() if key in Evidence.model_fields}
    return Evidence.model_validate({"ci_low": None, "ci_high": None} | known)

"""Who is champion: by the statistical gate, by a person, or by going back; the registry keeps who and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from prefect import task

from bife_core.errors import BifeError
from bife_core.values import Value
from tasks.policy import TRIED_AGAIN
from tasks.registry.evidence import Evidence, Weighing, weigh
from tasks.registry.refusals import APPROVED, Word, refusal
from tasks.registry.versions import (
    CHALLENGER,
    CHAMPION,
    RegisteredRule,
    by_alias,
    by_hash,
    registered_rule,
    registry,
)
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


def crown(registered: RegisteredRule, evidence: Evidence) -> RegisteredRule:
    """Give a version the alias ``champion`` if `weigh` says so, and return it with its present aliases.

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
            weighing = weighed(evidence, champion)
            if weighing.promote:
                _set_champion(name, number, champion, GATE, weighing.reason)
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
        weighing=weighed(evidence, champion),
        card=challenger.card,
        page=store.version_url(name, challenger.version),
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


def weighed(evidence: Evidence, champion: RegisteredRule | None) -> Weighing:
    """Return what `weigh` says of a challenger beside the present champion, if there is one."""
    return weigh(evidence, None) if champion is None else weigh(evidence, champion.sha, champion.metric)


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

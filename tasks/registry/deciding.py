"""Registration, and decisions on which version is challenger and which champion, each kept with who made it and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from mlflow import MlflowClient
from prefect import task

from bife_core.errors import BifeError
from bife_core.methods.loading import method_of
from bife_core.values import Value
from bife_core.wording import storable
from tasks.registry.evidence import (
    CHALLENGER,
    CHAMPION,
    REFUSALS,
    REPLACED,
    Evidence,
    GateDecision,
    RegisteredRule,
    gate,
    refusal,
)
from tasks.registry.models import create_version, model_card
from tasks.registry.reading import by_alias, by_hash, registered, registry
from tasks.states import TRIED_AGAIN

GATE: Final = "the statistical gate"
"""Who decides where no person does."""


class PromotionError(BifeError):
    """There is nothing to promote or to roll back."""


class Case(Value):
    """A challenger before the gate; `champion` is the present one's version, `refused` an earlier refusal in words."""

    challenger: RegisteredRule
    champion: int | None
    decision: GateDecision
    refused: str


class ChampionChange(Value):
    """What became of the alias ``champion``: whether a version holds it now, who decided it, and why."""

    name: str
    version: int
    champion: bool
    by: str
    reason: str

    @property
    def sentence(self) -> str:
        """What it came to, without a full stop."""
        return f"Version {self.version} of {self.name} is {'champion' if self.champion else 'no longer champion'}"


@task(name="register", task_run_name="register a rule as {name}", **TRIED_AGAIN)
def register(name: str, source: str, evidence: Evidence, by_gate: bool = False) -> RegisteredRule:
    """Register the text of a method under a name and give it the alias ``challenger``.

    The same rule of the same evolution is registered only once for each metric and settings of SCIP it is judged by.
    A rule that a person refused as measured on the same instances is registered without the alias, and so is one that
    does not pass the gate while the present challenger does: a person may be about to decide on that. With `by_gate`
    the gate alone decides on ``champion``, now; it does not overrule a person who refused the rule.
    """
    method = method_of(source)
    known = {"file": method.file_name, **evidence.model_dump(exclude_none=True)}
    tags = {key: storable(str(value)) for key, value in known.items()}
    with registry(held=name) as client:
        held, champion = by_hash(name, evidence.sha), by_alias(name, CHAMPION)
        challenger = by_alias(name, CHALLENGER)
        refused = next((each.tags for each in held if refusal(each.tags, evidence.test_digest)), {})
        tags |= {key: value for key, value in refused.items() if _refuses(key)}
        # By another metric it is another entry: what a champion was judged by never changes under it.
        entries = {(v.tags.get("evolution_key", ""), v.metric, v.solver_digest): v for v in reversed(held)}
        same = entries.get((evidence.evolution_key, evidence.metric, evidence.solver_digest))
        if same is None:
            number = create_version(client, name, method, evidence, tags)
        else:
            number = str(same.version)
            # Tags that the new evidence does not have are out of date.
            for key in (same.tags.keys() & Evidence.model_fields.keys()) - tags.keys():
                client.delete_model_version_tag(name, number, key)
            _tag(client, name, number, tags)
            client.update_model_version(name, number, model_card(name, method, evidence))
        decision, waiting = gate(evidence, champion), None
        if challenger is not None and challenger.version not in (int(number), _number(champion)):
            waiting = challenger.evidence
        if not refused and (decision.promote or waiting is None or not gate(waiting, champion).promote):
            client.set_registered_model_alias(name, CHALLENGER, number)
        if not refused and by_gate and decision.promote:
            _set_champion(client, name, int(number), champion, GATE, decision.reason)
        return registered(f"models:/{name}/{number}")


@task(name="assess the challenger", task_run_name="assess the challenger of {name}", **TRIED_AGAIN)
def open_case(name: str) -> Case:
    """Return the case of a registered model's challenger; without one that could be promoted a `PromotionError`."""
    challenger, champion = by_alias(name, CHALLENGER), by_alias(name, CHAMPION)
    if challenger is None or (evidence := challenger.evidence) is None:
        raise PromotionError(
            f"{name} has no evaluated challenger; `bife rules list` shows what is registered."
        )
    if (number := _number(champion)) == challenger.version:
        raise PromotionError(f"Version {number} of {name}, its challenger, is champion already.")
    refused = next(filter(None, (refusal(version.tags) for version in by_hash(name, evidence.sha))), "")
    decision = gate(evidence, champion)
    return Case(challenger=challenger, champion=number, decision=decision, refused=refused)


@task(name="set the champion", task_run_name="make version {version} of {name} champion")
def promote(name: str, version: int, by: str, reason: str) -> None:
    """Make a version champion, and record who decided it and why; refusals of the same rule are taken back."""
    with registry(held=name) as client:
        _set_champion(client, name, version, by_alias(name, CHAMPION), by, reason)


@task(name="refuse the challenger", task_run_name="refuse version {version} of {name}")
def refuse(name: str, version: int, by: str, reason: str) -> None:
    """Take the alias ``challenger`` from a version, and record who decided it and why."""
    with registry(held=name) as client:
        _put_aside(client, name, version, "rejected", by, reason)


def present_champion_of(name: str, version: int | None = None) -> RegisteredRule:
    """Return the champion of a registered model; a `PromotionError` says that there is none, or not that version."""
    champion = by_alias(name, CHAMPION)
    if champion is None or version not in (None, champion.version):
        which = "no champion" if champion is None else f"another champion than version {version}"
        raise PromotionError(f"{name} has {which}; `bife rules list` shows what there is.")
    return champion


@task(name="roll back the champion", task_run_name="roll {name} back")
def roll_back(name: str, by: str, reason: str, version: int | None = None) -> ChampionChange:
    """Take the alias ``champion`` from the version that holds it; the one that it replaced, if any, gets it back.

    A `PromotionError` says that there is no champion, or another than `version`.
    """
    with registry(held=name) as client:
        champion = present_champion_of(name, version)
        if champion.replaced:
            client.set_registered_model_alias(name, CHAMPION, champion.replaced)
        else:
            client.delete_registered_model_alias(name, CHAMPION)
        _put_aside(client, name, champion.version, "rolled_back", by, reason)
    number = int(champion.replaced or champion.version)
    return ChampionChange(name=name, version=number, champion=bool(champion.replaced), by=by, reason=reason)


def _number(version: RegisteredRule | None) -> int | None:
    return None if version is None else version.version


def _refuses(tag: str) -> bool:
    return tag.startswith(tuple(REFUSALS))


def _set_champion(
    client: MlflowClient, name: str, number: int, before: RegisteredRule | None, by: str, reason: str
) -> None:
    """Make a version champion after the one `before`, unless it is that one, and take refusals of its rule back."""
    if _number(before) == number:
        return
    version = registered(f"models:/{name}/{number}")
    for same in [version, *by_hash(name, version.sha)]:
        for tag in filter(_refuses, same.tags):
            client.delete_model_version_tag(name, str(same.version), tag)
    # First the reason, then the alias: a champion without a reason is the worse state to be found in.
    replaced = "" if before is None else str(before.version)
    decision = {"approved_by": by, "approved_reason": reason, "approved_at": _now(), REPLACED: replaced}
    _tag(client, name, str(number), decision)
    client.set_registered_model_alias(name, CHAMPION, str(number))


def _put_aside(client: MlflowClient, name: str, number: int, word: str, by: str, reason: str) -> None:
    """Record why a version is out of the running, on which instances it was measured, and end its challenge."""
    measured = client.get_model_version(name, str(number)).tags.get("test_digest", "")
    decision = {"by": by, "reason": reason, "test_digest": measured, "at": _now()}
    _tag(client, name, str(number), {f"{word}_{key}": value for key, value in decision.items()})
    if _number(by_alias(name, CHALLENGER)) == number:
        client.delete_registered_model_alias(name, CHALLENGER)


def _tag(client: MlflowClient, name: str, number: str, tags: Mapping[str, str]) -> None:
    for key, value in tags.items():
        client.set_model_version_tag(name, number, key, storable(value))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

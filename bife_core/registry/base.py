"""The registry: registration, and decisions on which version is challenger and which champion, whoever keeps them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Final

from pyscipopt import Model

from bife_core.base.errors import BifeError, RegistryError, RuleError, StoreError
from bife_core.base.values import Value
from bife_core.base.wording import storable
from bife_core.instances.config import InstancesConfig
from bife_core.registry.choosing import choose, registered_name
from bife_core.registry.evidence import (
    CHALLENGER,
    CHAMPION,
    REFUSALS,
    REPLACED,
    SUPERSEDED,
    UNGATED,
    Evidence,
    GateDecision,
    RegisteredRule,
    gate,
    model_card,
    refusal,
)
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.references import MODEL_REFERENCE, method_of, unaltered
from bife_core.solver.scip.settings import SolverConfig

GATE: Final = "the statistical gate"
"""Who decides where no person does."""


class PromotionError(BifeError):
    """There is nothing to promote or to roll back."""


class Case(Value):
    """A challenger before the gate; `champion` is the present one, `refused` an earlier refusal in words."""

    challenger: RegisteredRule
    champion: RegisteredRule | None
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
        """The outcome, without a full stop."""
        return f"Version {self.version} of {self.name} is {'champion' if self.champion else 'no longer champion'}"


class Registry(ABC):
    """Versions of rules under names; all methods raise `RegistryError` if what keeps them does not answer."""

    @abstractmethod
    def held(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which no other thread or process decides on the versions of a name."""

    @abstractmethod
    def versions(self, name: str | None = None, sha: str | None = None) -> list[RegisteredRule]:
        """Return all versions, or those of a name and hash, by name, newest first; with a hash aliases may lack."""

    @abstractmethod
    def find(self, name: str, which: str | int) -> RegisteredRule | None:
        """Return the version that holds an alias, or has a number; None if there is none."""

    def located(self, evidence: Evidence) -> Evidence:
        """Return evidence with this registry's ids of its evaluation and search, which it may give as studies."""
        return evidence

    @abstractmethod
    def text(self, version: RegisteredRule) -> str:
        """Return the text of the method that a version holds."""

    @abstractmethod
    def create(
        self, name: str, method: Method, evidence: Evidence, tags: Mapping[str, str], card: str
    ) -> int:
        """Make a version of a method with its tags and card, all or nothing, and return its number."""

    @abstractmethod
    def update(
        self, name: str, number: int, tags: Mapping[str, str], *, without: Iterable[str] = (), card: str = ""
    ) -> None:
        """Set tags of a version, remove those named `without`, and replace the card if one is given."""

    @abstractmethod
    def set_alias(self, name: str, alias: str, number: int | None) -> None:
        """Give an alias to one version of a name, or to none."""

    def champion_changed(self, **change: Any) -> None:  # noqa: B027
        """Announce that `version` of `name` is champion in place of `before`, `by` whom and why."""

    def register(self, name: str, source: str, evidence: Evidence, by_gate: bool = False) -> RegisteredRule:
        """Register the text of a method as ``challenger``, one version for each search, metric and settings of SCIP.

        It does not get the alias if a person refused it on the same test instances, or if the present challenger alone
        passes the gate and so waits for a person. With `by_gate` the gate also decides on ``champion``, now, unless a
        person refused the rule.
        """
        method, evidence = method_of(source), self.located(evidence)
        facts = {"file": method.file_name, **evidence.model_dump(exclude_none=True)}
        tags = {key: storable(str(value)) for key, value in facts.items()}
        card = model_card(name, method, evidence)
        with self.held(name):
            same_rule = self.versions(name, evidence.sha)
            champion, challenger = self.find(name, CHAMPION), self.find(name, CHALLENGER)
            refused = next((each.tags for each in same_rule if refusal(each.tags, evidence.test_digest)), {})
            tags |= {key: value for key, value in refused.items() if _refuses(key)}
            # By another metric it is another entry: what a champion was judged by never changes under it.
            entry = (evidence.search_key, evidence.metric, evidence.solver_digest)
            same = next((each for each in same_rule if each.entry == entry), None)
            if same is None:
                number = self.create(name, method, evidence, tags, card)
            else:
                number = same.version
                # Tags that the new evidence does not have are out of date.
                outdated = (same.tags.keys() & Evidence.model_fields.keys()) - tags.keys()
                self.update(name, number, tags, without=outdated, card=card)
            decision, waiting = gate(evidence, champion), None
            if challenger is not None and challenger.version not in (number, _number(champion)):
                waiting = challenger.evidence
            if not refused and (decision.promote or waiting is None or not gate(waiting, champion).promote):
                self.set_alias(name, CHALLENGER, number)
            if not refused and by_gate and decision.promote:
                self._set_champion(name, number, champion, GATE, decision.sentence)
            return self._version(name, number)

    def open_case(self, name: str) -> Case:
        """Return the case of a name's challenger; without one that could be promoted a `PromotionError`."""
        challenger, champion = self.find(name, CHALLENGER), self.find(name, CHAMPION)
        if challenger is None or (evidence := challenger.evidence) is None:
            raise PromotionError(
                f"{name} has no evaluated challenger; `bife rules list` shows what is registered."
            )
        if _number(champion) == challenger.version:
            raise PromotionError(
                f"Version {challenger.version} of {name}, its challenger, is champion already"
                f"{UNGATED * challenger.ungated}."
            )
        same_rule = self.versions(name, evidence.sha)
        refused = next(filter(None, (refusal(version.tags) for version in same_rule)), "")
        decision = gate(evidence, champion)
        return Case(challenger=challenger, champion=champion, decision=decision, refused=refused)

    def promote(self, name: str, version: int, by: str, reason: str) -> None:
        """Make a version champion, and record who decided it and why; refusals of the same rule are taken back."""
        with self.held(name):
            self._set_champion(name, version, self.find(name, CHAMPION), by, reason)

    def refuse(self, name: str, version: int, by: str, reason: str) -> None:
        """Take the alias ``challenger`` from a version, and record who decided it and why."""
        with self.held(name):
            self._put_aside(self._version(name, version), "rejected", by, reason)

    def roll_back(self, name: str, by: str, reason: str, version: int | None = None) -> ChampionChange:
        """Give the alias ``champion`` back to what the champion replaced, if any; see `present_champion_of`."""
        with self.held(name):
            champion = self.present_champion_of(name, version)
            before = int(champion.replaced) if champion.replaced else None
            self.set_alias(name, CHAMPION, before)
            if before is not None:
                self.update(name, before, {}, without=[SUPERSEDED])
            self._put_aside(champion, "rolled_back", by, reason)
        self.champion_changed(name=name, version=before, before=champion.version, by=by, reason=reason)
        number = before or champion.version
        return ChampionChange(name=name, version=number, champion=before is not None, by=by, reason=reason)

    def keep(self, name: str, version: int, by: str, reason: str) -> None:
        """Record who refused to take a champion out of use, and why."""
        self.update(name, version, _decision("kept", by, reason))

    def present_champion_of(self, name: str, version: int | None = None) -> RegisteredRule:
        """Return the champion of a name; a `PromotionError` says that there is none, or not that version."""
        champion = self.find(name, CHAMPION)
        if champion is None or version not in (None, champion.version):
            which = "no champion" if champion is None else f"another champion than version {version}"
            raise PromotionError(f"{name} has {which}; `bife rules list` shows what there is.")
        return champion

    def champion_of(self, instances: InstancesConfig, solver: SolverConfig) -> RegisteredRule | None:
        """Return the champion that was measured on such instances under the very same settings of SCIP, or None."""
        champion = self.find(registered_name(instances, solver), CHAMPION)
        return champion if champion is not None and champion.solver_digest == solver.digest else None

    def registered(self, reference: str) -> RegisteredRule:
        """Return the version that ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` is, or raise `RuleError`."""
        match = MODEL_REFERENCE.fullmatch(reference)
        if match is None:
            raise RuleError(
                f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
                "models:/<name>/<version>."
            )
        version = self.find(match["name"], match["alias"] or int(match["version"]))
        if version is None:
            raise RuleError(f"The registry holds no {reference}; `bife rules list` shows what it holds.")
        return version

    def method(self, reference: str) -> Method:
        """Return the method that a reference names; a `RuleError` says if there is none, or it was altered."""
        version = self.registered(reference)
        return method_of(unaltered(self.text(version), version.tags, reference), reference)

    def rule_for(self, model: Model, solver: SolverConfig) -> tuple[str, str]:
        """Return the reference of a rule for an instance, given as it was read, under settings of SCIP, and why it is.

        It is the best champion that was measured on instances like this one under the same settings, or else RPB: other
        rules can be slower. The reason then names such challengers, or says that the registry cannot be reached.
        """
        try:
            return choose(self.versions(), model, solver)
        except (RegistryError, StoreError) as error:
            return RPB, f"Champions are not known. {error}"

    def _version(self, name: str, number: int) -> RegisteredRule:
        return self.registered(f"models:/{name}/{number}")

    def _set_champion(
        self, name: str, number: int, before: RegisteredRule | None, by: str, reason: str
    ) -> None:
        """Make a version champion in place of `before`, unless it is that, and take refusals of its rule back."""
        if _number(before) == number:
            return
        version = self._version(name, number)
        for same in [version, *self.versions(name, version.sha)]:
            if refusals := [key for key in same.tags if _refuses(key) or key == SUPERSEDED]:
                self.update(name, same.version, {}, without=refusals)
        # First the reason, then the alias: a champion without a reason is the worse state to be found in.
        replaced = "" if before is None else str(before.version)
        self.update(name, number, _decision("approved", by, reason) | {REPLACED: replaced})
        self.set_alias(name, CHAMPION, number)
        if before is not None:
            self.update(name, before.version, {SUPERSEDED: _now()})
        self.champion_changed(name=name, version=number, before=_number(before), by=by, reason=reason)

    def _put_aside(self, version: RegisteredRule, word: str, by: str, reason: str) -> None:
        """Record why, and by which test instances, a version is out; take ``challenger`` from it."""
        measured = {f"{word}_test_digest": version.tags.get("test_digest", "")}
        self.update(version.name, version.version, _decision(word, by, reason) | measured)
        if _number(self.find(version.name, CHALLENGER)) == version.version:
            self.set_alias(version.name, CHALLENGER, None)


def _decision(word: str, by: str, reason: str) -> dict[str, str]:
    """Return the tags of a decision that is made now."""
    return {f"{word}_by": storable(by), f"{word}_reason": storable(reason), f"{word}_at": _now()}


def _number(version: RegisteredRule | None) -> int | None:
    return None if version is None else version.version


def _refuses(tag: str) -> bool:
    return tag.startswith(tuple(REFUSALS))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

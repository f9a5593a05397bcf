"""The registry in the store: a champion without a tracker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from bife_core.registry.base import Registry
from bife_core.registry.evidence import REPLACED, Evidence, RegisteredRule, numbered, refusal
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import method_of
from bife_core.store.home import Home
from bife_core.store.registered import REGISTRY, StoredVersion, stored_version, stored_versions

if TYPE_CHECKING:
    from bife_core.store import Store


class LocalRegistry(Registry):
    """Registered rules as events of a store, which `bife_core.store.registered` reads; each holds a rule's text."""

    def __init__(self, store: Store | Home) -> None:
        self._read = store

    @property
    def _store(self) -> Store:
        return self._read.store if isinstance(self._read, Home) else self._read

    def held(self, name: str) -> AbstractContextManager[None]:
        """Hold the claim on the registry: only its holder changes it."""
        return self._store.claim(REGISTRY)

    def versions(self, name: str | None = None, sha: str | None = None) -> list[RegisteredRule]:  # noqa: D102
        stored = stored_versions(self._read)
        names = [key for key in sorted(stored) if name in (None, key)]
        rules = [_rule(version) for key in names for version in reversed(stored[key])]
        return [rule for rule in rules if sha in (None, rule.sha)]

    def find(self, name: str, which: str | int) -> RegisteredRule | None:  # noqa: D102
        version = stored_version(self._read, name, which)
        return None if version is None else _rule(version)

    def text(self, version: RegisteredRule) -> str:  # noqa: D102
        return stored_versions(self._read)[version.name][version.version - 1].text

    def create(  # noqa: D102
        self, name: str, method: Method, evidence: Evidence, tags: Mapping[str, str], card: str
    ) -> int:
        self._append("registered", name=name, text=method.text, card=card, tags=dict(tags))
        return len(stored_versions(self._read)[name])

    def update(  # noqa: D102
        self, name: str, number: int, tags: Mapping[str, str], *, without: Iterable[str] = (), card: str = ""
    ) -> None:
        self._append("tagged", name=name, version=number, tags=dict(tags), without=[*without], card=card)

    def set_alias(self, name: str, alias: str, number: int | None) -> None:  # noqa: D102
        self._append("alias", name=name, version=number, alias=alias)

    def copy_to(self, other: Registry) -> int:
        """Register in another registry the versions it lacks, and return how many.

        They keep aliases that are free there, unless their rule was refused there, as measured on the same instances.
        """
        copied = 0
        for name, stored in stored_versions(self._read).items():
            with other.held(name):
                numbers = dict[str, int]()
                for version, rule in ((version, _rule(version)) for version in stored):
                    theirs = next(
                        (each for each in other.versions(name, rule.sha) if each.entry == rule.entry), None
                    )
                    if theirs is not None:
                        numbers[str(rule.version)] = theirs.version
                    elif rule.evidence is not None:
                        located = other.located(rule.evidence)
                        tags = rule.tags | located.model_dump(include={"evaluation_run", "search_run"})
                        tags.pop(REPLACED, None)
                        number = other.create(name, method_of(version.text), located, tags, version.card)
                        numbers[str(rule.version)], copied = number, copied + 1
                for rule in map(_rule, stored):
                    copy = other.find(name, numbers.get(str(rule.version), 0))
                    if copy is None:
                        continue
                    if rule.replaced in numbers and REPLACED not in copy.tags:
                        other.update(name, copy.version, {REPLACED: str(numbers[rule.replaced])})
                    digest, same_rule = rule.tags.get("test_digest"), other.versions(name, rule.sha)
                    if not any(refusal(each.tags, digest) for each in same_rule):
                        for alias in rule.aliases:
                            if other.find(name, alias) is None:
                                other.set_alias(name, alias, copy.version)
        return copied

    def _append(self, kind: str, **body: object) -> None:
        self._store.append(REGISTRY, kind, body)


def _rule(stored: StoredVersion) -> RegisteredRule:
    return RegisteredRule(
        name=stored.name,
        version=stored.number,
        aliases=tuple(sorted(stored.aliases)),
        tags=stored.tags,
        card=numbered(stored.card, stored.name, stored.number),
    )

"""Registered rules in the store, as the events of one study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bife_core.store.store import Store

REGISTRY: Final = "registry"
"""The study, and the claim on it."""


@dataclass
class StoredVersion:
    """A version of a registered rule: its text, model card, tags and present aliases."""

    name: str
    number: int
    text: str
    card: str
    tags: dict[str, str]
    aliases: set[str] = field(default_factory=set)


def stored_versions(store: Store) -> dict[str, list[StoredVersion]]:
    """Return all versions by name, oldest first."""
    by_name = dict[str, list[StoredVersion]]()
    for event in store.events(REGISTRY):
        body = event.body
        versions = by_name.setdefault(body["name"], [])
        if event.kind == "registered":
            versions.append(StoredVersion(**body, number=len(versions) + 1))
        elif event.kind == "tagged":
            version = versions[body["version"] - 1]
            kept = {name: tag for name, tag in version.tags.items() if name not in body["without"]}
            version.tags, version.card = kept | body["tags"], body["card"] or version.card
        elif event.kind == "alias":
            for version in versions:
                version.aliases.discard(body["alias"])
            if body["version"] is not None:
                versions[body["version"] - 1].aliases.add(body["alias"])
    return by_name


def stored_version(store: Store, name: str, which: str | int) -> StoredVersion | None:
    """Return the version of a name with an alias or number, or None."""
    versions = stored_versions(store).get(name, ())
    return next((v for v in versions if which == v.number or which in v.aliases), None)

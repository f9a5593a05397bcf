"""Registered rules as the store keeps them: as events in one stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bife_core.store.store import Store

REGISTRY: Final = "registry"
"""The stream, and the claim on it."""


@dataclass
class StoredVersion:
    """One version of a registered rule: its text, what is known of it, and the aliases it holds now."""

    name: str
    number: int
    text: str
    card: str
    tags: dict[str, str]
    aliases: set[str] = field(default_factory=set)


def stored_versions(store: Store) -> dict[str, list[StoredVersion]]:
    """Return all versions by the name they are registered under, oldest first."""
    found = dict[str, list[StoredVersion]]()
    for event in store.events(REGISTRY):
        body = event.body
        same = found.setdefault(body["name"], [])
        if event.kind == "registered":
            same.append(StoredVersion(**body, number=len(same) + 1))
        elif event.kind == "tagged":
            version = same[body["version"] - 1]
            kept = {name: tag for name, tag in version.tags.items() if name not in body["without"]}
            version.tags, version.card = kept | body["tags"], body["card"] or version.card
        elif event.kind == "alias":
            for version in same:
                version.aliases.discard(body["alias"])
            if body["version"] is not None:
                same[body["version"] - 1].aliases.add(body["alias"])
    return found


def stored_version(store: Store, name: str, which: str | int) -> StoredVersion | None:
    """Return the version of a name that holds an alias, or has a number; None if there is none."""
    versions = stored_versions(store).get(name, ())
    return next((one for one in versions if which == one.number or which in one.aliases), None)

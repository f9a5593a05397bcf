"""Registered rules in the store, as the events of one study."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bife_core.solver.methods.references import LISTED, MODEL_REFERENCE, AbsentError
from bife_core.store.home import Home, project_home
from bife_core.store.schema import SCHEMA, file_of

if TYPE_CHECKING:
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


def stored_versions(store: Store | Home) -> dict[str, list[StoredVersion]]:
    """Return all versions by name, oldest first."""
    by_name = dict[str, list[StoredVersion]]()
    for kind, body in _events(store):
        versions = by_name.setdefault(body["name"], [])
        if kind == "registered":
            versions.append(StoredVersion(**body, number=len(versions) + 1))
        elif kind == "tagged":
            version = versions[body["version"] - 1]
            kept = {name: tag for name, tag in version.tags.items() if name not in body["without"]}
            version.tags, version.card = kept | body["tags"], body["card"] or version.card
        elif kind == "alias":
            for version in versions:
                version.aliases.discard(body["alias"])
            if body["version"] is not None:
                versions[body["version"] - 1].aliases.add(body["alias"])
    return by_name


def _events(store: Store | Home) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return kinds and bodies; SQLAlchemy, which takes longer to load than a solve, is left out where it can be."""
    if isinstance(store, Home):
        if (file := file_of(store.stored_at)) is not None:
            if not file.exists():  # nothing is made by asking
                return []
            url = f"{file.absolute().as_uri()}?mode=ro"
            query = "SELECT kind, body FROM events WHERE study = ? ORDER BY seq"
            with suppress(sqlite3.Error, ValueError), closing(sqlite3.connect(url, uri=True)) as opened:
                schema = opened.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
                if schema == (SCHEMA,):
                    rows = opened.execute(query, (REGISTRY,))
                    return [(kind, json.loads(body)) for kind, body in rows]
        store = store.store  # which says what is wrong with it
    return ((event.kind, event.body) for event in store.events(REGISTRY))


def stored_version(store: Store | Home, name: str, which: str | int) -> StoredVersion | None:
    """Return the version of a name with an alias or number, or None."""
    versions = stored_versions(store).get(name, ())
    return next((v for v in versions if which == v.number or which in v.aliases), None)


def read_store(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text and the tags of a version in the registry of the home's store."""
    model, home = MODEL_REFERENCE.fullmatch(reference), project_home()
    version = model and stored_version(home, model["name"], model["alias"] or int(model["version"]))
    if version is None:
        place = file_of(home.stored_at) or home.store.name
        raise AbsentError(f"The registry in {place} holds no {reference}; {LISTED}.")
    return version.text, version.tags

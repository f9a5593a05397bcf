"""The text of a method that the registry in the home's store holds, where commands without a tracker register."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from bife_core.base.places import home
from bife_core.solver.methods.references import LISTED, MODEL_REFERENCE, AbsentError
from bife_core.store import DATABASE, Store
from bife_core.store.registered import stored_version


def read_store(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text and the tags of a version in the registry of the home's store."""
    model, url = MODEL_REFERENCE.fullmatch(reference), os.environ.get("BIFE_STORE")
    place, version = str(home() / DATABASE), None
    if model is not None and (url or Path(place).exists()):  # nothing is made by asking
        with closing(Store(url or home())) as store:
            place = store.name
            version = stored_version(store, model["name"], model["alias"] or int(model["version"]))
    if version is None:
        raise AbsentError(f"The registry in {place} holds no {reference}; {LISTED}.")
    return version.text, version.tags

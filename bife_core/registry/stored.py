"""The text of a method that the registry in the home's store holds, where commands without a tracker register."""

from __future__ import annotations

from bife_core.solver.methods.references import LISTED, MODEL_REFERENCE, AbsentError
from bife_core.store.home import project_home
from bife_core.store.registered import stored_version
from bife_core.store.schema import file_of


def read_store(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text and the tags of a version in the registry of the home's store."""
    model, home = MODEL_REFERENCE.fullmatch(reference), project_home()
    version = model and stored_version(home, model["name"], model["alias"] or int(model["version"]))
    if version is None:
        place = file_of(home.stored_at) or home.store.name
        raise AbsentError(f"The registry in {place} holds no {reference}; {LISTED}.")
    return version.text, version.tags

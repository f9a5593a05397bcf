"""References to what a registry or a tracker holds, and the text of the method that one names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bife_core.base.errors import RuleError
from bife_core.base.plugins import Plugins
from bife_core.solver.methods.configuration import FILE_NAME

MODEL_REFERENCE: Final = re.compile(
    r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@,]+)|/(?P<version>\d+))(?:,budget=.*)?"
)
RUN_REFERENCE: Final = re.compile(
    r"runs:/(?P<run>[0-9a-f]{32})(?:/(?P<file>[\w.-]+\.(?:py|json|set)))?(?:,budget=.*)?"
)

RUN_FILES: Final = (
    *("best_rule.py", "rule.py", "method.json"),
    *(FILE_NAME, "tuned.set", "tuned_again.set", "tuned_scip.set"),
)
"""Artifacts of a run that hold a method: of an evolution, of a sample or an evaluation, and of a tuning."""

READERS: Final[Plugins[Callable[[str], tuple[str, dict[str, str]]]]] = Plugins(
    "registry",
    "bife.registries",
    {"mlflow": "bife_core.registry.stored:read_mlflow", "store": "bife_core.registry.stored:read_store"},
    callable,
    "a function from a reference to text and tags",
)
"""What reads a reference, in the order they are asked: a function that raises `AbsentError` for what it lacks."""


class AbsentError(RuleError):
    """A registry does not hold what a reference names, or, without words, there is no registry of that kind."""


def is_stored(reference: object) -> bool:
    """Whether a reference may be one of a registry or a run, by its form."""
    return isinstance(reference, str) and any(
        form.fullmatch(reference) for form in (MODEL_REFERENCE, RUN_REFERENCE)
    )


def read_stored(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text that a reference names, which `is_stored`, and the tags it was registered with, if it was.

    A `RuleError` says if it cannot be read, or is not there.
    """
    reasons = list[str]()
    for name in READERS:
        try:
            return READERS.find(name)(reference)
        except AbsentError as error:
            reasons += filter(None, [str(error)])
    raise RuleError(reasons[0])


def registered_tags(reference: object) -> dict[str, str]:
    """Return what the registry says of the version a reference names; nothing for any other reference."""
    return read_stored(str(reference))[1] if is_stored(reference) else {}

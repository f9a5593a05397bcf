"""What the shell may complete."""

from __future__ import annotations

from pathlib import Path
from typing import Final

AUTO: Final = "auto"
"""Leaves the choice of a rule to the registry."""


def rule_references(incomplete: str) -> list[tuple[str, str]]:
    """Return reference rules and files of methods that begin like `incomplete`, each with a description."""
    from bife_core.rules import REFERENCE_RULES

    named = [(name, rule.summary) for name, rule in REFERENCE_RULES.items() if name.startswith(incomplete)]
    folder, _, start = incomplete.rpartition("/")
    prefix = incomplete.removesuffix(start)
    found = sorted(Path(folder or ("/" if prefix else ".")).glob(f"{start}*"))
    files = [(f"{prefix}{path.name}", "file") for path in found if path.suffix in (".py", ".json")]
    folders = [(f"{prefix}{path.name}/", "folder") for path in found if path.is_dir()]
    return named + files + folders


def auto_or_rule_references(incomplete: str) -> list[tuple[str, str]]:
    """Return the word that leaves the choice open, then what `rule_references` returns."""
    auto = [(AUTO, "the champion for such models")] if AUTO.startswith(incomplete) else []
    return auto + rule_references(incomplete)


def methods(incomplete: str) -> list[tuple[str, str]]:
    """Return SCIP's methods and methods of other packages, then what `rule_references` returns."""
    from bife_core.methods.base import METHODS
    from bife_core.scip.builtin import BUILTIN_METHODS

    named = dict.fromkeys(BUILTIN_METHODS, "SCIP") | dict.fromkeys(METHODS.foreign, "plugin")
    return [pair for pair in named.items() if pair[0].startswith(incomplete)] + rule_references(incomplete)

"""What the shell may complete."""

from __future__ import annotations

from pathlib import Path


def rule_references(incomplete: str) -> list[tuple[str, str]]:
    """Return reference rules and Python files that begin like `incomplete`, each with a description."""
    from bife_core.rules import REFERENCE_RULES

    named = [(name, rule.summary) for name, rule in REFERENCE_RULES.items() if name.startswith(incomplete)]
    folder, _, start = incomplete.rpartition("/")
    prefix = incomplete.removesuffix(start)
    found = sorted(Path(folder or ("/" if prefix else ".")).glob(f"{start}*"))
    files = [(f"{prefix}{path.name}", "file") for path in found if path.suffix == ".py"]
    folders = [(f"{prefix}{path.name}/", "folder") for path in found if path.is_dir()]
    return named + files + folders


def branchers(incomplete: str) -> list[tuple[str, str]]:
    """Return SCIP's branchers, then what `rule_references` returns."""
    from bife_core.scip.builtin import BUILTIN_BRANCHERS

    built_in = [(name, "SCIP") for name in BUILTIN_BRANCHERS if name.startswith(incomplete)]
    return built_in + rule_references(incomplete)

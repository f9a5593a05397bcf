"""The reference rules: functions of `bife_core/language/rules/reference.py`, each described by its docstring."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from bife_core.language.components import BRANCHING
from bife_core.language.syntax import syntax_tree


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """A rule that comes with BiFE: a sentence, who published it, and whose reference it is."""

    name: str
    source: str
    summary: str
    origin: str
    family: str | None


def read_rules(text: str) -> dict[str, ReferenceRule]:
    """Read the rules of a module: its functions, whose docstrings name an origin."""
    lines = text.splitlines()
    numbers: dict[str, str] = {}
    rules: dict[str, ReferenceRule] = {}
    for node in syntax_tree(text).body:
        if isinstance(node, ast.Assign):
            names, values = (
                ast.unparse(side).strip("()").split(", ") for side in (node.targets[0], node.value)
            )
            numbers |= dict(zip(names, values, strict=True))
        elif isinstance(node, ast.FunctionDef):
            documentation = ast.get_docstring(node) or ""
            paragraphs = [" ".join(paragraph.split()) for paragraph in documentation.split("\n\n")]
            fields = dict(paragraph.split(": ", 1) for paragraph in paragraphs[1:])
            used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            constants = [word for word in numbers if word in used]
            parts = [
                f'"""{documentation}\n"""\n',
                *(["import math\n"] if "math" in used else []),
                f"{', '.join(constants)} = {', '.join(map(numbers.__getitem__, constants))}\n",
                f"\ndef {BRANCHING.function}({BRANCHING.argument}) -> float:",
                *lines[node.body[1].lineno - 1 : node.end_lineno],
            ]
            source = "\n".join(parts) + "\n"
            about = (paragraphs[0], fields["Origin"], fields.get("Family"))
            rules[node.name] = ReferenceRule(node.name, source, *about)
    return rules


REFERENCE_RULES: Final[Mapping[str, ReferenceRule]] = read_rules(
    files("bife_core.language.rules").joinpath("reference.py").read_text(encoding="utf-8")
)

BENCHMARK_RULES: Final[Mapping[str, str]] = {
    rule.family: rule.name for rule in REFERENCE_RULES.values() if rule.family is not None
}

"""The reference rules: functions of `bife_core/rules/reference.py`, each described by its docstring."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from bife_core.rules.language import FUNCTION_NAME
from bife_core.syntax import syntax_tree


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """A rule that comes with BiFE: a sentence, who published it, and whose reference it is."""

    name: str
    source: str
    summary: str
    origin: str
    benchmark: str | None


def read_rules(text: str) -> dict[str, ReferenceRule]:
    """Read the rules of a module: its functions whose docstring names an origin; the others are helpers."""
    tree, lines = syntax_tree(text), text.splitlines()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    numbers: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names, values = (
                ast.unparse(side).strip("()").split(", ") for side in (node.targets[0], node.value)
            )
            numbers |= dict(zip(names, values, strict=True))
    rules: dict[str, ReferenceRule] = {}
    for name, function in functions.items():
        documentation = ast.get_docstring(function)
        if documentation is None:
            continue
        paragraphs = [" ".join(paragraph.split()) for paragraph in documentation.split("\n\n")]
        fields = dict(paragraph.split(": ", 1) for paragraph in paragraphs[1:])
        used = _names(function)
        helpers = [functions[word] for word in used if word in functions]
        used |= {word: None for helper in helpers for word in _names(helper)}
        constants = [word for word in numbers if word in used]
        parts = [
            f'"""{documentation}\n"""\n',
            *(["import math\n"] if "math" in used else []),
            *(
                [f"{', '.join(constants)} = {', '.join(map(numbers.__getitem__, constants))}\n"]
                if constants
                else []
            ),
            *("\n" + "\n".join(lines[helper.lineno - 1 : helper.end_lineno]) + "\n" for helper in helpers),
            f"\ndef {FUNCTION_NAME}(variable_features) -> float:",
            *lines[function.body[1].lineno - 1 : function.end_lineno],
        ]
        source = "\n".join(parts) + "\n"
        rules[name] = ReferenceRule(name, source, paragraphs[0], fields["Origin"], fields.get("Benchmark"))
    return rules


def _names(function: ast.FunctionDef) -> dict[str, None]:
    return {node.id: None for node in ast.walk(function) if isinstance(node, ast.Name)}


REFERENCE_RULES: Final[Mapping[str, ReferenceRule]] = read_rules(
    files("bife_core.rules").joinpath("reference.py").read_text(encoding="utf-8")
)
"""All reference rules by name."""

BENCHMARK_RULES: Final[Mapping[str, str]] = {
    rule.benchmark: rule.name for rule in REFERENCE_RULES.values() if rule.benchmark is not None
}
"""Benchmark to the name of its reference rule."""

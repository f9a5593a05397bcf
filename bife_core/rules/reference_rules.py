"""The reference rules: functions of `bife_core/rules/reference.py`, each described by its docstring."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from inspect import cleandoc
from typing import Final

from bife_core.errors import RuleError
from bife_core.rules.language import FUNCTION_NAME
from bife_core.syntax import syntax_tree


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """A rule that comes with BiFE.

    Attributes
    ----------
    name : str
    source : str
        Python text.
    summary : str
        What it does, in one sentence.
    origin : str
        Who published it, or that it is ours.
    benchmark : str or None
        The benchmark whose reference it is.
    """

    name: str
    source: str
    summary: str
    origin: str
    benchmark: str | None


def read_rules(text: str) -> dict[str, ReferenceRule]:
    """Read the rules of a module: its functions whose docstring names an origin; the others are helpers.

    Raises
    ------
    RuleError
        If a function has a docstring that names no origin.
    """
    tree, lines = syntax_tree(text), text.splitlines()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    numbers: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                numbers |= {
                    ast.unparse(one): ast.unparse(value) for one, value in zip(names, values, strict=True)
                }
    rules: dict[str, ReferenceRule] = {}
    for name, function in functions.items():
        documentation = ast.get_docstring(function)
        if documentation is None:
            continue
        paragraphs = [" ".join(paragraph.split()) for paragraph in cleandoc(documentation).split("\n\n")]
        fields = dict(paragraph.split(": ", 1) for paragraph in paragraphs[1:] if ": " in paragraph)
        if not fields.get("Origin"):
            raise RuleError(f"The reference rule {name!r} needs a docstring with a paragraph 'Origin: ...'.")
        words = {node.id: None for node in ast.walk(function) if isinstance(node, ast.Name)}
        helpers = [functions[word] for word in words if word in functions]
        words |= {
            node.id: None for helper in helpers for node in ast.walk(helper) if isinstance(node, ast.Name)
        }
        constants = [word for word in numbers if word in words]
        given = ", ".join(numbers[word] for word in constants)
        parts = [
            *(["import math\n"] if "math" in words else []),
            *([f"{', '.join(constants)} = {given}\n"] if constants else []),
            *("\n" + "\n".join(lines[helper.lineno - 1 : helper.end_lineno]) + "\n" for helper in helpers),
            f"\ndef {FUNCTION_NAME}(variable_features) -> float:",
        ]
        body = "\n".join(lines[function.body[1].lineno - 1 : function.end_lineno])
        end = "\n" if "\n" in documentation else ""
        source = f'"""{documentation}{end}"""\n\n' + "\n".join(parts) + f"\n{body}\n"
        rules[name] = ReferenceRule(name, source, paragraphs[0], fields["Origin"], fields.get("Benchmark"))
    return rules


REFERENCE_RULES: Final[Mapping[str, ReferenceRule]] = read_rules(
    files("bife_core.rules").joinpath("reference.py").read_text(encoding="utf-8")
)
"""All reference rules by name."""

BENCHMARK_RULES: Final[Mapping[str, str]] = {
    rule.benchmark: rule.name for rule in REFERENCE_RULES.values() if rule.benchmark is not None
}
"""Benchmark to the name of its reference rule."""

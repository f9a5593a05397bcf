"""Prompts for language models: problem description, operator, parents and rule template, as text files.

The files lie in `prompts/`: `problem.md`, one per operator and reflection, `parent.md`, and a template of the
answer for rules and one for skeletons. Words after a dollar sign are filled in here; the description of the
features comes from the table `FEATURES`.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources
from string import Template
from typing import Final, get_args

from bife_core.features import FEATURES, GROUPS, N_FEATURES
from bife_core.generators.base import Message
from bife_core.search.types import Reflection, Sample, WritingOperator, WrittenRequest

OPERATORS: Final[tuple[WritingOperator, ...]] = get_args(WritingOperator)
REFLECTIONS: Final[tuple[Reflection, ...]] = get_args(Reflection)
_FILES: Final = ("problem", *OPERATORS, *REFLECTIONS, "parent", "template", "skeleton_template")


@cache
def _template(name: str) -> Template:
    path = resources.files("bife_core.generators") / "prompts" / f"{name}.md"
    return Template(path.read_text(encoding="utf-8"))


def prompt_templates() -> dict[WritingOperator, str]:
    """Return the whole template of each operator, features filled in and the other fields as ``$name``."""
    return {
        operator: "\n\n".join(
            text.strip()
            for text in (
                _template("problem").safe_substitute(_table()),
                _template(operator).template,
                _template("template").substitute(_table()),
            )
        )
        for operator in OPERATORS
    }


@cache
def feature_description() -> str:
    """Return the part of the prompt that explains the features, one line each under their group's heading."""
    lines: list[str] = []
    for group in GROUPS:
        when = "constant during a solve" if group.cost == "solve" else "updated at every node"
        lines += ["", f"## {group.name.replace('_', ' ')} ({when})"]
        lines += [
            f"- variable_features[{feature.index}] {feature.name}: {feature.meaning}"
            for feature in FEATURES
            if feature.group == group
        ]
    return "\n".join(lines).strip()


def _table() -> dict[str, str | int]:
    return {"features": feature_description(), "n_features": N_FEATURES}


@cache
def prompt_version() -> str:
    """Return a hash of all prompt files and of the feature table, to be stored with what a model answered."""
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(f"{name}\0{_template(name).template}\0".encode())
    digest.update(feature_description().encode())
    return digest.hexdigest()[:16]


def prompt_digest(messages: tuple[Message, ...]) -> str:
    """Return a hash of `messages`, equal exactly when roles and contents are."""
    text = json.dumps([message.model_dump() for message in messages], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parent(number: int, parent: Sample) -> str:
    thought = parent.thought or "Its author left no description."
    filled = _template("parent").substitute(number=number, thought=thought, source=parent.written.strip())
    return filled.strip()


def assemble(request: WrittenRequest, benchmark: str) -> tuple[Message, ...]:
    """Return the messages that ask a language model for one rule or one reflection.

    The order is the paper's (section on rule generation): problem description, operator with the selected
    parents, rule template; a reflection has no template. It is one user message, since some servers ignore or
    refuse system messages.

    Examples
    --------
    >>> from bife_core.search import SampleRequest
    >>> request = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=0)
    >>> [message.role for message in assemble(request, "set_covering")]
    ['user']
    """
    parents = "\n\n".join(_parent(number, parent) for number, parent in enumerate(request.parents, start=1))
    hints = "\n".join(f"- {' '.join(hint.split())}" for hint in request.hints) or "- (none yet)"
    parts = [
        _template("problem").substitute(_table(), benchmark=benchmark.replace("_", " ")),
        _template(request.operator).substitute(count=len(request.parents), parents=parents, hints=hints),
    ]
    if request.operator not in REFLECTIONS:
        answer = "skeleton_template" if request.operator == "skeleton" else "template"
        parts.append(_template(answer).substitute(_table()))
    return (Message(role="user", content="\n\n".join(part.strip() for part in parts) + "\n"),)

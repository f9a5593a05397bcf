"""Prompts for language models: problem description, operator, parents and rule template, as text files.

The files lie in `prompts/`: `problem.md`, one per operator, `parent.md`, a template of the answer, the
sections that only informed prompts have, and `repair.md` for a second answer. Words
after a dollar sign are filled in here; the description of the features comes from the table `FEATURES`.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from bife_core.errors import ConfigError
from bife_core.features import FEATURES, GROUPS, N_FEATURES
from bife_core.generators.base import Draft, Message
from bife_core.generators.config import Prompts
from bife_core.generators.informing import earlier_attempts, feature_line, heading, measured_features, scores
from bife_core.generators.parsing import without_reasoning
from bife_core.generators.prompt_context import PromptContext
from bife_core.search.types import Operator, ReflectionRequest, Sample, WrittenRequest

OPERATORS: Final[tuple[Operator, ...]] = ("i1", "e1", "e2", "m1", "m2")
_INFORMED: Final = ("models", "scored_parent", "scores", "earlier", "m2_fitted", "fitted")
_FILES: Final = (
    "problem",
    *OPERATORS,
    "parent",
    "template",
    *_INFORMED,
    "repair",
)
_SENTENCE: Final = " It has 25 words at most and begins with what sets the rule apart from others."
"""What informed prompts add on the description of a rule: in the list of earlier attempts it is all there is."""
_QUOTED: Final = 12_000
"""Characters of a rejected answer that are shown to its author again."""


@cache
def _template(name: str) -> Template:
    path = resources.files("bife_core.generators") / "prompts" / f"{name}.md"
    return Template(path.read_text(encoding="utf-8"))


def prompt_templates() -> dict[Operator, str]:
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
        members = [feature_line(feature) for feature in FEATURES if feature.group == group]
        if members:
            lines += ["", f"## {heading(group)}", *members]
    return "\n".join(lines).strip()


def _table() -> dict[str, str | int]:
    return {"features": feature_description(), "n_features": N_FEATURES, "sentence": ""}


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


def _parent(number: int, parent: Sample, context: PromptContext | None) -> str:
    thought = parent.thought or "Its author left no description."
    if context is not None and parent.id in context.fitted:
        thought = f"{thought.rstrip('.')}. (Its numbers were fitted since.)"
    told = {"number": number, "thought": thought, "source": (parent.source or "").strip()}
    if context is None:
        return _template("parent").substitute(told).strip()
    return _template("scored_parent").substitute(told, scores=scores(parent, context)).strip()


def assemble(
    request: WrittenRequest, context: PromptContext, prompts: Prompts = "informed"
) -> tuple[Message, ...]:
    """Return the messages that ask a language model for one rule or one reflection.

    The order is the paper's (section on rule generation): problem description, operator with the selected
    parents, rule template; a reflection has no template. It is one user message, since some servers ignore or
    refuse system messages. Informed prompts tell in the same places what the context knows; of a context that knows
    the benchmark's name alone they are hardly more than the paper's.

    Examples
    --------
    >>> from bife_core.search import SampleRequest
    >>> request = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=0)
    >>> [message.role for message in assemble(request, PromptContext(benchmark="set_covering"))]
    ['user']
    """
    told = context if prompts == "informed" else None
    parents = "\n\n".join(
        _parent(number, parent, told) for number, parent in enumerate(request.parents, start=1)
    )
    hints = "\n".join(f"- {' '.join(hint.split())}" for hint in request.hints) or "- (none yet)"
    if told is not None and told.likeness is not None:
        parents += f"\n\nRule 1 and rule 2 choose the same candidate in {told.likeness:.0%} of the decisions."
    table = _table()
    if told is not None and told.features:
        table["features"] = measured_features(told)
    fitting = told is not None and told.fitting
    operator = "m2_fitted" if fitting and request.operator == "m2" else request.operator
    parts = [
        _template("problem").substitute(table, benchmark=context.benchmark.replace("_", " ")),
        _operator(operator, request).substitute(count=len(request.parents), parents=parents, hints=hints),
    ]
    if told is not None:
        parts = _with_facts(parts, request, told)
    if not isinstance(request, ReflectionRequest):
        if told is not None:
            table["sentence"] = _SENTENCE
        parts.append(_template("template").substitute(table))
    return (Message(role="user", content="\n\n".join(part.strip() for part in parts) + "\n"),)


def _operator(name: Operator, request: WrittenRequest) -> Template:
    """Return the operator's part of the prompt: the request's own, or the file of that name."""
    if request.prompt is not None:
        return Template(request.prompt)
    if request.operator not in OPERATORS:
        raise ConfigError(
            f"The operator {request.operator!r} is not one of {', '.join(OPERATORS)}: its search must give a prompt."
        )
    return _template(name)


def _with_facts(parts: list[str], request: WrittenRequest, context: PromptContext) -> list[str]:
    """Return problem and operator with what is known put before, between and behind them."""
    problem, operator = parts
    facts, behind = [], []
    if context.models:
        listed = "\n".join(f"- {sentence}" for sentence in context.models)
        facts.append(_template("models").substitute(models=listed))
    earlier = (
        "" if isinstance(request, ReflectionRequest) else earlier_attempts(context, shown=request.parents)
    )
    if earlier:
        behind.append(_template("earlier").substitute(earlier=earlier))
    if context.fitting and not isinstance(request, ReflectionRequest):
        behind.append(_template("fitted").template)
    if context.low and (request.parents or earlier or context.features):
        noise = " ".join(context.noise)
        facts.append(_template("scores").substitute(low=context.low, high=context.high, noise=noise))
    return [problem, *facts, operator, *behind]


def assemble_repair(rejected: Draft, reason: str) -> tuple[Message, ...] | None:
    """Return the conversation that asks for a second answer, given why the first is no rule; None without an answer."""
    answers = [attempt.answer or "" for attempt in rejected.attempts if attempt.status == "ok"]
    if not answers:
        return None
    # As it will be read back from the store: the next call is found again by a hash of this text.
    quoted = without_reasoning(answers[-1]).encode("utf-8", "replace").decode().strip()[:_QUOTED].strip()
    return (
        *rejected.messages,
        Message(role="assistant", content=quoted or "(no text)"),
        Message(role="user", content=_template("repair").substitute(reason=reason).strip() + "\n"),
    )

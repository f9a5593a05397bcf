"""From the text of a model's answer to a thought and the source of a rule, or to the reason there is none."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any, Final

from bife_core.components import BRANCHING, COMPONENTS, Component
from bife_core.generators.account import Call
from bife_core.generators.base import Draft
from bife_core.search.types import ReflectionRequest, WrittenRequest
from bife_core.syntax import NOT_PYTHON, functions_in, syntax_tree

_FENCE: Final = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_REASONING: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_BRACES: Final = re.compile(r"\{([^{}]{8,})\}", re.DOTALL)
_CODE_START: Final = re.compile(r"^(?:import |from \w+ import |def |@)", re.MULTILINE)
_USUAL_IMPORTS: Final = {"math": "import math", "np": "import numpy as np", "numpy": "import numpy"}
_ENDS: Final = {
    "length": "The answer reached the model's length limit. ",
    "content_filter": "The provider's content filter withheld the answer. ",
    "tool_calls": "The model called a tool where none is offered. ",
}
"""What is said first of an answer without a rule that ended so."""
_MOST_WORDS: Final = 120
_LONGEST_QUOTE: Final = 100
_LONGEST_THOUGHT: Final = 1000
_MOST_PIECES: Final = 50

LONGEST_ANSWER: Final = 200_000
"""Characters of an answer, its reasoning left out, that are read for a rule; a rule has a few thousand."""


def read_answer(request: WrittenRequest, call: Call) -> Draft:
    """Turn a call that has an answer into a draft: thought and source, a text, or why there is none."""
    about: dict[str, Any] = {"model": call.model, "seconds": call.seconds}
    if isinstance(request, ReflectionRequest):
        # The first words of the answer without reasoning and code.
        words = _FENCE.sub("", without_reasoning(call.answer or "")).split()
        text = " ".join(words[:_MOST_WORDS]) or None
        failure = None if text else "The model's reflection was empty."
        return Draft(**about, text=text, failure=failure)
    component = COMPONENTS.find(request.component)
    draft = parse_answer(call.answer, cut_off=call.finish_reason == "length", component=component)
    failure = draft.failure and f"{_ENDS.get(call.finish_reason or '', '')}{draft.failure}"
    return draft.model_copy(update=about | {"failure": failure})


def parse_answer(answer: str | None, *, cut_off: bool = False, component: Component = BRANCHING) -> Draft:
    r"""Read thought and rule from the text of an answer; all that can be wrong with it becomes its `failure`.

    Of several blocks of code, fenced or bare, the last that defines the function counts: models tend to repeat the
    parents before their own rule. `cut_off` says that the answer ended before its end, as at a length limit.

    Examples
    --------
    >>> parsed = parse_answer("{Its slack alone}\ndef candidate_variable_score(x):\n    return x[18]\n")
    >>> parsed.thought, parsed.failure
    ('Its slack alone', None)
    """
    name = component.function
    text = without_reasoning(answer or "", name).replace("\r\n", "\n").strip()
    if not text:
        found = "only unfinished reasoning" if answer and answer.strip() else "nothing"
        return Draft(failure=f"The model's answer was empty: a rule was expected, {found} was found.")
    if len(text) > LONGEST_ANSWER:
        return Draft(
            failure=f"The answer has {len(text):,} characters; a rule is looked for in {LONGEST_ANSWER:,} at most."
        )
    blocks = list(_FENCE.finditer(text))[-_MOST_PIECES:]
    pieces = [(textwrap.dedent(block.group(2)), text[: block.start()]) for block in blocks]
    if not any(name in code for code, _ in pieces):
        pieces += _bare_code(_FENCE.sub("", text))
    complaint: str | None = None
    for code, before in reversed(pieces):
        try:
            tree = syntax_tree(code)
        except NOT_PYTHON as error:
            if name in code and complaint is None:
                complaint = _complaint(error, cut_off or text.endswith(code.rstrip()))
            continue
        function = functions_in(tree).get(name)
        if function is None:
            continue
        # Where an answer was cut off, a rule was begun after this one, or this one may lack its end.
        if cut_off and (complaint is not None or text.endswith(code.rstrip())):
            return Draft(failure="The answer was cut off inside the rule.")
        if not any(isinstance(node, ast.Return) and node.value for node in ast.walk(function)):
            return Draft(failure=f"`{name}` never returns a score.")
        thought = printable(_thought(before, text, function) or "")[:_LONGEST_THOUGHT]
        return Draft(thought=thought or None, source=_rule_source(tree, code))
    begins = printable(text)[:_LONGEST_QUOTE]
    return Draft(failure=complaint or f'The answer holds no function `{name}`; it begins "{begins}".')


def without_reasoning(answer: str, function: str = BRANCHING.function) -> str:
    """Return an answer without what a model thought before it; `function` is the name of a rule's.

    Examples
    --------
    >>> without_reasoning("<think>a draft</think>the rule"), without_reasoning("a draft</think>the rule")
    ('the rule', 'the rule')
    """
    closed = _REASONING.sub("", answer)
    # Where the prompt's template opens the reasoning, the answer only closes it. A rule may speak of the tag, too.
    before, _, after = closed.rpartition("</think>")
    return closed if function in before and function not in after else after


def _bare_code(text: str) -> list[tuple[str, str]]:
    """Return unfenced code and the text before it: from the first import or def to the last line that parses.

    It is shortened at lines that begin at the margin only: a function that was cut off stays a syntax error.
    """
    start = _CODE_START.search(text)
    if start is None:
        return []
    before, lines = text[: start.start()], text[start.start() :].split("\n")
    margins = [n for n in range(1, len(lines)) if lines[n][:1].strip() and lines[n][0] not in ")]}"]
    for end in (len(lines), *reversed(margins[-_MOST_PIECES:])):
        code = "\n".join(lines[:end])
        try:
            if functions_in(code):
                return [(code, before)]
        except NOT_PYTHON:
            continue
    return [(text[start.start() :], before)]


def _complaint(error: BaseException, at_end: bool) -> str:
    if at_end:
        return "The answer was cut off before the rule ended, or it is no valid Python."
    where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
    return f"The rule in the answer is no valid Python: {printable(what)}{where}."


def printable(text: str) -> str:
    """Return a text of a model on one line, without the control characters that would drive a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _thought(before: str, text: str, function: ast.FunctionDef) -> str | None:
    """Return the description: in braces, else the first sentence before the code, else the docstring's."""
    outside = _FENCE.sub("\n", before)
    braces = _BRACES.findall(outside) or (_BRACES.findall(_FENCE.sub("\n", text)) if "```" in text else [])
    if braces:
        return str(braces[-1])
    paragraphs = [" ".join(part.split()).strip("#* ") for part in re.split(r"\n\s*\n", outside)]
    prose = [part for part in paragraphs if len(part) >= 8 and not part.endswith(":")]
    if prose:
        first = re.match(r".+?[.!?](?=\s|$)", prose[0])
        return first.group(0) if first else prose[0]
    return (ast.get_docstring(function) or "").split("\n")[0]


def _bound_by(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    return {(alias.asname or alias.name).split(".")[0] for alias in node.names}


def _rule_source(tree: ast.Module, code: str) -> str:
    """Return `code` without example calls and idle imports, and with the usual imports it forgot."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {name for node in ast.walk(tree) for name in _bound_by(node)}
    kept: set[int] = set()
    dropped: set[int] = set()
    for node in tree.body:
        definition = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)
        keep = definition or bool(_bound_by(node) & (used | {"*"}))
        (kept if keep else dropped).update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for number, line in enumerate(code.split("\n"), 1) if number not in dropped - kept]
    body = "\n".join(line.rstrip() for line in lines).strip()
    forgotten = [line for name, line in _USUAL_IMPORTS.items() if name in used - bound]
    if forgotten:
        separator = "\n" if body.startswith(("import ", "from ")) else "\n\n\n"
        body = "\n".join(forgotten) + separator + body
    return body + "\n"

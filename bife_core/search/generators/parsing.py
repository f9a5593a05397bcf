"""From the text of a model's answer to a thought and the source of a rule, or to the reason there is none."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, product
from typing import Any, Final

from bife_core.language.components import BRANCHING, COMPONENTS, Component
from bife_core.language.syntax import NOT_PYTHON, functions_in, syntax_tree
from bife_core.search.generators.account import Call
from bife_core.search.generators.base import Draft
from bife_core.search.types import ReflectionRequest, WrittenRequest

_FENCE: Final = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_EDGE: Final = re.compile(r"(?:```+|~~~+)(?:[^\n`]*\n)?")
_KIND: Final = "(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)"
_OPENED: Final = (
    rf"(?i:[<◁](?:\|start_|\|begin_of_|\w+:)?{_KIND}\|?[>▷]|\[THINK\]|<\|channel\|>analysis<\|message\|>)"
)
_CLOSED: Final = (
    rf"(?i:[<◁](?:\|end_(?:of_)?|/(?:\w+:)?){_KIND}\|?[>▷]|\[/THINK\]|<\|end\|>|final<\|message\|>)"
)
_REASONING: Final = re.compile(rf"{_OPENED}.*?(?:{_CLOSED}|\Z)", re.DOTALL)
_CLOSE: Final = re.compile(rf"{_CLOSED}(\s*?\n|\Z)?")
_ENDS_IN_CODE: Final = re.compile(r"(?:```|~~~|\n[ \t]+\S[^\n]*)\s*\Z")
_BRACES: Final = re.compile(r'\{(?!\s*"\w+"\s*:)([^{}]{8,})\}', re.DOTALL)
_DESCRIBED: Final = re.compile(r'"\s*:\s*"((?:[^"\\\n]|\\.){8,})"')
_NO_PROSE: Final = re.compile(r"[<\[@]|def |import |.*:\Z")
_CODE_START: Final = re.compile(r"^[ \t]*(?:import |from [\w.]+ import |def |@)", re.MULTILINE)
_MARGIN: Final = re.compile(r"^[^\s)\]}]", re.MULTILINE)
_MAY_BE_CODE: Final = re.compile(
    r"(?:^(?=[\s@#)\]}]|(?:import|from|def|class|if|for|while|with|try|else|elif|except)\b|[A-Za-z_]\w* *=)"
    r"[^\n]*(?:\n|\Z))+",
    re.MULTILINE,
)
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

    Of several functions, between fences, bare or in JSON, the last counts: models tend to write drafts and repeat the
    parents before their own rule. `cut_off` says that the answer ended before its end, as at a length limit.

    Examples
    --------
    >>> parsed = parse_answer("{Its slack alone}\ndef candidate_variable_score(x):\n    return x[18]\n")
    >>> parsed.thought, parsed.failure
    ('Its slack alone', None)
    """
    name = component.function
    text = without_reasoning(answer or "", name).replace("\r\n", "\n").replace("\r", "\n")
    text = textwrap.dedent(text).strip()
    if not text and not cut_off and _ENDS_IN_CODE.search(answer or ""):
        # A model that does not close its reasoning ends it with the answer.
        text = re.sub(_OPENED, "\n", answer or "").strip()
    if not text:
        content = "only unfinished reasoning" if answer and answer.strip() else "nothing"
        return Draft(failure=f"The model's answer was empty: a rule was expected, {content} was found.")
    if len(text) > LONGEST_ANSWER:
        return Draft(
            failure=f"The answer has {len(text):,} characters; a rule is looked for in {LONGEST_ANSWER:,} at most."
        )
    text = _out_of_json(_out_of_json(text, name), name)
    complaint: str | None = None
    for code, start, end in islice(_pieces(text, name), _MOST_PIECES):
        at_end = not text[end:].strip()
        try:
            tree = syntax_tree(code)
        except NOT_PYTHON as error:
            complaint = complaint or _complaint(error, cut_off or at_end)
            if cut_off or at_end or not _parses(f"{code.rstrip()}\n    ..."):
                break
            continue  # the signature, repeated
        function = functions_in(tree).get(name)
        if function is None:  # a method, or a name for something else
            break
        # Where an answer was cut off, a rule was begun after this one, or this one may lack its end.
        if cut_off and (at_end or _CODE_START.search(text, end)):
            return Draft(failure="The answer was cut off inside the rule.")
        if not any(isinstance(node, ast.Return) and node.value for node in ast.walk(function)):
            complaint = complaint or f"`{name}` never returns a value."
            if all(isinstance(node, ast.Pass | ast.Expr) for node in function.body):
                continue  # the template, repeated
            break
        thought = printable(_thought(text[:start], text, function) or "")[:_LONGEST_THOUGHT]
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
    *_, end = None, *_CLOSE.finditer(closed)
    after = closed if end is None else closed[end.end() :]
    spoken = end is not None and function not in after and (end[1] is None or not after.strip())
    return closed if spoken and function in closed else after


def _out_of_json(text: str, function: str) -> str:
    """Return a text with the code that stands in strings of JSON put between fences; the last may have no end."""

    def fenced(match: re.Match[str]) -> str:
        try:
            code = json.loads(f'"{match[1]}"').replace("\r\n", "\n")
        except ValueError:
            return match[0]
        return f"\n```\n{code}\n" + ("```\n" if match[2] == '"' else "")

    part = r'(?:[^"\\\n]|\\.)*'
    return re.sub(rf'"({part}def {function} *\({part})("|\\?\Z)', fenced, text)


def _pieces(text: str, name: str) -> Iterator[tuple[str, int, int]]:
    """Yield code that defines a function, the last first, with its start and end: between fences, or bare lines."""
    defined = re.compile(rf"^[ \t]*def +{name}\b|^{name} *= *(?:lambda\b|\w+[ \t]*$)", re.MULTILINE)
    edges = [0, *(edge for fence in _EDGE.finditer(text) for edge in fence.span()), len(text)]
    for start, end in reversed([*zip(edges[::2], edges[1::2], strict=True)]):
        part = text[start:end]
        if not defined.search(part):
            continue
        if _parses(code := textwrap.dedent(part)):
            yield code, start, end
            continue
        for lines in reversed([*_MAY_BE_CODE.finditer(part)]):
            if definitions := [*defined.finditer(lines[0])]:
                code, first = _longest(lines[0], definitions[-1].start())
                yield code, start + lines.start() + first, start + lines.end()


def _longest(lines: str, last: int) -> tuple[str, int]:
    """Return the most of some lines that is Python, with the definition that starts at `last`, and its start.

    Lines are left out only where the next begins at the margin: a function that was cut off stays a syntax error.
    """
    starts = [match.start() for match in _CODE_START.finditer(lines) if match.start() <= last]
    ends = [match.start() for match in _MARGIN.finditer(lines, last + 1)]
    tried = [*islice(product(starts, (len(lines), *reversed(ends))), _MOST_PIECES)]
    start, end = next((span for span in tried if _parses(textwrap.dedent(lines[slice(*span)]))), tried[0])
    return textwrap.dedent(lines[start:end]), start


def _parses(code: str) -> bool:
    with suppress(*NOT_PYTHON):
        return bool(syntax_tree(code))
    return False


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
    outside = _EDGE.sub("\n", _FENCE.sub("\n", before))
    braces = _BRACES.findall(outside) or (_BRACES.findall(_FENCE.sub("\n", text)) if "```" in text else [])
    if words := _DESCRIBED.findall(text) or braces:
        return str(words[-1])
    paragraphs = [" ".join(part.split()).strip("#* ") for part in re.split(r"\n\s*\n", outside)]
    prose = [part for part in paragraphs if len(part) >= 8 and not _NO_PROSE.match(part)]
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
    latest = functions_in(tree).values()
    kept: set[int] = set()
    dropped: set[int] = set()
    for node in tree.body:
        definition = isinstance(node, ast.ClassDef | ast.Assign | ast.AnnAssign) or node in latest
        keep = definition or bool(_bound_by(node) & (used | {"*"}))
        (kept if keep else dropped).update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for number, line in enumerate(code.split("\n"), 1) if number not in dropped - kept]
    body = "\n".join(line.rstrip() for line in lines).strip()
    forgotten = [line for name, line in _USUAL_IMPORTS.items() if name in used - bound]
    if forgotten:
        separator = "\n" if body.startswith(("import ", "from ")) else "\n\n\n"
        body = "\n".join(forgotten) + separator + body
    return body + "\n"

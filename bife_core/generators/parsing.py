"""From the text of a model's answer to a thought and the source of a rule, or to the reason there is none."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from typing import Final

from bife_core.rules.language import FUNCTION_NAME
from bife_core.syntax import NOT_PYTHON, syntax_tree

_FENCE: Final = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_REASONING: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_BRACES: Final = re.compile(r"\{([^{}]{8,})\}", re.DOTALL)
_CODE_START: Final = re.compile(r"^(?:import |from \w+ import |def |@)", re.MULTILINE)
_USUAL_IMPORTS: Final = {"math": "import math", "np": "import numpy as np", "numpy": "import numpy"}
_QUOTED_WORDS: Final = 12
_MOST_WORDS: Final = 120
_LONGEST_QUOTE: Final = 200
_LONGEST_THOUGHT: Final = 1000
_MOST_PIECES: Final = 50
_MOST_ENDS: Final = 200

LONGEST_ANSWER: Final = 200_000
"""Characters of an answer, its reasoning left out, that are read for a rule; a rule has a few thousand."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What an answer holds: `source` with an optional `thought`, or `failure`, a sentence.

    Attributes
    ----------
    thought : str or None
        The sentence the model put in braces, else the first sentence before the code.
    source : str or None
        The rule: imports it needs, its constants and helpers, and the function `candidate_variable_score`.
    failure : str or None
        Why there is no rule; None exactly when `source` is given.
    """

    thought: str | None = None
    source: str | None = None
    failure: str | None = None


def parse_answer(answer: str | None, *, cut_off: bool = False) -> ParsedAnswer:
    r"""Read thought and rule from the text of an answer.

    The code may stand in a fenced block with or without a language, or bare between sentences. Of several
    blocks the last that defines the function counts: models tend to repeat the parents before their own rule.
    Reasoning in ``<think>`` tags is not part of the answer, be the first or the last of the two missing.

    Parameters
    ----------
    answer : str or None
        The model's message.
    cut_off : bool
        Whether the server said that the answer ended before its end, as at a length limit.

    Returns
    -------
    ParsedAnswer
        Never raises: everything that can be wrong with an answer becomes its `failure`.

    Examples
    --------
    >>> parsed = parse_answer("{Its slack alone}\ndef candidate_variable_score(x):\n    return x[18]\n")
    >>> parsed.thought, parsed.failure
    ('Its slack alone', None)
    """
    text = without_reasoning(answer or "").replace("\r\n", "\n").strip()
    if not text:
        found = "only unfinished reasoning" if answer and answer.strip() else "nothing"
        ending = "; it was cut off" if cut_off else ""
        return ParsedAnswer(
            failure=f"The model's answer was empty: a rule was expected, {found} was found{ending}."
        )
    if len(text) > LONGEST_ANSWER:
        return ParsedAnswer(
            failure=f"The answer has {len(text):,} characters; a rule is looked for in {LONGEST_ANSWER:,} at most."
        )
    pieces = _fenced_code(text)
    if not any(FUNCTION_NAME in code for code, _ in pieces):
        pieces += _bare_code(_FENCE.sub("", text))
    chosen: tuple[ast.Module, str, str] | None = None
    complaint: str | None = None
    for code, before in pieces:
        try:
            tree = syntax_tree(code)
        except NOT_PYTHON as error:
            if FUNCTION_NAME in code:
                complaint = _syntax_complaint(error, cut_off or _unclosed(text, code))
            continue
        if FUNCTION_NAME in _functions(tree):
            chosen, complaint = (tree, code, before), None
    if chosen is None:
        return ParsedAnswer(failure=complaint or _no_rule(text, [code for code, _ in pieces]))
    tree, code, before = chosen
    if cut_off and (
        _unclosed(text, code) or complaint is not None
    ):  # of a rule that was begun after this one
        return ParsedAnswer(failure="The answer was cut off inside the rule.")
    function = _functions(tree)[FUNCTION_NAME]
    if not any(isinstance(node, ast.Return) and node.value for node in ast.walk(function)):
        ending = "; the answer may have been cut off" if _unclosed(text, code) else ""
        return ParsedAnswer(failure=f"`{FUNCTION_NAME}` never returns a score{ending}.")
    thought = _thought(before, text, tree)
    return ParsedAnswer(
        thought=_printable(thought)[:_LONGEST_THOUGHT] if thought else None, source=_rule_source(tree, code)
    )


def parse_reflection(answer: str | None) -> str | None:
    """Read a reflection: the answer on one line without reasoning and code, or None if nothing is left.

    A model that goes on and on is cut off after `_MOST_WORDS` words, since its text is shown in later prompts.
    """
    words = _FENCE.sub("", without_reasoning(answer or "")).split()
    return " ".join(words[:_MOST_WORDS]) or None


def without_reasoning(answer: str) -> str:
    """Return an answer without what a model thought before it.

    Examples
    --------
    >>> without_reasoning("<think>a draft</think>the rule"), without_reasoning("a draft</think>the rule")
    ('the rule', 'the rule')
    """
    closed = _REASONING.sub("", answer)
    # Where the prompt's template opens the reasoning, the answer only closes it. A rule may speak of the tag, too.
    before, _, after = closed.rpartition("</think>")
    return closed if FUNCTION_NAME in before and FUNCTION_NAME not in after else after


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _unclosed(text: str, code: str) -> bool:
    return text.endswith(code.rstrip())


def _fenced_code(text: str) -> list[tuple[str, str]]:
    """Return the code of the fenced blocks and the text before each, in their order.

    Of more blocks than anybody writes the last are kept, those with the function's name before others.
    """
    blocks = list(_FENCE.finditer(text))
    if len(blocks) > _MOST_PIECES:
        blocks = [block for block in blocks if FUNCTION_NAME in block.group(2)] or blocks
    return [(textwrap.dedent(block.group(2)), text[: block.start()]) for block in blocks[-_MOST_PIECES:]]


def _bare_code(text: str) -> list[tuple[str, str]]:
    """Return unfenced code and the text before it: from the first import or def to the last line that parses.

    Sentences after the code begin at the margin, so code is only ever shortened at lines that do; a function
    that was cut off in its middle therefore stays a syntax error and is not taken for a shorter one.
    """
    start = _CODE_START.search(text)
    if start is None:
        return []
    before, lines = text[: start.start()], text[start.start() :].split("\n")
    end = len(lines)
    for _ in range(_MOST_ENDS):
        try:
            tree = syntax_tree("\n".join(lines[:end]))
        except NOT_PYTHON as error:
            # No code that reaches beyond the first mistake can be right.
            wrong = error.lineno if isinstance(error, SyntaxError) and error.lineno else end
            end = _margin_before(lines, min(wrong, end))
            if end == 0:
                break
            continue
        if _functions(tree):
            return [("\n".join(lines[:end]), before)]
        break
    return [(text[start.start() :], before)]


def _margin_before(lines: list[str], end: int) -> int:
    """Return the last line number below `end` at which a text that begins at the margin could follow the code."""
    for number in range(end - 1, 0, -1):
        if lines[number][:1].strip() and lines[number][:1] not in ")]}":
            return number
    return 0


def _syntax_complaint(error: BaseException, at_end: bool) -> str:
    if at_end:
        return "The answer was cut off before the rule ended, or it is no valid Python."
    where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
    return f"The rule in the answer is no valid Python: {_printable(what)}{where}."


def _printable(text: str) -> str:
    """Return a text of a model on one line, without the control characters that would drive a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _no_rule(text: str, pieces: list[str]) -> str:
    names: dict[str, ast.FunctionDef] = {}
    for code in pieces:
        try:
            names |= _functions(syntax_tree(code))
        except NOT_PYTHON:
            continue
    if names:
        listed = ", ".join(f"`{name[:_LONGEST_QUOTE]}`" for name in list(names)[:_QUOTED_WORDS])
        return f"The answer defines {listed} but no function `{FUNCTION_NAME}`."
    words = _printable(text).split()
    quoted = " ".join(words[:_QUOTED_WORDS])[:_LONGEST_QUOTE]
    quoted += " ..." if len(words) > _QUOTED_WORDS or len(quoted) == _LONGEST_QUOTE else ""
    return f'The answer holds no function `{FUNCTION_NAME}`; it begins "{quoted}".'


def _thought(before: str, text: str, tree: ast.Module) -> str | None:
    """Return the description: in braces, else the first sentence before the code, else the docstring's."""
    outside = _FENCE.sub("\n", before)
    braces = _BRACES.findall(outside) or (_BRACES.findall(_FENCE.sub("\n", text)) if "```" in text else [])
    if braces:
        return " ".join(braces[-1].split())
    paragraphs = [" ".join(part.split()).strip("#* ") for part in re.split(r"\n\s*\n", outside)]
    prose = [part for part in paragraphs if len(part) >= 8 and not part.endswith(":")]
    if prose:
        first = re.match(r".+?[.!?](?=\s|$)", prose[0])
        return first.group(0) if first else prose[0]
    docstring = ast.get_docstring(_functions(tree)[FUNCTION_NAME])
    return docstring.split("\n")[0].strip() if docstring else None


def _bound_by(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    return {(alias.asname or alias.name).split(".")[0] for alias in node.names}


def _rule_source(tree: ast.Module, code: str) -> str:
    """Return `code` without example calls and idle imports, and with the usual imports it forgot.

    Comments and layout stay: only the lines of statements that are no part of a rule are taken out.
    """
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {name for node in ast.walk(tree) for name in _bound_by(node)}
    kept: set[int] = set()
    dropped: set[int] = set()
    for node in tree.body:
        definition = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)
        keep = definition or bool(_bound_by(node) & (used | {"*"}))
        (kept if keep else dropped).update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    dropped -= kept
    lines = [line for number, line in enumerate(code.split("\n"), start=1) if number not in dropped]
    body = "\n".join(line.rstrip() for line in lines).strip()
    forgotten = [line for name, line in _USUAL_IMPORTS.items() if name in used - bound]
    if forgotten:
        separator = "\n" if body.startswith(("import ", "from ")) else "\n\n\n"
        body = "\n".join(forgotten) + separator + body
    return body + "\n"

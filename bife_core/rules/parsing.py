"""Source text to syntax tree; whatever is wrong with the text becomes a rejection."""

from __future__ import annotations

import ast

from bife_core.rules.language import MAX_DEPTH, MAX_NODES, MAX_SOURCE_CHARACTERS
from bife_core.rules.rejections import RejectionError, forbidden
from bife_core.syntax import syntax_tree


def parse(source: str | bytes) -> ast.Module:
    """Parse a source of reasonable size.

    Raises
    ------
    RejectionError
        If it is empty, not UTF-8, not Python, or too large or too deeply nested to be handled safely.
    """
    if isinstance(source, bytes):
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RejectionError("syntax", f"The source is not UTF-8 text (byte {error.start}).") from error
    if not source.strip():
        raise RejectionError("no_code", "The source is empty.")
    if len(source) > MAX_SOURCE_CHARACTERS:
        size = f"{len(source)} characters long; at most {MAX_SOURCE_CHARACTERS} are allowed"
        raise forbidden(f"The source is {size}.")
    try:
        tree = syntax_tree(source.removeprefix("\ufeff"))
    except SyntaxError as error:
        where = f"Line {error.lineno}: " if error.lineno else ""
        raise RejectionError("syntax", f"{where}not valid Python: {error.msg}") from error
    except (RecursionError, MemoryError):
        raise forbidden("The source is nested too deeply to be parsed.") from None
    except (ValueError, UnicodeError, OverflowError) as error:
        raise RejectionError("syntax", f"The source is not valid Python: {error}.") from error
    _measure(tree)
    return tree


def count_nodes(tree: ast.AST) -> int:
    """Return the number of syntax nodes, the root included."""
    return sum(1 for _ in ast.walk(tree))


def _measure(tree: ast.Module) -> None:
    # With an explicit stack: the limit protects the recursive passes that follow.
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > MAX_DEPTH:
            raise forbidden(f"the code is nested more than {MAX_DEPTH} levels deep", node)
        if nodes > MAX_NODES:
            raise forbidden(f"The code has more than {MAX_NODES} syntax nodes.")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))

"""Python's parser, without warnings and safe for threads."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")

NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `syntax_tree` raises on text that is no Python or nested too deeply."""

_one_at_a_time = threading.Lock()


def functions_in(source: str | ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions that a source or a module defines, by name."""
    tree = syntax_tree(source) if isinstance(source, str) else source
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def assigned(tree: ast.AST) -> list[str]:
    """Return the names that are assigned below a node, as often as they are."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def syntax_tree(source: str) -> ast.Module:
    """Return what `ast.parse` returns."""
    return undisturbed(lambda: ast.parse(source))


def undisturbed(parse: Callable[[], T]) -> T:
    """Return what a call returns that parses Python, as `numpy.load` does too.

    In CPython 3.11 and 3.12 a parse can fail with a SystemError while another thread parses (python/cpython#106905):
    our threads take turns, and for those of libraries the call is repeated.
    """
    for _ in range(5):
        with suppress(SystemError), _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse()
    return parse()

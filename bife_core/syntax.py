"""Python's own parser, made quiet and safe for threads."""

from __future__ import annotations

import ast
import threading
import warnings
from typing import Final

NOT_PYTHON: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `syntax_tree` raises on text that is no Python or nested too deeply."""

_TRIES: Final = 5
_one_at_a_time = threading.Lock()


def functions_in(source: str | ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions that a source or a module defines, by name."""
    tree = syntax_tree(source) if isinstance(source, str) else source
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def syntax_tree(source: str) -> ast.Module:
    """Return what `ast.parse` returns, whatever other threads are parsing.

    CPython 3.11 and 3.12 keep the depth of the tree under construction per interpreter, not per thread, so that two
    threads that parse at once can make one of them fail with a SystemError that has nothing to do with its text
    (python/cpython#106905). Our threads take turns; against those of libraries the text is parsed again. No warning is
    printed, such as one on a stray backslash in a docstring. It raises what `ast.parse` does, see `NOT_PYTHON`.
    """
    for attempt in range(_TRIES):
        try:
            with _one_at_a_time, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(source)
        except SystemError:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")

"""Python's own parser, made safe for threads."""

from __future__ import annotations

import ast
import threading
from typing import Final

_TRIES: Final = 5
_one_at_a_time = threading.Lock()


def syntax_tree(source: str) -> ast.Module:
    """Return what `ast.parse` returns, whatever other threads are parsing.

    CPython 3.11 and 3.12 keep the depth of the tree under construction per interpreter, not per thread, so that two
    threads that parse at once can make one of them fail with a SystemError that has nothing to do with its text
    (python/cpython#106905). Our threads take turns; against those of libraries the text is parsed again.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        As `ast.parse` does.
    """
    for attempt in range(_TRIES):
        try:
            with _one_at_a_time:
                return ast.parse(source)
        except SystemError:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")

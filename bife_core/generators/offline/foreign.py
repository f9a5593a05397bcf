"""Tuning the numbers of rules that the grammar cannot read: in their text, so that all else stays."""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from bife_core.generators.offline.priors import near
from bife_core.syntax import NOT_PYTHON, syntax_tree

_GUARD: Final = 1e-4
"""Numbers up to this size keep divisors from zero; they are no parameters."""


def tune_source(rng: np.random.Generator, source: str) -> str | None:
    """Return `source` with some of its floating-point numbers changed, or None when it has none to change.

    Feature indices and other whole numbers, guards such as 1e-9, and numbers in docstrings stay.
    """
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and np.isfinite(node.value)
        and node.value > _GUARD
    ]
    if not found:
        return None
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    spread = float(rng.choice([0.12, 0.3, 0.6]))
    chosen = rng.random(len(found)) < 0.6
    chosen[int(rng.integers(len(found)))] = True
    lines = source.encode().splitlines(keepends=True)
    for node, change in reversed(list(zip(found, chosen, strict=True))):
        if change:
            # Columns of a syntax tree count bytes.
            line = lines[node.lineno - 1]
            value = repr(near(rng, float(node.value), spread)).encode()
            lines[node.lineno - 1] = line[: node.col_offset] + value + line[node.end_col_offset :]
    return b"".join(lines).decode()

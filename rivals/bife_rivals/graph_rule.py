"""A rule over the bipartite graph of a node, by a formula, and RPB at the nodes that lie deep.

The expressions of GS4CO run so: the formula becomes one function, compiled, that passes over the rows of the LP once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field, field_validator

from bife_rivals.gs4co_grammar import EDGE, FIRST_ROW, GATHERING, GraphGrammar
from bife_rivals.networks import NativeMethod
from bife_rivals.scaled_rule import Depth, Shallow
from bife_rivals.symb4co_grammar import CONSTANTS, OPERATORS
from bife_rivals.weights import N_ROW, N_VARIABLE

_GRAMMAR: Final = GraphGrammar()
_PLACES: Final = ("near[{}, c]", "far{}")
_ADDED: Final = ("0.0", "{0} + {1}")
_WAYS: Final = {"sum": _ADDED, "mean": _ADDED} | {
    how: (f"{sign}np.inf", f"{how}({{0}}, {{1}})") for how, sign in (("max", "-"), ("min", ""))
}
"""What gathering begins with, and what each edge makes of it."""

_FUNCTION: Final = """
def score_node(node, n, out):
    words = int64_view(node, 13)  # `NodeMethod.address` describes them
    n_variables, n_rows = words[2], words[5]
    X = float64_view(words[1], n_variables * N_VARIABLE).reshape((n_variables, N_VARIABLE))
    R = float64_view(words[4], n_rows * N_ROW).reshape((n_rows, N_ROW))
    candidates, scores = int64_view(words[3], n), float64_view(out, n)
    starts = int64_view(words[6], n_rows + 1)
    owner, degrees = np.full(n_variables, -1), np.zeros(n)
    near = np.empty(({count}, n))
    for c in range(n):
        owner[candidates[c]] = c
        {near[0]}
    for r in range(n_rows):
        begin, end = starts[r], starts[r + 1]
        variables, values = int64_view(words[7], end), float64_view(words[8], end)
        seen = False
        for e in range(begin, end):
            seen |= owner[variables[e]] >= 0
        if not seen:
            continue
        {far[0]}
        for e in range({far_edges}):
            v, value = variables[e], values[e]
            {far[1]}
        {far[2]}
        for e in range(begin, end):
            c, value = owner[variables[e]], values[e]
            if c >= 0:
                degrees[c] += 1.0
                {near[1]}
    for c in range(n):
        v = candidates[c]
        {near[2]}
        scores[c] = {score}
    return 0
"""


class GraphRule(Shallow, NativeMethod):
    """A branching rule by a formula over the bipartite graph, above a depth of the tree.

    Examples
    --------
    >>> rule = GraphRule(name="dual", formula="v.fraction * sum(r.dual * e.value)", depth=8)
    >>> rule.graph
    'always'
    """

    kind: Literal["graph_rule"] = "graph_rule"
    formula: str = Field(description="Text of an expression, see `bife_rivals.gs4co_grammar`.")
    depth: Depth = 25

    @field_validator("formula")
    @classmethod
    def _is_typed(cls, formula: str) -> str:
        _GRAMMAR.parsed(formula)
        return formula

    @property
    def graph(self) -> Literal["never", "always"]:
        """Rows and edges are wanted by what gathers alone."""
        return "always" if _parts(self.formula)[1] else "never"

    @property
    def code(self) -> int:
        """Address of the formula's machine code."""
        return int(_compiled(self.formula).address)


def _parts(formula: str) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the score as Python, and what it gathers: at which depth, how, and what of each edge."""
    gathered: list[tuple[int, str, str]] = []
    tokens = iter(_GRAMMAR.parsed(formula))

    def read(depth: int) -> str:
        token = next(tokens)
        if token < FIRST_ROW:
            return f"X[v, {token}]"
        if token < EDGE:
            return f"R[r, {token - FIRST_ROW}]"
        if token == EDGE:
            return "value"
        if token < _GRAMMAR.leaves:
            return repr(CONSTANTS[token - _GRAMMAR.variables])
        if token < _GRAMMAR.gathering:
            left, right = read(depth), read(depth)
            return f"({left} {OPERATORS[token - _GRAMMAR.leaves]} {right})"
        part = (depth, GATHERING[token - _GRAMMAR.gathering], read(depth + 1))
        if part not in gathered:
            gathered.append(part)
        return _PLACES[depth].format(gathered.index(part))

    return read(0), gathered


@lru_cache(maxsize=256)
def _compiled(formula: str) -> Any:
    """Return a C function that gathers to the rows of candidates, then to these, and scores."""
    import numba  # here, for methods are loaded where nothing is compiled
    from numba.types import int64

    from bife_core.extend import float64_view, int64_view

    score, gathered = _parts(formula)

    parts: list[tuple[list[str], ...]] = [([], [], []), ([], [], [])]
    for number, (depth, how, what) in enumerate(gathered):
        to, (begin, each) = _PLACES[depth].format(number), _WAYS[how]
        count = ("degrees[c]", "(end - begin)")[depth]
        end = f"{to} / {count if how == 'mean' else '1.0'} if {count} > 0 else 0.0"
        for lines, line in zip(parts[depth], (begin, each.format(to, what), end), strict=True):
            lines.append(f"{to} = {line}")
    near, far = (["; ".join(lines) or "pass" for lines in part] for part in parts)
    edges = "0" if far[0] == "pass" else "begin, end"
    text = _FUNCTION.format(count=len(gathered), near=near, far=far, far_edges=edges, score=score)
    scope: dict[str, Any] = {"np": np, "int64_view": int64_view, "float64_view": float64_view}
    scope |= {"N_VARIABLE": N_VARIABLE, "N_ROW": N_ROW}
    exec(compile(text, "<graph rule>", "exec"), scope)  # numbers and names of the grammar only
    return numba.cfunc(int64(int64, int64, int64), error_model="numpy")(scope["score_node"])

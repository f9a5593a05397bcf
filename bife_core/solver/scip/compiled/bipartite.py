"""The node as a bipartite graph with the features of Gasse et al. (NeurIPS 2019), see `docs/reference/features.md`.

A row has a vertex for each finite side, the left one negated; edges are ordered by row; a norm of 0 counts as 1.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math
from typing import Final

from numba import float64, int64

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api, layout
from bife_core.solver.scip.compiled.memory import (
    ensure_room,
    fill,
    float64_at,
    float64_view,
    int64_at,
    int64_view,
)

_CONTINUOUS: Final = 3
_IMPLIED: Final = 2
_PATIENCE: Final = 5.0
"""Ages are divided by the number of LPs plus this."""


@jit
def _variable(scip, col, objective_norm, patience, incumbent, out):
    """Write the features of a column's variable to `out`, an array of `layout.N_VARIABLE`."""
    variable = api.col_var(col)
    kind = int64(api.var_type(variable)) if api.var_implied_type(variable) == 0 else int64(_IMPLIED)
    lower, upper, value = api.col_lower(col), api.col_upper(col), api.col_primal(col)
    infinity = api.infinity(scip)
    has_lower, has_upper = lower > -infinity, upper < infinity
    fill(out, 0, layout.N_VARIABLE, 0.0)
    out[kind] = 1.0
    out[4] = api.col_obj(col) / objective_norm
    out[5] = 1.0 if has_lower else 0.0
    out[6] = 1.0 if has_upper else 0.0
    out[7] = 1.0 if has_lower and api.is_equal(scip, value, lower) & 0xFF else 0.0
    out[8] = 1.0 if has_upper and api.is_equal(scip, value, upper) & 0xFF else 0.0
    out[9] = 0.0 if kind == _CONTINUOUS else api.feas_frac(scip, value)
    out[10 + int64(api.col_basis_status(col))] = 1.0
    out[14] = api.col_reduced_cost(scip, col) / objective_norm
    out[15] = float64(api.col_age(col)) / patience
    out[16] = value
    if incumbent != 0:
        out[17] = api.solution_value(scip, incumbent, variable)
        out[18] = api.var_average_solution(variable)


@jit
def _positive(norm):
    return norm if norm > 0.0 else 1.0


@jit
def _take_rows(scip, state, objective_norm, patience):
    """Write all vertices of rows and their edges; return the number of vertices, or -1 without memory."""
    n_lp_rows = state[layout.N_LP_ROWS]
    room = ensure_room(state, layout.ROWS, 2 * n_lp_rows * layout.N_ROW)
    if not (room and ensure_room(state, layout.EDGE_STARTS, 2 * n_lp_rows + 1)):
        return -1
    int64_at(state[layout.EDGE_STARTS])[0] = 0
    infinity = api.infinity(scip)
    n = n_edges = 0
    for position in range(n_lp_rows):
        row = int64_at(state[layout.LP_ROWS])[position]
        length = int64(api.row_n_lp_entries(row))
        wanted = n_edges + 2 * length
        room = ensure_room(state, layout.EDGE_VARIABLES, wanted)
        if not (room and ensure_room(state, layout.EDGE_VALUES, wanted)):
            return -1
        variables = int64_view(state[layout.EDGE_VARIABLES], wanted)
        values = float64_view(state[layout.EDGE_VALUES], wanted)
        cols, coefficients = api.row_cols(row), api.row_vals(row)
        norm = _positive(api.row_norm(row))
        activity, constant = api.row_lp_activity(scip, row), api.row_constant(row)
        age = float64(api.row_age(row)) / patience
        dual = api.row_dualsol(row) / (norm * objective_norm)
        for sign in (-1.0, 1.0):
            side = api.row_lhs(row) if sign < 0.0 else api.row_rhs(row)
            if abs(side) >= infinity:
                continue
            cosine = 0.0
            for k in range(length):
                place = int64(api.col_lp_pos(int64_at(cols)[k]))
                value = float64_at(coefficients)[k] / norm
                variables[n_edges + k] = place
                values[n_edges + k] = sign * value
                # `VARIABLES` holds the objective coefficient by its norm already.
                cosine += value * float64_at(state[layout.VARIABLES])[place * layout.N_VARIABLE + 4]
            out = float64_view(state[layout.ROWS] + 8 * n * layout.N_ROW, layout.N_ROW)
            out[0] = sign * cosine
            out[1] = sign * (side - constant) / norm
            out[2] = 1.0 if api.is_equal(scip, activity, side) & 0xFF else 0.0
            out[3] = age
            out[4] = sign * dual
            n_edges += length
            n += 1
            int64_at(state[layout.EDGE_STARTS])[n] = n_edges
    return n


@jit
def observe(scip, state, candidates, n, observes):
    """Return the address of `NodeMethod`'s words after `extract`, 0 without memory; `candidates` are SCIP_VAR*."""
    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 2, 0)
    api.lp_cols(scip, scratch, scratch + 8)
    cols, n_cols = state[layout.SCRATCH], state[layout.SCRATCH + 1]
    room = ensure_room(state, layout.VARIABLES, n_cols * layout.N_VARIABLE)
    if not (room and ensure_room(state, layout.POSITIONS, n)):
        return int64(0)
    squares = 0.0
    for c in range(n_cols):
        squares += api.col_obj(int64_at(cols)[c]) ** 2
    objective_norm = _positive(math.sqrt(squares))
    patience = float64(api.n_lps(scip)) + _PATIENCE
    incumbent = api.best_solution(scip)
    for c in range(n):
        int64_at(state[layout.POSITIONS])[c] = int64(api.col_lp_pos(api.var_col(int64_at(candidates)[c])))

    first = state[layout.OBSERVED] == 0
    state[layout.OBSERVED] = 1
    all_columns = observes == layout.GRAPH_ALWAYS or (observes == layout.GRAPH_FIRST and first)
    for k in range(n_cols if all_columns else n):
        position = k if all_columns else int64_at(state[layout.POSITIONS])[k]
        out = float64_view(state[layout.VARIABLES] + 8 * position * layout.N_VARIABLE, layout.N_VARIABLE)
        _variable(scip, int64_at(cols)[position], objective_norm, patience, incumbent, out)
    n_rows = _take_rows(scip, state, objective_norm, patience) if all_columns else 0
    if n_rows < 0:
        return int64(0)
    words = (
        state[layout.MATRIX],
        state[layout.VARIABLES],
        int64(n_cols),
        state[layout.POSITIONS],
        state[layout.ROWS],
        int64(n_rows),
        state[layout.EDGE_STARTS],
        state[layout.EDGE_VARIABLES],
        state[layout.EDGE_VALUES],
        int64(first),
        int64(api.depth(scip)),
        state[layout.NODE_DATA],
        int64(state.ctypes.data + 8 * layout.MEMORY),
    )
    node = int64_view(state.ctypes.data + 8 * layout.NODE, layout.NODE_WORDS)
    for k in range(layout.NODE_WORDS):
        node[k] = words[k]
    return int64(node.ctypes.data)

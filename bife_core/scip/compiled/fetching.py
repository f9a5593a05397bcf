"""What the kernel is about to read, asked of memory early: after an LP, SCIP's structs are cold.

Waiting for them costs more than all sums over them. SCIP's functions alone say what a struct holds; the offsets below
only say where those functions will look, in SCIP 10. Where they are wrong, time is lost and nothing else.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Final

from numba import int64, literal_unroll

from bife_core.jit import jit
from bife_core.scip.compiled import api, layout, needs
from bife_core.scip.compiled.memory import load_float64, load_int32, load_int64, prefetch
from bife_core.scip.libscip import library

_VARIABLE: Final = (0xB0, 0x150, 0x1C9)
"""Column; history and problem index; status."""
_COLUMN: Final = (0xB0, 0xE0)
"""Rows and coefficients; index and counts."""
_ROW: Final = (0x08, 0x50, 0x80, 0xF8, 0x110)
"""Sides and norm; dual value and activity; the LP of the activity; index and counts; LP position."""
_ROW_ENTRIES: Final = 0xC0
_HISTORY: Final = 0x150 // 8
"""Word of a variable that is the address of its history: pseudocosts first, sums of cutoffs further down."""
_HISTORY_LINES: Final = (0, 64)
_KNOWS_HISTORY: Final = library().version.startswith("10.")
"""A word that is read, not just fetched, must be known to lie within the struct."""

_LINE: Final = 64
_FAR, _MIDDLE, _NEAR, _NEXT = 14, 10, 6, 3
"""How many candidates ahead each step from a variable to its rows is taken."""


@jit
def _fetch(address, offsets):
    for offset in literal_unroll(offsets):
        prefetch(address + offset)


@jit
def fetch_row(row, mask):
    """Fetch what the passes read of a SCIP_ROW."""
    _fetch(row, _ROW)
    if mask & needs.KEPT:
        prefetch(row + _ROW_ENTRIES)


@jit
def _record(state, variable):
    index = int64(api.var_probindex(variable))
    known = (index + 1) * layout.N_ENTRIES <= state[layout.ENTRIES + 1]
    return state[layout.ENTRIES] + 8 * index * layout.N_ENTRIES if known else int64(0)


@jit
def _fetch_entries(state, record):
    start = load_int64(record, layout.ENTRY_START)
    n = load_int64(record, layout.ENTRY_COUNT)
    places = state[layout.PLACES] + 4 * start
    for byte in range(0, 4 * n, _LINE):
        prefetch(places + byte)
    common = load_float64(record, layout.ENTRY_VALUE)
    if common != common:
        coefs = state[layout.COEFS] + 8 * start
        for byte in range(0, 8 * n, _LINE):
            prefetch(coefs + byte)


@jit
def _fetch_rows(state, record, mask):
    """Fetch the rows a variable stood in when it was last looked at, but those this call has taken."""
    places = state[layout.PLACES] + 4 * load_int64(record, layout.ENTRY_START)
    for k in range(load_int64(record, layout.ENTRY_COUNT)):
        place = load_int32(places, k)
        if (
            place < state[layout.N_LP_ROWS]
            and load_int64(state[layout.ROW_TAG], place) < 2 * state[layout.CALL]
        ):
            fetch_row(load_int64(state[layout.LP_ROWS], place), mask)


@jit
def fetch_ahead(state, candidates, c, n, mask):
    """Fetch what the candidates after the one at `c` need, step by step from a variable to its rows."""
    if c + _FAR < n:
        _fetch(load_int64(candidates, c + _FAR), _VARIABLE)
    if c + _MIDDLE < n:
        variable = load_int64(candidates, c + _MIDDLE)
        if _KNOWS_HISTORY:
            _fetch(load_int64(variable, _HISTORY), _HISTORY_LINES)
        if mask & needs.BY_ROW:
            prefetch(_record(state, variable))
        if mask & (needs.STATIC | needs.DEGREE):
            _fetch(api.var_col(variable), _COLUMN)
    if not mask & needs.BY_ROW:
        return
    if c + _NEAR < n:
        variable = load_int64(candidates, c + _NEAR)
        record = _record(state, variable)
        if record != 0:
            _fetch_entries(state, record)
        if record == 0 or load_int64(record, layout.ENTRY_VERSION) != state[layout.LP_VERSION]:
            _fetch(api.var_col(variable), _COLUMN)
    if c + _NEXT < n:
        variable = load_int64(candidates, c + _NEXT)
        record = _record(state, variable)
        if record != 0 and load_int64(record, layout.ENTRY_VERSION) != state[layout.LP_VERSION]:
            col = api.var_col(variable)
            prefetch(api.col_rows(col))
            prefetch(api.col_vals(col))
            _fetch_rows(state, record, mask)

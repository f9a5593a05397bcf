"""The layout of the state that compiled code keeps between calls: an array of 64-bit words that Python owns.

The slots from `COL_STATIC` on hold addresses of buffers, each followed by its capacity in items of 8 bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

(
    CALL,  # number of extractions so far; stamps what was computed in the present one
    LAST_RUN,
    LAST_LP,
    STATIC_TAKEN,  # whether static features were taken of all columns
    ARENA_USED,
    ARENA_DEAD,  # entries of the arena that belong to rows which have changed since
    PLACES_USED,
    LP_ROWS,  # address of SCIP's array of the rows in the LP
    N_LP_ROWS,
    N_KNOWN_ROWS,  # rows in ROW_IDENTITY; -1 if they are not those of the last call
    LP_VERSION,  # counts how often the LP was seen to have other rows; what was taken under one number still holds
    ROW_VISITS,  # rows met by the candidates of the last call, each as often as it was met
    SCORER,  # address of the rule's C function
    MASK,  # bits of the feature groups the rule reads
    GUARD_SHARE,  # bits of the double that is the guard's share of solving time; 0 without a guard
    GUARD_GRACE_NS,
    SPENT_BEFORE,  # CALLBACK_NS when the present solve began
    BUDGET_SHARE,  # bits of the double that is the share of LP iterations RPB may spend; 0 without a budget
    BUDGET_RETURNS,  # whether RPB branches again once its share is below the budget
    BUDGET_NODE,  # number of the last node that was left to RPB
    BUDGET_SPENT,  # whether RPB was over budget before in the present solve
    CALLS,  # the counters of `BranchingStats`
    CANDIDATES,
    FEATURE_NS,
    RULE_NS,
    CALLBACK_NS,
    UNDECIDED,
    RULE_ERRORS,
    OVERTIME,
    FEATURELESS,
    WITHIN_BUDGET,
    OBSERVES,  # what a scorer of nodes sees besides features, such as GRAPH_FIRST; 0 for a scorer of candidates
    OBSERVED,  # whether a node of the present solve was described to the scorer
    ON_THE_WALL,  # whether the scorer may be waited for, so that seconds on the wall count under a guard
    BEGAN_NS,  # when the present solve began, on the wall
    SCRATCH,  # seven words the SCIP functions write their results to
) = range(36)

(
    COL_STATIC,  # static features of a column, one record of them at its index
    COL_STAMP,  # whether static features of a column were taken (1), at its index
    COL_PSEUDO,  # last call in which the column's variable was an unfixed integer variable, at its index
    ROW_TAG,  # twice the last call that took the row's record, plus 1 if the row was active, at its LP position
    ROW_KEPT,  # N_ROW_KEPT integers that say at an LP position which row was kept, and where its entries lie
    ROW_SUMS,  # N_ROW_SUMS doubles of the kept row at an LP position
    ROW_LENGTH,  # present length of the LP row at a position; the five below likewise: sides and weights 2 to 4
    ROW_LHS,
    ROW_RHS,
    ROW_W2,
    ROW_W3,
    ROW_W4,
    ROW_IDENTITY,  # two words at an LP position, address and index with length: which row was seen there last
    ARENA_COLS,  # column indices of the kept rows, one row after the other
    ARENA_VALS,  # |coefficients| beside ARENA_COLS
    MATRIX,  # feature matrix of the present call, row-major
    SCORES,
    TIGHT_ROWS,  # LP positions of the active rows of the candidate at hand
    TIGHT_VALS,  # |coefficients| of the candidate beside TIGHT_ROWS
    PLACES,  # LP positions of the rows of the variables met so far, 32 bits each, as they were when last looked up
    COEFS,  # coefficients beside PLACES
    ENTRIES,  # N_ENTRIES words that say at a variable's problem index where its PLACES are, and since when they hold
    VARIABLES,  # N_VARIABLE features of the column at an LP position
    POSITIONS,  # LP position of each candidate
    ROWS,  # N_ROW features of each side of a row that is finite
    EDGE_STARTS,  # where the edges of each of those begin, and where the last one's end
    EDGE_VARIABLES,  # LP position of the column of each edge
    EDGE_VALUES,
    MEMORY,  # what a scorer of nodes keeps between branchings
) = BUFFERS = range(SCRATCH + 7, SCRATCH + 7 + 2 * 29, 2)

NODE: Final = MEMORY + 2
"""First of the `NODE_WORDS` words that a scorer of nodes gets, see `NodeMethod`."""

NODE_WORDS: Final = 13
NODE_DATA: Final = NODE + 11

STATE_WORDS: Final = NODE + NODE_WORDS

N_VARIABLE: Final = 19
N_ROW: Final = 5

N_ROW_KEPT: Final = 4
N_ROW_SUMS: Final = 4
N_ENTRIES: Final = 8
"""One cache line, of which six words are used."""

BY_POSITION: Final = (
    *((slot, 1) for slot in (ROW_TAG, ROW_LENGTH, ROW_LHS, ROW_RHS, ROW_W2, ROW_W3, ROW_W4)),
    (ROW_KEPT, N_ROW_KEPT),
    (ROW_SUMS, N_ROW_SUMS),
)
"""Buffers with records of so many items per LP row: apart, so that a pass touches only what it reads."""

KEPT_POINTER, KEPT_INDEX, KEPT_ENTRIES, KEPT_START = range(N_ROW_KEPT)
SUM_NORM, SUM_POSITIVE, SUM_NEGATIVE, SUM_MAGNITUDE = range(N_ROW_SUMS)

ENTRY_VERSION, ENTRY_COL, ENTRY_START, ENTRY_ROOM, ENTRY_COUNT, ENTRY_VALUE = range(6)
"""LP version, column, start, room and count of the entries; bits of their common coefficient, NaN if they differ."""

ARENA_SLACK: Final = 1 << 20
"""Dead entries the arena may hold before it is swept; a sweep costs one pass over the rows."""

GRAPH_NEVER, GRAPH_FIRST, GRAPH_ALWAYS = 1, 2, 3
"""What a scorer of nodes sees: the variables of the candidates alone, or the whole graph, at the first branching of a
run or at every one."""

NO_MEMORY: Final = -1
NO_LP: Final = -2
INTERRUPTED: Final = 2
"""What a scorer returns if it ends the solve: the branching is not counted."""


def new_state() -> npt.NDArray[np.int64]:
    """Return an empty state: `STATE_WORDS` words, no buffer yet."""
    return np.zeros(STATE_WORDS, dtype=np.int64)


def array_at(address: int, shape: tuple[int, ...], of: type) -> npt.NDArray[Any]:
    """View memory as an array; of no items whatever the address."""
    if 0 in shape:
        return np.zeros(shape, dtype=of)
    buffer = ctypes.cast(address, ctypes.POINTER(np.ctypeslib.as_ctypes_type(of)))
    return np.ctypeslib.as_array(buffer, shape)


def free_state(state: npt.NDArray[np.int64], *kept: object, slots: Iterable[int] = BUFFERS) -> None:
    """Free the buffers of a state, whose counters stay readable, and drop references to what was `kept`."""
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free.restype = None
    for slot in slots:
        free(int(state[slot]))
        state[slot] = state[slot + 1] = 0

"""The state compiled code keeps between calls, and how its words and records are laid out.

The state is one array of 64-bit words that Python owns. A slot that holds the address of a buffer is followed
by the buffer's capacity in items of 8 bytes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from bife_core.scip.compiled.memory import free_buffers

CALL: Final = 0
"""Number of extractions so far; stamps what was computed in the present one."""
LAST_RUN: Final = 1
LAST_LP: Final = 2
ARENA_USED: Final = 3
STATIC_TAKEN: Final = 4
SCRATCH: Final = 5
"""Seven words the SCIP functions write their results to."""
COL_STATIC: Final = 12
"""Static features of a column, one record of them at its index."""
COL_STAMP: Final = 14
"""Whether static features of a column were taken (1) at its index."""
COL_PSEUDO: Final = 16
"""Last call in which the column's variable was an unfixed integer variable, at its index."""
ROW_TAG: Final = 18
"""Twice the last call that took the row's record, plus 1 if the row was active, at its LP position."""
ROW_KEPT: Final = 20
"""`N_ROW_KEPT` integers that tell at an LP position which row was kept, and where its entries lie."""
ROW_SUMS: Final = 22
"""`N_ROW_SUMS` doubles of the kept row at an LP position."""
ARENA_COLS: Final = 24
"""Column indices of the kept rows, one row after the other."""
ARENA_VALS: Final = 26
"""|Coefficients| beside `ARENA_COLS`."""
MATRIX: Final = 28
"""Feature matrix of the present call, row-major."""
SCORES: Final = 30
TIGHT_ROWS: Final = 32
"""LP positions of the active rows of the candidate at hand; for static features, lengths of a column's rows."""
TIGHT_VALS: Final = 34
"""|Coefficients| of the candidate beside `TIGHT_ROWS`; for static features, coefficients."""
ROW_LENGTH: Final = 36
"""Present length of the LP row at a position; the five below likewise: sides and weights 2 to 4."""
ROW_LHS: Final = 38
ROW_RHS: Final = 40
ROW_W2: Final = 42
ROW_W3: Final = 44
ROW_W4: Final = 46
ARENA_DEAD: Final = 48
"""Entries of the arena that belong to rows which have changed since."""

SCORER: Final = 50
"""Address of the rule's C function."""
MASK: Final = 51
"""Bits of the feature groups the rule reads."""
CALLS: Final = 52
CANDIDATES: Final = 53
FEATURE_NS: Final = 54
RULE_NS: Final = 55
CALLBACK_NS: Final = 56
UNDECIDED: Final = 57
"""Branchings handed to SCIP's next rule because no score was usable."""
RULE_ERRORS: Final = 58
"""Branchings handed to SCIP's next rule because the rule raised."""
CHOSEN: Final = 59
"""Position of the last branching's candidate."""
LP_ROWS: Final = 60
"""Address of SCIP's array of the rows in the LP."""
N_LP_ROWS: Final = 61
PLACES: Final = 62
"""LP positions of the rows of the variables met so far, 32 bits each, as they were when last looked up."""
COEFS: Final = 64
"""Coefficients beside `PLACES`."""
ENTRIES: Final = 66
"""`N_ENTRIES` words that tell at a variable's problem index where its `PLACES` are, and since when they hold."""
PLACES_USED: Final = 68
GUARD_SHARE: Final = 69
"""Bits of the double that is the guard's share of solving time; 0 without a guard."""
GUARD_GRACE_NS: Final = 70
SPENT_BEFORE: Final = 71
"""`CALLBACK_NS` when the present solve began."""
OVERTIME: Final = 72
"""Branchings handed to RPB because the rule had used up the guard's share of time."""
FEATURELESS: Final = 73
"""Branchings handed to SCIP's next rule because their features could not be taken."""
ROW_VISITS: Final = 74
"""Rows met by the candidates of the last call, each as often as it was met."""
LP_VERSION: Final = 75
"""Counts how often the LP was seen to have other rows than before; what was taken under one number still holds."""
ROW_IDENTITY: Final = 76
"""Two words at an LP position, address and index with length: which row was seen there last."""
N_KNOWN_ROWS: Final = 78
"""Rows in `ROW_IDENTITY`; -1 if they are not those of the last call."""
STATE_WORDS: Final = 80

BUFFERS: Final = (
    *range(COL_STATIC, ARENA_DEAD, 2),
    PLACES,
    COEFS,
    ENTRIES,
    ROW_IDENTITY,
)
"""Slots that hold the address of a buffer: all from `COL_STATIC` to `ROW_W4`, and the later ones."""

BY_POSITION: Final = (ROW_TAG, ROW_LENGTH, ROW_LHS, ROW_RHS, ROW_W2, ROW_W3, ROW_W4)
"""Buffers with one item per LP row: apart from one another, so that a pass touches only what it reads."""

N_ROW_KEPT: Final = 5
N_ROW_SUMS: Final = 4

N_ENTRIES: Final = 8
"""One cache line, of which six words are used."""

KEPT_POINTER, KEPT_INDEX, KEPT_ENTRIES, KEPT_START, KEPT_VALID = range(N_ROW_KEPT)
SUM_NORM, SUM_POSITIVE, SUM_NEGATIVE, SUM_MAGNITUDE = range(N_ROW_SUMS)

ENTRY_VERSION, ENTRY_COL, ENTRY_START, ENTRY_ROOM, ENTRY_COUNT, ENTRY_VALUE = range(6)
"""LP's version the entries hold for, column, where they lie, room there, how many; and the coefficient of all of them
as bits of a double, NaN if they differ."""

ARENA_SLACK: Final = 1 << 20
"""Dead entries the arena may hold before it is swept; a sweep costs one pass over the rows."""

NO_MEMORY: Final = -1
NO_LP: Final = -2


def new_state() -> npt.NDArray[np.int64]:
    """Return an empty state: `STATE_WORDS` words, no buffer yet."""
    return np.zeros(STATE_WORDS, dtype=np.int64)


def set_guard(state: npt.NDArray[np.int64], share: float, grace_s: float) -> None:
    """Write a guard's settings where the callback reads them."""
    state[GUARD_SHARE : GUARD_SHARE + 1].view(np.float64)[0] = share
    state[GUARD_GRACE_NS] = round(grace_s * 1e9)


def free_state(state: npt.NDArray[np.int64]) -> None:
    """Give back all memory behind `state`; it is empty afterwards and may be used again."""
    free_buffers(state, BUFFERS)
    state[:SCRATCH] = 0
    state[ARENA_DEAD] = state[PLACES_USED] = state[N_KNOWN_ROWS] = 0

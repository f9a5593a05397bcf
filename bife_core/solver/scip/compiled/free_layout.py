"""Where `implied_free` and `free_rows` read what Python gives them and write results; nothing here is compiled."""

from __future__ import annotations

from collections import namedtuple
from typing import Final

(
    SCIP,
    VARIABLES,
    CONSTRAINTS,
    HANDLERS,
    LINEAR,
    INTEGERS,
    ROOM,
    ENTRIES,
    WORK,
    AGGREGATED,
    CODE,
    USED,
    FREE,
    STARTS,
) = range(14)
"""Positions in `words`. Given: the SCIP*, the numbers of variables, constraints and handlers of linear rows, the
address of the handler ``linear``, whether integers count, the room for a row and for entries, and the work allowed.
Written: the work left, how many variables were aggregated, SCIP's return code; and of the entries how many were used,
and the first that is free again, plus 1; then room for where each size begins in the order.
"""
MOST_ROWS: Final = 30
WORDS: Final = STARTS + MOST_ROWS + 2

DONE, MORE_ROOM, MORE_ENTRIES, UNKNOWN, INFEASIBLE, REFUSED = range(6)
"""What the call came to: done; nothing yet, since a row, or all of them, need more room than there is, or a constraint
does not tell its variables; no solution; SCIP refused.
"""

State = namedtuple(
    "State",
    "words variables constraints handlers stays integral locks order place col_first col_size row_first row_size "
    "row_kind entry_row entry_col row_next row_prev col_next col_prev room lower upper low high value",
)
"""Pointers to integers, from `lower` on to doubles: the problem; by variable whether it stays, is integral (2 if SCIP
does not take that for implied), its locks by rows, the order, its entry in the row at hand plus 1, and its column; by
row its entries and kind; the entries, whose lists have places plus 1; room for rows; bounds, sides and coefficients.
"""

BY_VARIABLE: Final = (
    "stays",
    "integral",
    "locks",
    "order",
    "place",
    "col_first",
    "col_size",
    "lower",
    "upper",
)
BY_ROW: Final = ("row_first", "row_size", "row_kind", "low", "high")
BY_ENTRY: Final = ("entry_row", "entry_col", "row_next", "row_prev", "col_next", "col_prev", "value")

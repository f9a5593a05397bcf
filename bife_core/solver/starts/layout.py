"""The arrays of the compiled local search, by position: 64-bit integers and doubles."""

from __future__ import annotations

(
    WORDS, NUMBERS,  # the scalars below
    COL_PTR, COL_ROW, COL_VAL, ROW_PTR, ROW_COL,  # the matrix by columns and by rows
    OBJECTIVE, LOWER, UPPER, LHS, RHS, SCALE,  # a violated row counts with its scale
    FOLLOWER, DEFINED_PTR, DEFINED_ROW, DEFINED_VAL,  # variables that follow, and the entries that define each
    ROW_FOLLOWER_PTR, ROW_FOLLOWER,  # positions of the followers that each row defines
    GROUP_PTR, GROUP_MEMBER, SLOT,  # variables of which one is 1, and the position of that one
    FREE, IS_FREE,  # binary variables of no group
    VALUE, ACTIVITY, BEST,
    ROW_LOG, ROW_OLD, VAR_LOG, VAR_OLD,  # what a move changed, and what was before
    DIRTY, IS_DIRTY,  # followers to be computed again
    N_ARRAYS,
) = range(34)  # fmt: skip

N_GROUPS, N_FREE, RANDOM, WORK, N_VARIABLES, N_ROWS_LOGGED, N_VARS_LOGGED, N_DIRTY, N_WORDS = range(9)
"""Scalars in `WORDS`: counts, the state of the random numbers, the work that is left, the ends of lists."""

COST, VIOLATION, WEIGHT, BEST_COST, N_NUMBERS = range(5)
"""Scalars in `NUMBERS`: objective, weighted violation of the rows, its weight, best objective without violation."""

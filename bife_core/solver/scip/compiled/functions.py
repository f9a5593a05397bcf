"""What is called from C and from Python: `FUNCTIONS`, which take addresses and numbers."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Any, Final

from numba import int32, int64

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api, bipartite, implied_free, kernel, layout, row_keys
from bife_core.solver.scip.compiled.callback import begin_solve, branch_on_lp
from bife_core.solver.scip.compiled.choices import chosen_rows, score_columns
from bife_core.solver.scip.compiled.memory import int32_at, int64_at, int64_view


@jit
def extract(scip, state, mask):
    """Compute the features of all candidates and return their number; SCRATCH has the address of the candidates."""
    words = int64_view(state, layout.STATE_WORDS)
    n, candidates = kernel.extract(scip, words, mask, False)
    words[layout.SCRATCH] = candidates
    return n


@jit
def observe(scip, state, candidates, n, observes):
    """See `bipartite.observe`."""
    return bipartite.observe(scip, int64_view(state, layout.STATE_WORDS), candidates, n, observes)


@jit
def reset(state):
    """See `kernel.reset`."""
    kernel.reset(int64_view(state, layout.STATE_WORDS))
    return 0


@jit
def probindices(candidates, n, out):
    """Write the problem index of each of n SCIP_VAR* in the array at address `candidates` to 32-bit integers."""
    for c in range(n):
        int32_at(out)[c] = api.var_probindex(int64_at(candidates)[c])
    return 0


FUNCTIONS: Final[dict[Any, Any]] = {
    branch_on_lp: int32(int64, int64, int32, int64),
    begin_solve: int32(int64, int64),
    extract: int64(int64, int64, int64),
    observe: int64(int64, int64, int64, int64, int64),
    reset: int64(int64),
    probindices: int64(int64, int64, int64),
    chosen_rows: int64(int64, int64, int64, int64),
    score_columns: int64(*[int64] * 10),
    row_keys.row_keys: int64(*[int64] * 8),
    row_keys.put_on_demand: int64(*[int64] * 5),
    implied_free.aggregate_implied_free: int64(int64),
}
"""Functions by their signatures."""

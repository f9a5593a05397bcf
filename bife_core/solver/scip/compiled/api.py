"""SCIP's functions as compiled code calls them; pointers are 64-bit integers, a SCIP_Bool is its low byte alone."""

from __future__ import annotations

from typing import Any, Final

from numba import float64, int32, int64, types

from bife_core.solver.scip.libscip import call_from_compiled_code


def _external(name: str, signature: Any) -> Any:
    call_from_compiled_code([name])
    return types.ExternalFunction(name, signature)


branch_cands = _external("SCIPgetLPBranchCands", int32(int64, int64, int64, int64, int64, int64, int64))
pseudo_cands = _external("SCIPgetPseudoBranchCands", int32(int64, int64, int64, int64))
lp_cols = _external("SCIPgetLPColsData", int32(int64, int64, int64))
infinity = _external("SCIPinfinity", float64(int64))
epsilon = _external("SCIPepsilon", float64(int64))
lp_rows = _external("SCIPgetLPRowsData", int32(int64, int64, int64))
lp_status = _external("SCIPgetLPSolstat", int32(int64))
solving_time = _external("SCIPgetSolvingTime", float64(int64))
feas_frac = _external("SCIPfeasFrac", float64(int64, float64))
n_total_nodes = _external("SCIPgetNTotalNodes", int64(int64))
n_runs = _external("SCIPgetNRuns", int32(int64))
n_lp_iterations = _external("SCIPgetNLPIterations", int64(int64))
n_strong_branching_iterations = _external("SCIPgetNStrongbranchLPIterations", int64(int64))
n_dual_resolve_iterations = _external("SCIPgetNDualResolveLPIterations", int64(int64))
n_dual_resolves = _external("SCIPgetNDualResolveLPs", int64(int64))
n_branch_cands = _external("SCIPgetNPrioLPBranchCands", int32(int64))
n_lps = _external("SCIPgetNLPs", int64(int64))
row_activity = _external("SCIPgetRowActivity", float64(int64, int64))
col_index = _external("SCIPcolGetIndex", int32(int64))
col_n_lp_rows = _external("SCIPcolGetNLPNonz", int32(int64))
col_n_rows = _external("SCIPcolGetNNonz", int32(int64))
col_obj = _external("SCIPcolGetObj", float64(int64))
col_rows = _external("SCIPcolGetRows", int64(int64))
col_vals = _external("SCIPcolGetVals", int64(int64))
col_is_integral = _external("SCIPcolIsIntegral", int32(int64))
row_cols = _external("SCIProwGetCols", int64(int64))
row_dualsol = _external("SCIProwGetDualsol", float64(int64))
row_index = _external("SCIProwGetIndex", int32(int64))
row_lhs = _external("SCIProwGetLhs", float64(int64))
row_lp_pos = _external("SCIProwGetLPPos", int32(int64))
row_n_lp_entries = _external("SCIProwGetNLPNonz", int32(int64))
row_n_entries = _external("SCIProwGetNNonz", int32(int64))
row_norm = _external("SCIProwGetNorm", float64(int64))
row_rhs = _external("SCIProwGetRhs", float64(int64))
row_vals = _external("SCIProwGetVals", int64(int64))
var_col = _external("SCIPvarGetCol", int64(int64))
var_probindex = _external("SCIPvarGetProbindex", int32(int64))
var_type = _external("SCIPvarGetType", int32(int64))
var_implied_type = _external("SCIPvarGetImplType", int32(int64))
var_average_solution = _external("SCIPvarGetAvgSol", float64(int64))
col_age = _external("SCIPcolGetAge", int32(int64))
col_basis_status = _external("SCIPcolGetBasisStatus", int32(int64))
col_lower = _external("SCIPcolGetLb", float64(int64))
col_upper = _external("SCIPcolGetUb", float64(int64))
col_lp_pos = _external("SCIPcolGetLPPos", int32(int64))
col_primal = _external("SCIPcolGetPrimsol", float64(int64))
col_reduced_cost = _external("SCIPgetColRedcost", float64(int64, int64))
col_var = _external("SCIPcolGetVar", int64(int64))
row_age = _external("SCIProwGetAge", int32(int64))
row_constant = _external("SCIProwGetConstant", float64(int64))
row_lp_activity = _external("SCIPgetRowLPActivity", float64(int64, int64))
best_solution = _external("SCIPgetBestSol", int64(int64))
solution_value = _external("SCIPgetSolVal", float64(int64, int64, int64))
is_equal = _external("SCIPisEQ", int32(int64, float64, float64))
depth = _external("SCIPgetDepth", int32(int64))
branch_var = _external("SCIPbranchVar", int32(int64, int64, int64, int64, int64))
branchrule_data = _external("SCIPbranchruleGetData", int64(int64))

LP_OPTIMAL: Final = 1
LP_UNBOUNDED_RAY: Final = 3
"""The two SCIP_LPSOLSTAT that give branching candidates."""

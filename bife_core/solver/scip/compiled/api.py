"""SCIP's functions as compiled code calls them; pointers are 64-bit integers, a SCIP_Bool is its low byte alone."""

from __future__ import annotations

from typing import Any, Final

from numba import float64, int32, int64, types

from bife_core.solver.scip.libscip import call_from_compiled_code


def external(name: str, signature: Any) -> Any:
    """Return a function of libscip for compiled code."""
    call_from_compiled_code([name])
    return types.ExternalFunction(name, signature)


branch_cands = external("SCIPgetLPBranchCands", int32(int64, int64, int64, int64, int64, int64, int64))
pseudo_cands = external("SCIPgetPseudoBranchCands", int32(int64, int64, int64, int64))
lp_cols = external("SCIPgetLPColsData", int32(int64, int64, int64))
infinity = external("SCIPinfinity", float64(int64))
epsilon = external("SCIPepsilon", float64(int64))
lp_rows = external("SCIPgetLPRowsData", int32(int64, int64, int64))
lp_status = external("SCIPgetLPSolstat", int32(int64))
solving_time = external("SCIPgetSolvingTime", float64(int64))
feas_frac = external("SCIPfeasFrac", float64(int64, float64))
n_total_nodes = external("SCIPgetNTotalNodes", int64(int64))
n_runs = external("SCIPgetNRuns", int32(int64))
n_lp_iterations = external("SCIPgetNLPIterations", int64(int64))
n_strong_branching_iterations = external("SCIPgetNStrongbranchLPIterations", int64(int64))
n_dual_resolve_iterations = external("SCIPgetNDualResolveLPIterations", int64(int64))
n_dual_resolves = external("SCIPgetNDualResolveLPs", int64(int64))
n_branch_cands = external("SCIPgetNPrioLPBranchCands", int32(int64))
n_lps = external("SCIPgetNLPs", int64(int64))
row_activity = external("SCIPgetRowActivity", float64(int64, int64))
col_index = external("SCIPcolGetIndex", int32(int64))
col_n_lp_rows = external("SCIPcolGetNLPNonz", int32(int64))
col_n_rows = external("SCIPcolGetNNonz", int32(int64))
col_obj = external("SCIPcolGetObj", float64(int64))
col_rows = external("SCIPcolGetRows", int64(int64))
col_vals = external("SCIPcolGetVals", int64(int64))
col_is_integral = external("SCIPcolIsIntegral", int32(int64))
row_cols = external("SCIProwGetCols", int64(int64))
row_dualsol = external("SCIProwGetDualsol", float64(int64))
row_index = external("SCIProwGetIndex", int32(int64))
row_lhs = external("SCIProwGetLhs", float64(int64))
row_lp_pos = external("SCIProwGetLPPos", int32(int64))
row_n_lp_entries = external("SCIProwGetNLPNonz", int32(int64))
row_n_entries = external("SCIProwGetNNonz", int32(int64))
row_norm = external("SCIProwGetNorm", float64(int64))
row_rhs = external("SCIProwGetRhs", float64(int64))
row_vals = external("SCIProwGetVals", int64(int64))
var_col = external("SCIPvarGetCol", int64(int64))
var_probindex = external("SCIPvarGetProbindex", int32(int64))
var_is_integral = external("SCIPvarIsIntegral", types.uint8(int64))
var_type = external("SCIPvarGetType", int32(int64))
var_implied_type = external("SCIPvarGetImplType", int32(int64))
var_average_solution = external("SCIPvarGetAvgSol", float64(int64))
col_age = external("SCIPcolGetAge", int32(int64))
col_basis_status = external("SCIPcolGetBasisStatus", int32(int64))
col_lower = external("SCIPcolGetLb", float64(int64))
col_upper = external("SCIPcolGetUb", float64(int64))
col_lp_pos = external("SCIPcolGetLPPos", int32(int64))
col_primal = external("SCIPcolGetPrimsol", float64(int64))
col_reduced_cost = external("SCIPgetColRedcost", float64(int64, int64))
col_var = external("SCIPcolGetVar", int64(int64))
row_age = external("SCIProwGetAge", int32(int64))
row_constant = external("SCIProwGetConstant", float64(int64))
row_lp_activity = external("SCIPgetRowLPActivity", float64(int64, int64))
best_solution = external("SCIPgetBestSol", int64(int64))
solution_value = external("SCIPgetSolVal", float64(int64, int64, int64))
is_equal = external("SCIPisEQ", int32(int64, float64, float64))
depth = external("SCIPgetDepth", int32(int64))
branch_var = external("SCIPbranchVar", int32(int64, int64, int64, int64, int64))
constraint_handler = external("SCIPconsGetHdlr", int64(int64))
constraint_size = external("SCIPgetConsNVars", int32(int64, int64, int64, int64))
constraint_vars = external("SCIPgetConsVars", int32(int64, int64, int64, int32, int64))
constraint_vals = external("SCIPgetConsVals", int32(int64, int64, int64, int32, int64))
constraint_lhs = external("SCIPconsGetLhs", float64(int64, int64, int64))
constraint_rhs = external("SCIPconsGetRhs", float64(int64, int64, int64))
branchrule_data = external("SCIPbranchruleGetData", int64(int64))

LP_OPTIMAL: Final = 1
LP_UNBOUNDED_RAY: Final = 3
"""The two SCIP_LPSOLSTAT that give branching candidates."""

"""The features beyond Khalil's 72, against SCIP's functions called one by one and against plain numpy."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt
import pytest

from bife_core import FeatureExtractor, attach, compile_rule
from bife_core.errors import RuleError
from bife_core.features import FEATURES, N_COLUMNS, N_FEATURES, feature_index
from bife_core.rules import CompiledRule
from bife_core.scip.libscip import library, scip_address
from bife_core.scip.reading import read_model
from bife_core.scip.solving import SolveSettings, apply
from tests.bife_core.scip.test_extractor import GOLDEN_FAMILIES, visit_branchings

EVERYTHING = frozenset(range(N_COLUMNS))
DOWN, UP = 0, 1


class Asked:
    """SCIP asked by ctypes, one value at a time."""

    def __init__(self, model: pyscipopt.Model) -> None:
        self.scip = ctypes.c_void_p(scip_address(model))

    def __call__(self, name: str, *arguments: Any, scip: bool = True, result: Any = ctypes.c_double) -> Any:
        function = getattr(library().handle, name)
        function.restype = result
        return function(*([self.scip] if scip else []), *arguments)


def by_ctypes(model: pyscipopt.Model) -> dict[str, np.ndarray[Any, Any]]:
    """Return what each feature that is a value of SCIP's should be, by its name."""
    ask = Asked(model)
    _, values, fractions, n, _, _ = model.getLPBranchCands()
    address, count = ctypes.c_void_p(), ctypes.c_int()
    nothing = ctypes.c_void_p()
    library().handle.SCIPgetLPBranchCands(
        ask.scip, ctypes.byref(address), nothing, nothing, ctypes.byref(count), nothing, nothing
    )
    variables = [
        ctypes.c_void_p(word) for word in (ctypes.c_void_p * count.value).from_address(address.value)
    ]
    best = ctypes.c_void_p(ask("SCIPgetBestSol", result=ctypes.c_void_p))
    cutoff, objective, lower = (
        ask(name) for name in ("SCIPgetCutoffbound", "SCIPgetLPObjval", "SCIPgetLowerbound")
    )
    known = best.value is not None
    found: dict[str, list[float]] = {}

    def put(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for variable, value, fraction in zip(variables, values[:n], fractions[:n], strict=True):
        for way, direction in (("up", UP), ("down", DOWN)):
            put(f"inference_{way}", ask("SCIPgetVarAvgInferences", variable, direction))
            put(f"vsids_{way}", ask("SCIPgetVarVSIDS", variable, direction))
            put(f"cutoff_average_{way}", ask("SCIPgetVarAvgCutoffs", variable, direction))
            put(f"pseudocost_count_{way}", ask("SCIPgetVarPseudocostCount", variable, direction))
            put(f"pseudocost_variance_{way}", ask("SCIPgetVarPseudocostVariance", variable, direction, 0))
            name = f"SCIPvarGetNLocks{way.title()}"
            put(f"locks_{way}", ask(name, variable, scip=False, result=ctypes.c_int))
            gain = ask("SCIPgetVarPseudocost", variable, direction) * (
                1 - fraction if direction == UP else fraction
            )
            put(f"pseudocost_{way}_share", min(gain / (cutoff - objective), 1.0) if known else 0.0)
        put("inference_score", ask("SCIPgetVarAvgInferenceScore", variable))
        put("conflict_score", ask("SCIPgetVarConflictScore", variable))
        put("conflict_length_score", ask("SCIPgetVarConflictlengthScore", variable))
        put("cutoff_score", ask("SCIPgetVarAvgCutoffScore", variable))
        put("gmi_average", ask("SCIPgetVarAvgGMIScore", variable))
        put("gmi_last", ask("SCIPgetVarLastGMIScore", variable))
        put("root_reduced_cost", abs(ask("SCIPvarGetBestRootRedcost", variable, scip=False)))
        put("root_distance", abs(value - ask("SCIPvarGetRootSol", variable, scip=False)))
        put("solutions_distance", abs(value - ask("SCIPvarGetAvgSol", variable, scip=False)))
        inside = ask("SCIPgetSolVal", best, variable) if known else value
        put("incumbent_distance", abs(value - inside))
        put("node_depth", model.getDepth())
        put("node_candidates", n)
        put("node_bound", (objective - lower) / (cutoff - lower) if known and objective > lower else 0.0)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=() if family == "cauctions" else pytest.mark.long)
        for family in GOLDEN_FAMILIES
    ],
)
def test_they_are_what_scip_says(family: str, golden_dir: Path) -> None:
    varied: set[str] = set()

    def compare(model: pyscipopt.Model) -> None:
        _, X = FeatureExtractor(model, EVERYTHING).extract()
        assert X.shape[1] == N_COLUMNS
        for name, expected in by_ctypes(model).items():
            np.testing.assert_allclose(
                X[:, feature_index(name)], expected, rtol=1e-9, atol=1e-12, err_msg=name
            )
            varied.update([name] if expected.std() > 0 else [])

    assert visit_branchings(golden_dir / f"{family}_0.mps.gz", compare, 6) == 6
    assert {"inference_score", "root_distance"} <= varied


def test_candidates_have_no_reduced_cost_at_the_node(golden_dir: Path) -> None:
    def look(model: pyscipopt.Model) -> None:
        variables, _, _, n, _, _ = model.getLPBranchCands()
        assert all(model.getVarRedcost(variable) == 0.0 for variable in variables[:n])

    assert visit_branchings(golden_dir / "cauctions_0.mps.gz", look, 3) == 3


def test_they_compare_the_candidates_of_the_node(golden_dir: Path) -> None:
    def compare(model: pyscipopt.Model) -> None:
        _, X = FeatureExtractor(model, EVERYTHING).extract()
        for feature in FEATURES:
            of = feature.group.of
            if of is None:
                continue
            values = X[:, of.index]
            if feature.name.endswith("_of_max"):
                expected = values / values.max() if values.max() > 0 else 0 * values
            else:
                expected = (values[np.newaxis, :] < values[:, np.newaxis]).sum(axis=1) / (len(values) - 1)
            np.testing.assert_allclose(X[:, feature.index], expected, rtol=1e-12, err_msg=feature.name)

    assert visit_branchings(golden_dir / "cauctions_0.mps.gz", compare, 4) == 4


def test_the_parallelism_of_active_rows_is_that_of_their_coefficients(golden_dir: Path) -> None:
    names = [f"active_parallelism_{kind}" for kind in ("mean", "stddev", "min", "max")]

    def compare(model: pyscipopt.Model) -> None:
        _, X = FeatureExtractor(model, EVERYTHING).extract()
        costs = np.array([column.getObjCoeff() for column in model.getLPColsData()])
        of_column: dict[int, list[float]] = {}
        for row in model.getLPRowsData():
            activity = model.getRowActivity(row)
            if not any(abs(activity - side) <= 1e-9 for side in (row.getLhs(), row.getRhs())):
                continue
            at = [column.getLPPos() for column in row.getCols()]
            values = np.array(row.getVals())
            length = np.linalg.norm(values) * np.linalg.norm(costs)
            for place in at:
                of_column.setdefault(place, []).append(abs(values @ costs[at]) / length)
        variables, _, _, n, _, _ = model.getLPBranchCands()
        for row, variable in zip(X, variables[:n], strict=True):
            found = np.array(of_column[variable.getCol().getLPPos()])
            np.testing.assert_allclose(
                row[[feature_index(name) for name in names]],
                [found.mean(), found.std(), found.min(), found.max()],
                rtol=1e-6,
                atol=1e-7,
            )

    assert visit_branchings(golden_dir / "cauctions_0.mps.gz", compare, 3) == 3


RULE = """
def candidate_variable_score(f):
    return (f[24] + 1e-9) * (1.0 + f[84] + f[85]) ** -0.5 * (0.1 + f[106]) * (0.1 + f[110]) + 1e-6 * f[104]
"""


class InPython:
    """The same rule without machine code."""

    name, address = "in Python", 0

    def __init__(self, rule: CompiledRule) -> None:
        self.features, self.score = rule.features, rule.score


def test_a_rule_that_reads_them_branches_without_any_setting(golden_dir: Path) -> None:
    rule = compile_rule(RULE)
    assert isinstance(rule, CompiledRule)
    assert rule.features == {24, 84, 85, 104, 106, 110}
    trees = []
    for scoring in (rule, InPython(rule)):
        model = read_model(golden_dir / "cauctions_0.mps.gz")
        apply(SolveSettings(node_limit=30), model)
        stats = attach(model, scoring)
        model.optimize()
        assert stats.calls > 5
        assert stats.handed_over == 0
        trees.append((model.getNNodes(), model.getNLPIterations(), model.getDualbound()))
    assert trees[0] == trees[1]


def test_what_a_rule_says_of_the_whole_vector_is_said_of_the_72() -> None:
    X = np.arange(2.0 * N_COLUMNS).reshape(2, N_COLUMNS)
    for text, expected in {
        "len(f)": [72.0, 72.0],
        "max(f)": X[:, 71],
        "sum(f[70:])": X[:, 70:72].sum(axis=1),
        "sum(f[72:75])": X[:, 72:75].sum(axis=1),
        "sum([f[i] for i in range(71, 74)])": X[:, 71:74].sum(axis=1),
    }.items():
        rule = compile_rule(f"def candidate_variable_score(f):\n    return 1.0 * {text}\n")
        assert isinstance(rule, CompiledRule), rule
        np.testing.assert_array_equal(rule.score(X), expected)
    computed = compile_rule("def candidate_variable_score(f):\n    return f[int(f[0])]\n")
    assert isinstance(computed, CompiledRule)
    with pytest.raises(RuleError, match="out of range"):
        computed.score(np.full((1, N_COLUMNS), 72.0))


def test_a_computed_index_hides_no_extended_feature() -> None:
    plain, beside = (
        compile_rule(f"def candidate_variable_score(f):\n    k = int(0.0 * f[18])\n    return {text}\n")
        for text in ("f[72]", "f[72] + 0.0 * f[k]")
    )
    assert isinstance(plain, CompiledRule)
    assert isinstance(beside, CompiledRule)
    assert beside.features == {*range(N_FEATURES), 72}
    X = np.random.default_rng(0).random((3, N_COLUMNS))
    np.testing.assert_array_equal(beside.score(X), plain.score(X))
    with pytest.raises(RuleError, match="it reads inference_up"):
        beside.score(X[:, :N_FEATURES])


def test_a_matrix_that_lacks_what_a_rule_reads_is_refused() -> None:
    rule = compile_rule(RULE)
    assert isinstance(rule, CompiledRule)
    with pytest.raises(RuleError, match="it reads inference_score_rank"):
        rule.score(np.ones((2, 72)))

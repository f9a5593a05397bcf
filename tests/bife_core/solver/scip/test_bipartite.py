"""The bipartite graph of a node against a slow reference, and scorers that see it, in Python and as machine code."""

from __future__ import annotations

from typing import Literal

import numba
import numpy as np
import pyscipopt
import pytest

import bife_core
from bife_core import Budget, FeatureExtractor, NodeMethod
from bife_core.base.errors import RuleError
from bife_core.solver.methods.references import as_scoring, with_budget
from bife_core.solver.scip.compiled.layout import GRAPH_ALWAYS, GRAPH_FIRST, GRAPH_NEVER
from bife_core.solver.scip.compiled.memory import float64_at, int64_at
from bife_core.solver.scip.node import ROW_FEATURES, VARIABLE_FEATURES
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.bife_core.solver.scip.test_extractor import GOLDEN_FAMILIES, visit_branchings
from tests.support.bipartite import slow_graph
from tests.support.marks import long_but

VALUE = VARIABLE_FEATURES.index("value")


def compared(extractor, model):
    """Return the node and its slow graph, whose variables and rows are the same."""
    node, slow = extractor.observe(), slow_graph(model)
    for name in ("variables", "rows"):
        np.testing.assert_allclose(getattr(node, name), slow[name], rtol=1e-9, atol=1e-12)
    return node, slow


@pytest.mark.parametrize("family", long_but(GOLDEN_FAMILIES, ["cauctions"]))
def test_the_graph_is_what_the_definitions_give(family, golden_dir):
    solver = "default" if family == "indset" else "paper"
    extractor = []
    seen = []

    def compare(model):
        if not extractor:
            extractor.append(FeatureExtractor(model, frozenset()))
        node, slow = compared(extractor[0], model)
        edges = np.stack([node.edge_rows, node.edge_variables, node.edge_values], axis=1)
        np.testing.assert_allclose(edges, slow["edges"], rtol=1e-12)
        variables, values, *_ = model.getLPBranchCands()
        assert node.candidates.tolist() == [one.getCol().getLPPos() for one in variables]
        np.testing.assert_array_equal(node.variables[node.candidates, VALUE], values)
        assert node.depth == model.getDepth()
        seen.append(node)

    assert visit_branchings(golden_dir / f"{family}_0.mps.gz", compare, 4, solver=solver) == 4
    assert [node.first for node in seen] == [True, False, False, False]
    assert {node.variables.shape[1] for node in seen} == {len(VARIABLE_FEATURES)}
    assert {node.rows.shape[1] for node in seen} == {len(ROW_FEATURES)}


def test_rows_with_two_sides_stand_twice_and_continuous_variables_have_no_fraction(tmp_path):
    rng = np.random.default_rng(0)
    model = pyscipopt.Model()
    integers = [model.addVar(vtype="I", ub=9, obj=-rng.integers(5, 30)) for _ in range(12)]
    free = model.addVar(lb=None, ub=1.3, obj=1.0)
    for _ in range(6):
        weight = pyscipopt.quicksum(int(rng.integers(3, 40)) * var for var in integers) + free
        model.addCons(pyscipopt.scip.ExprCons(weight, 20.5, 400.5))
    model.hideOutput()
    model.writeProblem(tmp_path / "two.cip", verbose=False)
    sizes = []

    def compare(model):
        node, _ = compared(FeatureExtractor(model, frozenset()), model)
        sizes.extend((len(node.rows), len(model.getLPRowsData()), node.variables[:, :4].sum(axis=0)))

    params = {"presolving/maxrounds": 0, "separating/maxroundsroot": 0, "heuristics/trivial/freq": -1}
    visit_branchings(tmp_path / "two.cip", compare, 1, params=params)
    sides, rows, types = sizes
    assert sides > rows
    assert types[3] > 0


def test_without_the_graph_the_candidates_have_the_same_features(knapsacks):
    extractors = []

    def compare(model):
        extractors.extend(FeatureExtractor(model, frozenset()) for _ in range(3 if not extractors else 0))
        observed = zip(extractors, (GRAPH_ALWAYS, GRAPH_NEVER, GRAPH_FIRST), strict=True)
        whole, alone, at_first = (extractor.observe(kind) for extractor, kind in observed)
        for node in (alone, at_first):
            np.testing.assert_array_equal(node.variables[node.candidates], whole.variables[whole.candidates])
        assert len(alone.rows) == len(alone.edge_variables) == 0
        assert len(at_first.rows) == (len(whole.rows) if whole.first else 0)

    assert visit_branchings(knapsacks[0].path, compare, 3, solver="paper") == 3


class MostRows(NodeMethod):
    """A scorer that reads candidates, variables, rows and edges: most rows, then the highest value."""

    kind: Literal["least"] = "least"
    name: str = "least"
    native: bool = False

    @property
    def address(self):
        return int(machine_code.address) if self.native else 0

    def score(self, node):
        size = np.bincount(node.edge_variables, minlength=len(node.variables)).astype(float)
        return size[node.candidates] + node.variables[node.candidates, VALUE] + node.depth


@numba.cfunc(numba.int64(numba.types.CPointer(numba.int64), numba.int64, numba.types.CPointer(numba.float64)))
def machine_code(node, n, out):
    for c in range(n):
        position = int64_at(node[3])[c]
        out[c] = float64_at(node[1])[19 * position + 16] + node[10]
        for edge in range(int64_at(node[6])[node[5]]):
            out[c] += int64_at(node[7])[edge] == position
    return 0


def solved(method, path, nodes=12, **options):
    model = read_model(path)
    apply(SolveSettings(solver="paper", node_limit=nodes), model)
    stats = method.attach(model, **options)
    model.optimize()
    return model.getNTotalNodes(), stats


def test_machine_code_sees_the_node_that_python_sees(knapsacks):
    path = knapsacks[0].path
    (nodes, slow), (same, fast) = (solved(MostRows(native=native), path) for native in (False, True))
    assert nodes == same
    counts = ("calls", "candidates", "undecided", "rule_errors", "featureless")
    assert [getattr(slow, name) for name in counts] == [getattr(fast, name) for name in counts]
    assert slow.calls > 5
    assert slow.rule_errors == 0
    assert fast.feature_s > 0


@pytest.mark.parametrize("native", [False, True])
def test_guard_and_budget_hold_for_scorers_of_nodes(native, knapsacks):
    path = knapsacks[0].path
    guard = bife_core.Guard(max_share=1e-9, grace_s=0)
    _, stats = solved(MostRows(native=native), path, 3, guard=guard)
    assert stats.calls == 1
    assert stats.overtime > 1
    within = MostRows(native=native, budget=Budget(share=0.9))
    _, stats = solved(within, path, 3)
    assert stats.within_budget > 0


def test_a_scorer_of_nodes_is_no_scorer_of_recorded_features():
    with pytest.raises(RuleError, match="least scores no candidates"):
        as_scoring(MostRows())
    assert bife_core.load_method(MostRows()).name == "least"
    budgeted = with_budget(MostRows(), 0.5)
    assert budgeted.identity != MostRows().identity

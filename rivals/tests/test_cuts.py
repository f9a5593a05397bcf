"""Rules that score cuts: what they read, what they select, the branching beside them, and the search for them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt
import pytest
from bife_rivals import cut_selector
from bife_rivals.cut_rule import CUT_FEATURES, HYBRID, CutRule
from bife_rivals.cuts import bred, words
from pyscipopt.scip import Cutsel

from bife_core import open_benchmark, solve
from bife_core.benchmarks.base import Instance
from bife_core.config import InstancesConfig, SearchConfig
from bife_core.features import N_FEATURES
from bife_core.generators import PromptContext
from bife_core.generators.parsing import parse_answer
from bife_core.generators.prompting import assemble
from bife_core.methods.base import ScipMethod
from bife_core.methods.loading import method_of
from bife_core.methods.scorer import RuleMethod
from bife_core.rules import REFERENCE_RULES
from bife_core.scip.reading import read_model
from bife_core.search import Answer, SampleRequest, open_search
from bife_core.testing import World, check_method, drive

RULE = RuleMethod(name="product", source=REFERENCE_RULES["pseudocost_product"].source)


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> list[Instance]:
    cache = tmp_path_factory.mktemp("instances")
    families = ("set_covering", "facility_location")
    return [
        open_benchmark(InstancesConfig(benchmark=name, size="tiny"), cache).instances("test", 1)[0]
        for name in families
    ]


def test_the_score_of_hybrid_selects_what_hybrid_selects(instances: list[Instance]) -> None:
    for instance in instances:
        own, theirs = (
            solve(instance.path, method, seed=0)
            for method in (CutRule(name="hybrid"), ScipMethod(name="relpscost"))
        )
        assert (own.nodes, own.lp_iterations) == (theirs.nodes, theirs.lp_iterations)


def test_a_negative_score_leaves_a_cut_out(instances: list[Instance]) -> None:
    model = read_model(instances[1].path)
    model.setParam("limits/nodes", 1)
    rule = CutRule(name="none", source="def cut_score(cut):\n    return -1.0").compiled
    counters = cut_selector.include(model, rule.address, rule)
    model.optimize()
    calls, cuts, selected = (
        counters[cut_selector.CALLS],
        counters[cut_selector.CUTS],
        counters[cut_selector.SELECTED],
    )
    assert calls > 0
    assert cuts > 0
    assert selected == 0
    other = read_model(instances[1].path)
    other.setParam("limits/nodes", 1)
    rule = CutRule(name="all").compiled
    counters = cut_selector.include(other, rule.address, rule)
    other.optimize()
    assert 0 < counters[cut_selector.SELECTED] < counters[cut_selector.CUTS]


class Watching(Cutsel):
    """Describes cuts by PySCIPOpt's methods, and leaves the selection to the next selector."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def cutselselect(self, cuts: Any, forcedcuts: Any, root: bool, maxnselectedcuts: int) -> dict[str, Any]:
        self.seen.append(np.array([self.features(cut, forcedcuts) for cut in cuts]))
        return {"cuts": cuts, "nselectedcuts": 0, "result": pyscipopt.SCIP_RESULT.DIDNOTFIND}

    def features(self, cut: Any, forced: Any) -> list[float]:
        model = self.model
        values = np.array(cut.getVals())
        costs = np.array([column.getObjCoeff() for column in cut.getCols()])
        efficacy = model.getCutEfficacy(cut)
        activity, lower, upper = model.getRowLPActivity(cut), cut.getLhs(), cut.getRhs()
        side = lower if model.isInfinity(upper) else upper
        violation = max(0.0, lower - activity, activity - upper)
        incumbent = model.getBestSol() if model.getNSols() else None
        distance = efficacy
        if incumbent is not None and not cut.isLocal():
            distance = max(efficacy, model.getCutLPSolCutoffDistance(cut, incumbent))
        return [
            efficacy,
            distance,
            model.getRowObjParallelism(cut),
            model.getRowNumIntCols(cut) / max(1, cut.getNNonz()),
            cut.getNNonz() / model.getNLPCols(),
            violation / max(1.0, abs(side - cut.getConstant())),
            *(values.mean(), values.max(), values.min(), values.std()),
            *(costs.mean(), costs.max(), costs.min(), costs.std()),
            max((model.getRowParallelism(cut, other) for other in forced), default=0.0),
            float(cut.isInGlobalCutpool()),
        ]


def test_features_are_those_that_pyscipopt_computes(instances: list[Instance]) -> None:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    shown: list[np.ndarray] = []

    @prototype
    def record(matrix: int, n: int, out: int) -> int:
        size = n * N_FEATURES
        X = np.ctypeslib.as_array((ctypes.c_double * size).from_address(matrix)).reshape(n, N_FEATURES)
        shown.append(X.copy())
        scores = np.ctypeslib.as_array((ctypes.c_double * n).from_address(out))
        scores[:] = X[:, 0]
        return 0

    for instance in instances:
        watching, model = Watching(), read_model(instance.path)
        shown.clear()
        model.setParam("limits/nodes", 3)
        model.includeCutsel(watching, "watching", "", 2 * cut_selector.PRIORITY)
        cut_selector.include(model, ctypes.cast(record, ctypes.c_void_p).value or 0, record)
        model.optimize()
        assert len(shown) == len(watching.seen) > 0
        for X, expected in zip(shown, watching.seen, strict=True):
            assert X[:, : len(CUT_FEATURES)] == pytest.approx(expected, rel=1e-6, abs=1e-9)
            assert not X[:, len(CUT_FEATURES) :].any()


def test_a_branching_rule_works_beside(instances: list[Instance]) -> None:
    both = CutRule(name="both", source="def cut_score(cut):\n    return cut[4]", branching=RULE)
    result = solve(instances[1].path, both, seed=0)
    assert result.calls > 0
    assert result.primal_bound == pytest.approx(solve(instances[1].path, RULE, seed=0).primal_bound)
    assert both.identity != both.model_copy(update={"branching": ScipMethod(name="relpscost")}).identity
    check_method(both)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def score(cut): return cut[0]", "define cut_score"),
        ("def cut_score(cut): return cut[16]", "features 0 to 15"),
        ("def cut_score(cut): return open('x')", "open"),
    ],
)
def test_what_is_no_cut_rule_is_refused(source: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CutRule(name="rule", source=source)


def test_formulas_are_drawn_varied_and_crossed() -> None:
    rng = np.random.default_rng(0)
    for count in (0, 1, 2):
        parents = [HYBRID, "def cut_score(cut):\n    return max(cut[4], 0.5) * cut[5]"][:count]
        made = [bred(rng, parents) for _ in range(50)]
        assert len(set(made)) > 15
        for formula in made:
            source = f"def cut_score(cut):\n    return {formula}"
            CutRule(name="rule", source=source)
            assert source not in parents
    assert bred(np.random.default_rng(1), [HYBRID]) == bred(np.random.default_rng(1), [HYBRID])
    assert words("cut[1] * cut[10]") == "cutoff_distance * obj_mean"


def test_every_rule_is_evaluated_and_carries_the_branching() -> None:
    options = {"branching": RULE.model_dump()}
    search = open_search(SearchConfig(method="cuts", samples=8, initial=4, population=4, options=options))
    asked = drive(search, World(seed=1, distinct=100))
    assert [(some[0].kind, len(some)) for some in asked[:2]] == [("sample", 5), ("solve", 5)]
    text = type(search).train(None, Path(), asked[0][1].training)["source"]
    rule = method_of(text, "g00-c01")
    assert isinstance(rule, CutRule)
    assert (rule.name, rule.branching) == ("g00-c01", RULE)


def test_a_model_writes_cut_rules() -> None:
    options = {"writer": "model"}
    search = open_search(SearchConfig(method="cuts", samples=4, initial=2, population=2, options=options))

    def prompt(request: SampleRequest) -> str:
        return assemble(request, PromptContext(benchmark="set_covering"))[0].content

    good, other, hybrid = search.ask()
    assert "cut[15] in_pool" in prompt(good)
    assert "$" not in prompt(good)
    assert prompt(good) != prompt(other)
    code = "def candidate_variable_score(cut):\n    return {}"
    texts = [
        parse_answer("{A thought}\n" + code.format(what)).source for what in ("cut[0] * cut[2]", "cut[16]")
    ]
    written = [*texts, hybrid.source]
    search.tell(
        [Answer(id=request.id, source=text) for request, text in zip(search.ask(), written, strict=True)]
    )
    assert "features 0 to 15" in search.samples[1].failure
    assert [request.id for request in search.ask()] == [good.id, hybrid.id]
    rule = method_of(search.ask()[0].sample.source)
    assert isinstance(rule, CutRule)
    assert rule.source == code.format("cut[0] * cut[2]") + "\n"
    search.tell([Answer(id=request.id, f_hf=-1.0) for request in search.ask()])
    assert [request.operator for request in search.ask()] == ["e2", "m1"]
    for request in search.ask():
        assert "def candidate_variable_score(cut):\n    return cut[0]" in prompt(request)
        assert "cut_score" not in prompt(request)

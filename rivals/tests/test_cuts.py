"""Rules that score cuts: what they read, what they select, the branching beside them, and the search for them."""

import ctypes
import re
from types import SimpleNamespace

import numpy as np
import pyscipopt
import pytest
from pyscipopt.scip import Cutsel

from bife_core import open_benchmark, solve
from bife_core.extend.testing import World, check_component, check_method, drive
from bife_core.language.rules import REFERENCE_RULES, Rejection, compile_rule
from bife_core.run.config import InstancesConfig, SearchConfig
from bife_core.search import Draft, SampleRequest, open_search
from bife_core.search.generators import PromptContext
from bife_core.search.generators.offline import OfflineGenerator
from bife_core.search.generators.parsing import parse_answer
from bife_core.search.generators.prompting import assemble, theme
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.references import method_of
from bife_core.solver.methods.scorer import ComponentRule, RuleMethod
from bife_core.solver.scip.reader import read_model
from bife_rivals import cut_selector
from bife_rivals.cuts import CUTS
from tests.support.searching import reply

RULE = RuleMethod(name="product", source=REFERENCE_RULES["pseudocost_product"].source)

BASELINE = {"draft": Draft(source=CUTS.baseline)}


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    cache = tmp_path_factory.mktemp("instances")
    families = ("set_covering", "facility_location")
    return [
        open_benchmark(InstancesConfig(benchmark=name, size="tiny"), cache).instances("test", 1)[0]
        for name in families
    ]


def test_the_score_of_hybrid_selects_what_hybrid_selects(instances):
    for instance in instances:
        own, theirs = (
            solve(instance.path, method, seed=0, node_limit=30)
            for method in (ComponentRule(name="hybrid", source=CUTS.baseline), ScipMethod(name="relpscost"))
        )
        assert (own.nodes, own.lp_iterations) == (theirs.nodes, theirs.lp_iterations)


def test_a_negative_score_leaves_a_cut_out(instances):
    model = read_model(instances[1].path)
    model.setParam("limits/nodes", 1)
    rule = ComponentRule(name="none", source="def cut_score(cut):\n    return -1.0").compiled
    counters = cut_selector.attach(model, rule)
    model.optimize()
    assert min(counters[cut_selector.CALLS], counters[cut_selector.SHOWN]) > 0
    assert counters[cut_selector.SELECTED] == 0
    other = read_model(instances[1].path)
    other.setParam("limits/nodes", 1)
    counters = cut_selector.attach(other, compile_rule(CUTS.baseline, component=CUTS))
    other.optimize()
    assert 0 < counters[cut_selector.SELECTED] < counters[cut_selector.SHOWN]


class Watching(Cutsel):
    """Describes cuts by PySCIPOpt's methods, and leaves the selection to the next selector."""

    def __init__(self):
        self.seen = []

    def cutselselect(self, cuts, forcedcuts, root, maxnselectedcuts):
        self.seen.append(np.array([self.features(cut, forcedcuts) for cut in cuts]))
        return {"cuts": cuts, "nselectedcuts": 0, "result": pyscipopt.SCIP_RESULT.DIDNOTFIND}

    def features(self, cut, forced):
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


def test_features_are_those_that_pyscipopt_computes(instances):
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    shown = []

    @prototype
    def record(matrix, n, out):
        size = n * CUTS.n_features
        X = np.ctypeslib.as_array((ctypes.c_double * size).from_address(matrix)).reshape(n, -1)
        shown.append(X.copy())
        scores = np.ctypeslib.as_array((ctypes.c_double * n).from_address(out))
        scores[:] = X[:, 0]
        return 0

    for instance in instances:
        watching, model = Watching(), read_model(instance.path)
        shown.clear()
        model.setParam("limits/nodes", 1)
        model.includeCutsel(watching, "watching", "", 2 * cut_selector.PRIORITY)
        address = ctypes.cast(record, ctypes.c_void_p).value
        cut_selector.attach(model, SimpleNamespace(address=address, kept=record))
        model.optimize()
        assert len(shown) == len(watching.seen) > 0
        for X, expected in zip(shown, watching.seen, strict=True):
            np.testing.assert_allclose(X, expected, rtol=1e-6, atol=1e-9)


def test_the_component_keeps_to_the_contract():
    check_component("cuts")


def test_a_branching_rule_works_beside(instances):
    both = ComponentRule(name="both", source="def cut_score(cut):\n    return cut[4]", branching=RULE)
    assert solve(instances[1].path, both, seed=0, node_limit=20).calls > 0
    assert both.identity != both.model_copy(update={"branching": ScipMethod(name="relpscost")}).identity
    check_method(both)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def score(cut): return cut[0]", r"define cut_score\(cut\)"),
        ("def cut_score(cut): return cut[16]", "from 0 to 15"),
        ("def cut_score(cut): return open('x')", "open"),
        ("def cut_score(cut): return 0.0\ndef candidate_variable_score(f): return 0.0", "another component"),
    ],
)
def test_what_is_no_cut_rule_is_rejected(source, why):
    rejected = compile_rule(source, component=CUTS)
    assert isinstance(rejected, Rejection)
    assert re.search(why, rejected.reason)


def test_every_rule_is_evaluated_and_carries_the_branching():
    options = {"branching": RULE.model_dump()}
    search = open_search(SearchConfig(algorithm="cuts", samples=8, initial=4, population=4, options=options))
    written = OfflineGenerator()

    def answer(request):
        if not isinstance(request, SampleRequest) or request.source is not None:
            return World(seed=1, distinct=100)(request).model_copy(update=BASELINE)
        draft = written.generate(request, PromptContext(benchmark="set_covering"))
        return reply(request, sha=request.id, source=draft.source, thought=draft.thought)

    asked = drive(search, answer)
    assert [(some[0].kind, len(some)) for some in asked[:2]] == [("sample", 5), ("solve", 5)]
    for sample in search.samples:
        rule = method_of(sample.source or "", sample.id)
        assert isinstance(rule, ComponentRule)
        assert (rule.name, rule.branching, rule.component) == (sample.id, RULE, CUTS)
        assert rule.compiled.address


def test_a_model_is_asked_for_cut_rules():
    search = open_search(SearchConfig(algorithm="cuts", samples=4, initial=2, population=2))

    def prompt(request):
        return assemble(request, PromptContext(benchmark="set_covering"))[0].content

    asked = search.ask()
    assert "- cut[15] in_pool: 1 for a cut" in prompt(asked[0])
    assert "def cut_score(cut) -> float:" in prompt(asked[0])
    for words in ("$", "branching rule", "candidate_variable_score", "updated at"):
        assert words not in prompt(asked[0])
    assert [theme(0, number, (), CUTS) in CUTS.themes for number in range(3)] == [True] * 3
    text = "{A thought}\ndef cut_score(cut):\n    return {}"
    parsed = parse_answer(text.replace("{}", "cut[0] * cut[2]"), component=CUTS)
    assert (parsed.thought, parsed.failure) == ("A thought", None)
    assert "`cut_score`" in str(parse_answer("def score(cut): return 1.0", component=CUTS).failure)
    search.tell([World(seed=1)(one).model_copy(update=BASELINE) for one in asked])
    search.tell([reply(request, f_hf=-1.0) for request in search.ask()])
    assert [request.operator for request in search.ask()] == ["e1", "e2"]
    for request in search.ask():
        assert "def cut_score(cut):\n    return cut[0]" in prompt(request)

"""One solve: what goes in, what comes out, and what each mistake is called."""

import gc
import itertools
from contextlib import suppress

import pyscipopt
import pytest

from bife_core import solve
from bife_core.base.errors import SolverError
from bife_core.language.rules import REFERENCE_RULES
from bife_core.solver.methods.base import BUILTIN_METHODS
from bife_core.solver.methods.references import load_rule
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.solve import SolveSettings, TreeClocks, apply, parameters
from tests.support.marks import long_but
from tests.support.measured import result
from tests.support.programs import FOREIGN
from tests.support.weighted import Weighted


@pytest.fixture(scope="module")
def reference(knapsacks):
    return solve(knapsacks[1].path)


METHODS_HERE = (*BUILTIN_METHODS, "pseudocost_product", "paper_ca")


@pytest.mark.parametrize("method", long_but(METHODS_HERE, ("fullstrong", "pscost", "paper_ca")))
def test_every_brancher_proves_the_same_optimum(method, reference, knapsacks):
    result = solve(knapsacks[1].path, method)
    assert result.status == "optimal"
    assert result.method == method
    assert result.primal_bound == pytest.approx(reference.primal_bound, rel=1e-9)
    assert result.gap == pytest.approx(0.0, abs=1e-9)
    # What strong branching finds out aside cuts both children off.
    assert result.nodes > 1 or method == "fullstrong"
    assert result.cpu_s > 0
    assert (result.calls > 0) == (method not in BUILTIN_METHODS)


def test_the_time_is_divided_by_scips_own_clocks():
    path = FOREIGN / "lseu.mps"
    result = solve(path, timed=True)
    parts = ("presolving", "separation", "heuristics", "propagation", "branching")
    seconds = [getattr(result, f"{part}_s") for part in parts]
    assert min(seconds[1:]) > 0
    assert sum(seconds) <= 1.2 * result.wall_s
    bare = solve(path, timed=True, params={"separating/maxroundsroot": 0})
    assert bare.separation_s < result.separation_s


class ClockTypes(pyscipopt.Eventhdlr):
    """Keeps the clock that SCIP is told to use at each node."""

    def eventinit(self):
        self.at_nodes = set()
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEFOCUSED, self)

    def eventexec(self, event):
        self.at_nodes.add(self.model.getParam("timing/clocktype"))


def test_parts_of_the_search_go_by_the_walls_clock_and_the_whole_by_the_cpus():
    model, types = pyscipopt.Model(), ClockTypes()
    model.hideOutput()
    model.readProblem(str(FOREIGN / "lseu.mps"))
    apply(SolveSettings(time_limit_s=600.0), model)
    model.includeEventhdlr(types, "types", "")
    with TreeClocks.over(model):
        model.optimize()
        ticks = 100.0 * model.getSolvingTime()  # of the CPU's clock, which has a hundred a second
        assert (types.at_nodes, ticks) == ({2}, pytest.approx(round(ticks), abs=1e-6))
    assert model.getParam("timing/clocktype") == 1


def test_a_limit_of_cpu_seconds_has_scip_look_at_the_clock_rarely_and_changes_no_tree(knapsacks):
    rarely = parameters(SolveSettings(time_limit_s=600.0))["timing/rareclockcheck"]
    assert (rarely, "timing/rareclockcheck" in parameters(SolveSettings())) == (True, False)
    limited, usual = (solve(knapsacks[0].path, time_limit_s=limit_s) for limit_s in (600.0, None))
    assert (limited.nodes, limited.lp_iterations) == (usual.nodes, usual.lp_iterations)


def test_a_solve_is_the_same_whether_it_is_timed_or_not(knapsacks):
    timed, usual = (solve(knapsacks[0].path, "paper_ca", timed=timed) for timed in (True, False))
    assert (usual.nodes, usual.lp_iterations) == (timed.nodes, timed.lp_iterations)
    assert usual.nodes > 10
    parts = ("root_s", "branching_s", "presolving_s", "separation_s", "heuristics_s", "propagation_s")
    assert {getattr(usual, part) for part in parts} == {None}
    assert None not in {getattr(timed, part) for part in parts}


class Nonsense(pyscipopt.Branchrule):
    """A branching rule whose answer ends the solve with an error."""

    def branchexeclp(self, allowaddcons):
        return {"result": pyscipopt.SCIP_RESULT.FOUNDSOL}


class Failing(Weighted):
    def attach(self, model, guard=False):
        rule = Nonsense()
        model.includeBranchrule(rule, "failing", "", 10_000_000, -1, 1.0)
        rule.model = None


CALLED = [Weighted(name="called", weights={}), Failing(name="failing", weights={})]


def test_the_root_takes_no_longer_than_the_solve_if_the_rule_is_compiled_first(knapsacks):
    rule = RuleMethod(name="new", source="def candidate_variable_score(f):\n    return f[18] ** 1.375\n")
    solved = solve(knapsacks[0].path, rule, timed=True)
    assert 0.0 < solved.root_s <= solved.cpu_s


@pytest.mark.parametrize(
    "method", ["relpscost", "paper_ca", *CALLED], ids=["scip", "rule", "called", "failing"]
)
def test_a_solved_model_is_freed_at_once(method, knapsacks):
    def models():  # isinstance would follow the weak references of others
        return sum(type(thing) is pyscipopt.Model for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = models()
        with suppress(SolverError):
            solve(knapsacks[0].path, method, node_limit=5)
        assert models() == before
    finally:
        gc.enable()


def test_a_rule_is_the_same_however_it_is_named(knapsacks, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(REFERENCE_RULES["paper_ca"].source)
    references = ("paper_ca", load_rule("paper_ca"), file, str(file))
    results = [solve(knapsacks[0].path, reference, node_limit=5) for reference in references]
    assert [result.method for result in results] == ["paper_ca", "paper_ca", "mine", "mine"]
    assert {result.rule_sha for result in results} == {load_rule("paper_ca").sha}
    assert solve(knapsacks[0].path, "relpscost", node_limit=5).rule_sha is None


def test_the_same_seed_gives_the_same_tree(knapsacks):
    runs = [solve(knapsacks[1].path, "paper_ca", seed=3) for _ in range(2)]
    assert len({(run.nodes, run.lp_iterations) for run in runs}) == 1


def test_seed_0_leaves_the_order_of_the_file_and_others_permute_it():
    def order(seed):
        model = pyscipopt.Model()
        model.hideOutput()
        variables = [model.addVar(str(number), vtype="B", obj=-1) for number in range(30)]
        for first, second in itertools.pairwise(variables):
            model.addCons(first + second <= 1)
        apply(SolveSettings(seed=seed, params={"presolving/maxrounds": 0}), model)
        model.presolve()
        return [variable.name for variable in model.getVars(transformed=True)]

    assert order(0) == [f"t_{number}" for number in range(30)]
    assert sorted(order(1)) == sorted(order(0))
    assert len({tuple(order(seed)) for seed in range(3)}) == 3


def test_limits_stop_the_solve(knapsacks, golden_dir):
    assert solve(knapsacks[1].path, "pscost", node_limit=3).status == "nodelimit"
    result = solve(golden_dir / "setcover_0.mps.gz", "pscost", time_limit_s=0.5)
    assert (result.status, result.finished, result.cpu_s < 5) == ("timelimit", False, True)


def test_an_objective_limit_leaves_out_what_is_worse(knapsacks):
    path = knapsacks[1].path  # a maximum of whole numbers
    best = solve(path, "pscost").primal_bound
    within = solve(path, "pscost", objective_limit=best - 1.0)
    assert (within.status, within.primal_bound) == ("optimal", pytest.approx(best))
    assert solve(path, "pscost", objective_limit=best + 1.0).status == "infeasible"


@pytest.mark.parametrize("value", [False, 0, "FALSE", "false"])
def test_truth_values_are_taken_as_scip_writes_them(value):
    model = pyscipopt.Model()
    apply(SolveSettings(params={"misc/catchctrlc": value}), model)
    assert model.getParam("misc/catchctrlc") is False


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("limits/nodes", 0.5, "it would be 0"),
        ("limits/gap", -1, r"Invalid value <-1> for real parameter <limits/gap>\. Must be in range \[0,"),
        ("misc/catchctrlc", "perhaps", "perhaps"),
        ("misc/catchctrlc", 2, "it would be True"),
        ("limits/nodes", 2**63, "too large"),
        ("limits/gap", 2**53 + 1, "it would be 9007199254740992.0"),
        ("limits/gap", "1e400", "it would be 1.7976931348623157e"),
        ("limits/bodes", 5, "Not a valid parameter name"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_cause(name, value, message, capfd):
    with pytest.raises(SolverError, match=f"SCIP does not take {name} = {value!r}: .*{message}"):
        apply(SolveSettings(params={name: value}), pyscipopt.Model())
    assert capfd.readouterr().err == "", "SCIP's own lines are in the sentence"


def test_costs_are_those_of_the_result():
    costs = {"nodes": 7, "lp_iterations": 9, "gap": 0.25, "primal_dual_integral": 33.0}
    timed_out = result(status="timelimit", cpu_s=1.5, wall_s=2.0, **costs)
    assert {kind: timed_out.cost(kind) for kind in ("time", *costs)} == {"time": 1.5, **costs}


def test_the_log_is_shown_when_asked_for(knapsacks, capfd):
    solve(knapsacks[0].path)
    assert capfd.readouterr().out == ""
    solve(knapsacks[0].path, show_log=True)
    assert "SCIP Status" in capfd.readouterr().out

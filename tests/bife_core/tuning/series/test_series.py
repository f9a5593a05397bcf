import math
from typing import Literal

import pyscipopt
import pytest

from bife_core import Series, Store, attach, solve
from bife_core.base.errors import ConfigError, RuleError, SolverError
from bife_core.solver.methods.base import Method
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.scip.solve import SolveSettings
from bife_core.tuning.series.series import SeriesSolve, cost_of
from bife_core.tuning.series.starts import give_solutions
from tests.support.measured import result
from tests.support.programs import FOREIGN
from tests.support.texts import cover

LSEU = FOREIGN / "lseu.mps"
DEFAULT = "SCIP default settings"
LEAN = "separating fast, branching general"


@pytest.fixture
def file(tmp_path):
    def write(stem, **options):
        path = tmp_path / f"{stem}.lp"
        path.write_text(cover(**options))
        return path

    return write


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def series(store):
    return lambda **options: Series("plan", store=store, **{"time_limit_s": 10} | options)


def quiet(name="today"):
    model = pyscipopt.Model(name)
    model.hideOutput()
    return model


class Failing(Method):
    kind: Literal["failing"] = "failing"
    name: str = "failing"
    identity = property(lambda self: self.name)

    def attach(self, model, guard=False):
        raise RuleError("It never works.")


def entered(store, arm, has_solution):
    """Store a made-up solve of the series."""
    at = store.append("series-plan", "solution", {"x0": 1.0}) if has_solution else None
    under = SolveSettings(time_limit_s=10, guard=True).fingerprint()
    solved = SeriesSolve(
        arm=arm, result=result(status="timelimit"), solution_at=at, cost=1.0, under=under, instance="made.lp",
        key="", reason="", started=False, starts="",
    )  # fmt: skip
    store.append("series-plan", "solved", solved.model_dump(mode="json"))


def test_under_another_limit_only_solutions_are_taken_over(series, store, file):
    entered(store, DEFAULT, has_solution=True)
    entered(store, LEAN, has_solution=False)
    assert LEAN in series().put_aside
    lines, longer = [], series(time_limit_s=20)
    assert (longer.solves, longer.put_aside) == ([], {})
    longer.solve(file("a", least=1), lines.append)
    longer.solve(file("b", least=2), lines.append)
    assert lines[0] == f"a.lp: {DEFAULT}, since it is the first; no starts, since it is the first."
    assert lines[1].startswith(f"b.lp: {LEAN}, since it was not tried yet; starts from 2 earlier solutions")
    assert len(series().solves) == 2


def test_starts_that_scip_has_no_room_for_are_left_out(series, file):
    series().solve(file("a", least=1))
    solved = series().solve(file("b", least=2))
    assert solved.started
    full = series(params={"limits/maxorigsol": 0})
    full.solve(file("c", least=1))
    assert full.solve(file("d", least=2)).result.status == "optimal"


def test_no_solution_is_worse_than_an_objective_limit(series, file):
    best = series().solve(file("a", least=2)).result.primal_bound
    limited = series(objective_limit=best - 0.5)
    solved = limited.solve(file("a", least=2))
    assert (solved.result.status, solved.result.primal_bound) == ("infeasible", None)
    assert limited.solution(solved) is None


def test_begins_with_the_default_settings_and_goes_on_with_what_was_not_tried(series, file):
    lines = []
    first = series().solve(file("a", least=1), lines.append)
    second = series().solve(file("b", least=2), lines.append)
    assert (first.arm, second.arm) == (DEFAULT, LEAN)
    assert lines == [
        f"a.lp: {DEFAULT}, since it is the first; no starts.",
        f"b.lp: {LEAN}, since it was not tried yet; starts from 1 earlier solution, 5 of 5 names match.",
    ]
    assert 0 < first.cost < 3


def test_the_solution_is_kept_by_the_names_of_variables(series, file):
    opened = series()
    solved = opened.solve(file("a", least=1))
    values = series().solution(solved)
    assert values.keys() == {f"x{number}" for number in range(5)}
    value = sum((3 + 2 * number) * values[f"x{number}"] for number in range(5))
    assert value == pytest.approx(solved.result.primal_bound)


def test_a_file_is_solved_once_under_the_same_settings(series, file):
    path, lines = file("a", least=1), []
    first = series().solve(path)
    again = series()
    assert again.solve(path, lines.append) == first
    assert lines == [f"a.lp: solved before, with {DEFAULT}."]
    assert series(time_limit_s=5).solve(path).solution_at != first.solution_at
    path.write_text(cover(least=2))
    assert again.solve(path) != first


@pytest.mark.parametrize("least", [2, 3])
def test_a_start_that_is_infeasible_is_not_accepted(series, store, file, least):
    first = series().solve(file("a", least=1))
    alone = Series("alone", time_limit_s=10, store=store, reuse=False).solve(file("b", least=least))
    solved = series().solve(file("b", least=least))
    assert solved.result.primal_bound == alone.result.primal_bound > first.result.primal_bound
    assert not alone.started


@pytest.mark.parametrize(
    ("first", "second", "starts", "status"),
    [
        ({"least": 1}, {"least": 4}, "5 of 5 names match", "infeasible"),
        ({"least": 3, "most": 3}, {"least": 1}, "5 of 5 names match", "optimal"),  # outside the new bounds
        ({"least": 1}, {"least": 1, "name": "y"}, "no starts, since no name of a variable matches", "optimal"),
    ],
)  # fmt: skip
def test_starts_change_no_result(series, file, first, second, starts, status):
    series().solve(file("a", **first))
    solved = series().solve(file("b", **second))
    assert (solved.starts.endswith(starts), solved.result.status) == (True, status)
    assert (solved.solution_at is None) == (status == "infeasible")
    assert LEAN not in series().put_aside


def test_a_feasible_solution_is_a_start_before_the_root():
    model, second = read_model(LSEU), read_model(LSEU)
    model.optimize()
    give_solutions(second, [solution_of(model)])
    second.setParams({"limits/nodes": 1, "limits/solutions": 1})
    second.optimize()
    assert second.getPrimalbound() == pytest.approx(1120)


def test_a_model_is_solved_in_place_and_once(series):
    model, opened = quiet(), series()
    x = model.addVar("x", vtype="I", ub=9, obj=-1)
    model.addCons(2 * x <= 7)
    solved = opened.solve(model)
    assert (solved.instance, solved.key, model.getVal(x)) == ("today", "", 3)
    with pytest.raises(SolverError, match="was solved"):
        opened.solve(model)
    assert not opened.put_aside


def test_variables_that_share_a_name_give_no_start(series):
    opened, lines = series(), []
    for _ in range(2):
        model = quiet("same")
        for most in (5, 1):
            model.addVar("x", vtype="I", obj=-1, ub=most)
        model.setParam("limits/nodes", 1)
        solved = opened.solve(model, lines.append)
        assert (solved.result.primal_bound, opened.solution(solved)) == (-6, None)
    assert lines[1] == "same: its solution is not kept, since variables share a name."
    assert lines[2].endswith("no starts, since no name of a variable matches.")


def test_a_start_is_given_to_no_name_that_variables_share():
    model = pyscipopt.Model()
    for name in ("x", "x", "NAME y"):
        model.addVar(name, ub=5)
    assert give_solutions(model, [{"x": 1.0, "NAME y": 2.0}, {}]) == 1
    assert model.getNSols() == 1  # and none of the solution that was not kept


def test_a_rule_of_the_users_puts_no_configuration_aside(series, store):
    entered(store, DEFAULT, has_solution=True)
    model = pyscipopt.Model()
    attach(model, "pseudocost_product")
    with pytest.raises(SolverError, match="already has a BiFE rule"):
        series().solve(model)
    assert not series().put_aside


def test_what_finds_no_solution_is_put_aside_once_others_had_one(series, store):
    entered(store, LEAN, has_solution=False)
    assert not series().put_aside
    entered(store, DEFAULT, has_solution=True)
    entered(store, DEFAULT, has_solution=False)
    entered(store, LEAN, has_solution=False)
    assert series().put_aside == {LEAN: "it found no solution of made.lp"}


def test_what_fails_is_put_aside_and_the_file_solved_by_another(series, file):
    opened = series(rules=[Failing()])
    opened.solve(file("a", least=1))
    lines = []
    assert opened.solve(file("b", least=2), lines.append).arm == LEAN
    assert lines[1] == "b.lp: failing (failing) is put aside. It never works."
    assert "failing (failing)" in series(rules=[Failing()]).put_aside


def test_rules_of_the_same_name_are_told_apart_by_what_they_hold(series, tmp_path):
    files = [tmp_path / folder / "tuned.set" for folder in "ab"]
    for rounds, path in enumerate(files):
        path.parent.mkdir()
        path.write_text(f"separating/maxrounds = {rounds}\n")
    both = list(series(rules=files).arms)[1:3]
    assert [arm.partition(" ")[0] for arm in both] == ["tuned", "tuned"]
    files[0].write_text("separating/maxrounds = 2\n")
    assert not set(both) <= series(rules=files).arms.keys()


def test_starts_that_did_harm_are_not_given_again(series, file):
    opened = series()
    opened.solve(file("a", least=1))
    assert opened.solve(file("b", least=2)).started
    opened.solves = [each.model_copy(update={"cost": 1.0 + each.started}) for each in opened.solves] * 9
    solved = opened.solve(file("c", least=3))
    assert (solved.started, solved.starts) == (False, "no starts, since it has the lowest mean cost 1.000")


def test_the_next_choice_depends_on_the_journal_alone(series, store, file):
    for arm in series().arms:
        entered(store, arm, has_solution=True)
    path, lines = file("a", least=1), []
    series().solve(path, lines.append)
    entered_again = Store(store.folder.parent / "other")
    for event in list(store.events("series-plan"))[:-2]:
        entered_again.append("series-plan", event.kind, event.body)
    Series("plan", store=entered_again, time_limit_s=10).solve(path, lines.append)
    assert lines[0] == lines[1]


def test_an_event_of_another_form_is_one_sentence(series, store):
    store.append("series-plan", "failed", {"arm": LEAN})
    with pytest.raises(ConfigError, match="under: Field required; reason: Field required"):
        series()


def test_the_cost_is_share_of_the_limit_gap_and_mean_gap():
    half = result(status="optimal", cpu_s=5.0, primal_dual_integral=250.0, primal_bound=8.0, dual_bound=8.0)
    assert cost_of(half, 10.0) == pytest.approx(0.5 + 0.0 + 0.25)
    cut = half.model_copy(update={"status": "timelimit", "dual_bound": 6.0})
    assert cost_of(cut, 10.0) == pytest.approx(1.0 + 0.25 + 0.25)
    for bounds in ({"primal_bound": None}, {"dual_bound": None}, {"dual_bound": -6.0}):
        assert cost_of(cut.model_copy(update=bounds), 10.0) == pytest.approx(1.0 + 1.0 + 0.25)
    closed = cut.model_copy(update={"primal_bound": 0.0, "dual_bound": 0.0})
    assert cost_of(closed, 10.0) == pytest.approx(1.25)


class Stopping(pyscipopt.Eventhdlr):
    """A user's plugin that calls a function at the first branching."""

    def __init__(self, does):
        self.does = does

    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)

    def eventexit(self):
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)

    def eventexec(self, event):
        does, self.does = self.does, lambda model: None
        does(self.model)


class Own(pyscipopt.Branchrule):
    calls = 0

    def branchexeclp(self, allowaddcons):
        self.calls += 1
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}


def branched(does=lambda model: None):
    """Return a model that branches, with a plugin that calls a function once."""
    model = read_model(LSEU)
    model.includeEventhdlr(Stopping(does), "stopping", "")
    return model


def test_what_a_models_own_plugin_raises_is_told_and_blamed_on_no_configuration(series):
    opened = series()
    opened.solve(branched())

    def fail(model):
        raise KeyError("no such shift")

    with pytest.raises(SolverError, match=r"a callback raised KeyError\('no such shift'\)") as caught:
        opened.solve(branched(fail))
    assert isinstance(caught.value.__cause__, KeyError)
    assert opened.put_aside == {}


def test_a_solve_that_a_models_own_plugin_stops_has_a_result(series):
    opened = series()
    solved = opened.solve(branched(lambda model: model.interruptSolve()))
    assert solved.result.status == "userinterrupt"
    assert opened.solves == [solved]


def test_a_models_own_plugin_may_solve_as_well(series, file):
    statuses = []
    solved = series().solve(branched(lambda model: statuses.append(solve(file("a", least=1)).status)))
    assert (solved.result.status, statuses) == ("optimal", ["optimal"])


def test_a_branching_rule_of_the_models_own_is_displaced_by_none(series, recwarn):
    lines = []
    opened = series(rules=["general"])
    for _ in range(2):
        model, rule = branched(), Own()
        model.includeBranchrule(rule, "ryanfoster", "", priority=10**6, maxdepth=-1, maxbounddist=1.0)
        solved = opened.solve(model, lines.append)
        assert (solved.arm, solved.result.method) == (DEFAULT, "ryanfoster")
        assert rule.calls > 0
    assert f"{DEFAULT}, since the model's own branching rule ryanfoster stays in charge" in lines[1]
    assert not recwarn.list


def test_the_default_settings_branch_as_they_say(series):
    params = {"branching/pscost/priority": 10**7}
    opened = series(params=params, rules=["relpscost", "pscost"])
    assert [method.name for method in opened.arms.values()][:2] == ["pscost", "relpscost"]
    assert opened.solve(LSEU).result.nodes == solve(LSEU, "pscost").nodes


@pytest.mark.parametrize("limit", [math.inf, math.nan, 1e21, 0, None])
def test_a_time_limit_that_scip_does_not_take_is_refused_at_once(series, limit):
    message = "time_limit_s: Input should be" if limit is not None else "A series needs a time limit"
    with pytest.raises(ConfigError, match=message):
        series(time_limit_s=limit)

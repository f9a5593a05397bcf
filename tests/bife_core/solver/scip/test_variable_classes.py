"""Classes of integer variables: by name, and branched on first in Python, in a problem read later and in the C file."""

import ctypes

import numpy as np
import pyscipopt
import pytest
from pydantic import ValidationError

from bench.export import compiler
from bife_core.base.errors import RuleError
from bife_core.solver.export import export_c
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method, method_of
from bife_core.solver.scip.libscip import function
from bife_core.tuning.large_classes import family_facts
from bife_core.tuning.space import ORDERS, Space, choices_text
from tests.support.exported import exported

FIRST = Configuration(first=("variables/b",))


def two_kinds(size=12, seed=0):
    """A knapsack of binaries a and b with rows that join one of each, where both kinds are fractional in the LP."""
    model, rng = pyscipopt.Model(), np.random.default_rng(seed)
    model.hideOutput()
    a, b = (
        [model.addVar(f"{kind}_{k}", vtype="B", obj=-rng.uniform(5, 9)) for k in range(size)] for kind in "ab"
    )
    low = [model.addVar(f"low_{k}", obj=1) for k in range(size)]
    for k in range(size):
        model.addCons(2 * a[k] + 3 * b[(k + 1) % size] - low[k] <= 4)
    weights = rng.uniform(1, 3, 2 * size)
    model.addCons(pyscipopt.quicksum(w * x for w, x in zip(weights, [*a, *b], strict=True)) <= size)
    return model


class Branched(pyscipopt.Eventhdlr):
    """Keeps the first letter of every variable that SCIP branches on, and the priorities that its variables have."""

    def __init__(self):
        self.kinds, self.priorities = [], {}

    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)

    def eventexec(self, event):
        priority_of = function("SCIPvarGetBranchPriority")
        for variable in self.model.getVars(transformed=True):
            self.priorities[variable.name.removeprefix("t_")[:1]] = priority_of(
                ctypes.c_void_p(variable.ptr())
            )
        for child in self.model.getChildren():
            variables, _, _ = child.getParentBranchings()
            self.kinds.append(variables[0].name.removeprefix("t_")[:1])


def branched(model):
    model.includeEventhdlr(kept := Branched(), "kept", "")
    model.setParams({"presolving/maxrounds": 1, "separating/maxroundsroot": 0, "limits/nodes": 20})
    model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.optimize()
    return kept


def test_a_class_is_branched_on_before_others_by_scip_and_by_a_rule():
    assert "a" in branched(two_kinds()).kinds
    for method in (FIRST, FIRST.model_copy(update={"branching": load_method("pseudocost_product")})):
        attach(model := two_kinds(), method)
        kept = branched(model)
        assert kept.kinds[:2] == ["b", "b"]
        assert kept.priorities == {"a": 0, "b": 1, "l": 0}


def test_the_optimum_stays_the_same(tmp_path):
    two_kinds().writeProblem(str(file := tmp_path / "model.lp"), verbose=False)
    assert solve(file, FIRST).primal_bound == pytest.approx(solve(file).primal_bound)


def test_a_problem_that_is_read_later_has_the_order_too(tmp_path):
    two_kinds().writeProblem(str(file := tmp_path / "model.lp"), verbose=False)
    later = pyscipopt.Model()
    later.hideOutput()
    FIRST.attach(later)
    later.readProblem(str(file))
    assert branched(later).priorities == {"a": 0, "b": 1, "l": 0}


@pytest.mark.skipif(not compiler(), reason="there is no C compiler here")
def test_the_c_file_sets_the_same_order(tmp_path):
    both = FIRST.model_copy(update={"on_demand": ("rows/2b_minus_c_le_pos",)})
    for method in (FIRST, both, both.model_copy(update={"branching": load_method("pseudocost_product")})):
        kept = exported(method, tmp_path)(model := two_kinds())
        assert branched(model).priorities == {"a": 0, "b": 1, "l": 0}
        del kept
    with pytest.raises(RuleError, match="in whose first round a plugin sets what is branched on first"):
        export_c(Configuration(params={"presolving/maxrounds": 0}, first=FIRST.first))


def test_a_model_without_the_class_or_with_priorities_is_left_with_a_warning():
    with pytest.warns(
        UserWarning, match="does not have variables/y branched on first: the model has none of them"
    ):
        attach(two_kinds(), Configuration(first=("variables/y",)))
    model = two_kinds()
    model.chgVarBranchPriority(model.getVars()[0], 3)
    with pytest.warns(UserWarning, match="the model has branching priorities of its own"):
        attach(model, FIRST)
    assert branched(model).priorities["b"] == 0


def test_a_configuration_with_an_order_is_json_and_its_settings_say_what_they_lack(tmp_path):
    assert method_of(FIRST.text, "first") == FIRST
    assert FIRST.identity != Configuration().identity
    assert "# branched on first: variables/b" in FIRST.shown
    assert FIRST.with_part(Configuration(params={"separating/maxrounds": 0})).first == FIRST.first
    _, settings = FIRST.files(tmp_path / "found.set").values()
    assert "# Without its order of branching, which found.json has." in settings
    with pytest.raises(ValidationError, match="should match pattern"):
        Configuration(first=("b",))


def test_large_classes_are_tuned_where_there_are_two(tmp_path):
    two_kinds().writeProblem(str(file := tmp_path / "model.lp"), verbose=False)
    space = Space({}, facts=family_facts([str(file)]))
    orders = {row.name: row.description for row in space.rows if row.group == ORDERS}
    assert orders == {
        f"variables/{kind}": f"50 % of the integer variables, such as {kind}_0" for kind in "ab"
    }
    assert space.configuration({"variables/b": "first"}) == FIRST
    assert choices_text({"variables/b": "first"}) == "variables/b first"
    (one := tmp_path / "one.lp").write_text(
        "Minimize\n o: x1 + x2\nSubject To\n c: x1 + x2 >= 1\nBinary\n x1 x2\nEnd\n"
    )
    assert family_facts([str(one)]).classes == {}

"""What is done when SCIP begins to solve: once a solve, before presolving or first in it; Ctrl-C ends the solve."""

import pyscipopt
import pytest

from bife_core.solver.scip.beforehand import Beforehand


def packed(action, within=False):
    """Return a model that calls an action beforehand, and gets its problem later."""
    model = pyscipopt.Model()
    model.hideOutput()
    Beforehand.include(model, "action", "acts", action, within)
    model.createProbBasic()
    x = [model.addVar(f"x{k}", "B", obj=-1.0 - k % 3) for k in range(9)]
    model.addCons(pyscipopt.quicksum((2.0 + k % 4) * each for k, each in enumerate(x)) <= 11)
    return model


@pytest.mark.parametrize(
    ("within", "presolving", "stage"),
    [(False, -1, "INITPRESOLVE"), (False, 0, "INITPRESOLVE"), (True, -1, "PRESOLVING")],
)
def test_it_acts_once_a_solve_and_in_each_solve_anew(within, presolving, stage):
    stages = []
    model = packed(lambda model: stages.append(model.getStageName()), within)
    model.setParam("presolving/maxrounds", presolving)
    model.optimize()
    assert stages == [stage]
    model.freeTransform()
    model.optimize()
    assert stages == [stage] * 2


@pytest.mark.parametrize("within", [False, True])
def test_ctrl_c_ends_the_solve(within):
    def stopped(model):
        raise KeyboardInterrupt

    model = packed(stopped, within)
    model.optimize()
    assert model.getStatus() == "userinterrupt"

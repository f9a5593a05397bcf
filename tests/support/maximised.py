"""A model whose objective is not minimised, as solvers other than SCIP read it."""

from pyscipopt import Model


def write_maximised(path):
    """Write a small model that is maximised and has a constant: 100 + 7.55 at best."""
    model = Model()
    model.hideOutput()
    x = [model.addVar(f"x {i}", vtype="B") for i in range(3)]
    y = model.addVar("y", ub=2.5)
    model.addCons(x[0] + x[1] + x[2] + y <= 3.7)
    model.setObjective(3 * x[0] + 2 * x[1] + x[2] + 1.5 * y + 100, "maximize")
    model.writeProblem(str(path), verbose=False)

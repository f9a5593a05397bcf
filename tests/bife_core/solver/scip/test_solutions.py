"""A solution by the names of variables, and as a file that SCIP reads."""

import gzip

import pyscipopt
import pytest

from bife_core.base.errors import ConfigError, InstanceError
from bife_core.solver.methods.attach import solve
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solutions import check_names, solution_of, write_solution

CIP = """STATISTICS
  Problem name     : names
OBJECTIVE
  Sense            : maximize
VARIABLES
  [integer] <{}>: obj=3, original bounds=[0,3]
  [integer] <{}>: obj=1, original bounds=[0,2]
END
"""


NAMES = ["NAMEx", "name", "=obj=x", "ENDATA", "Objective", "#x", "<?xml", "inf", "x,y", "1e5", "größe"]


@pytest.mark.parametrize("name", [*NAMES, "n" * 990])
def test_scip_reads_every_value_back(name, tmp_path):
    (path := tmp_path / "a.cip").write_text(CIP.format(name, "other"))
    result, model = solve(path, solution=tmp_path / "a.sol"), read_model(path)
    values = model.readSolFile(str(tmp_path / "a.sol"))
    assert model.getSolObjVal(values) == result.primal_bound == 11
    assert [model.getSolVal(values, variable) for variable in model.getVars()] == [3, 2]


@pytest.mark.parametrize("name", ["a b", "Variable Name", "a\tb", "n" * 991, "other"])
def test_names_by_which_scip_loses_values_are_refused_before_the_solve(name, tmp_path):
    (path := tmp_path / "a.cip").write_text(CIP.format(name, "other"))
    with pytest.raises(InstanceError, match="rename the variable"):
        solve(path, solution=tmp_path / "a.sol", time_limit_s=1e-9)
    assert not (tmp_path / "a.sol").exists()


def test_a_solution_is_not_called_as_an_instance_is_nor_as_what_is_read(tmp_path):
    (tmp_path / "a.cip.gz").write_bytes(gzip.compress(CIP.format("x", "y").encode()))
    (tmp_path / "a.cip").write_text(CIP)
    with pytest.raises(ConfigError, match=r"a.cip is called as an instance is; call the solution .sol"):
        solve(tmp_path / "a.cip.gz", solution=tmp_path / "a.cip")
    assert (tmp_path / "a.cip").read_text() == CIP
    (own := tmp_path / "own.set").touch()
    with pytest.raises(ConfigError, match=r"own.set is read and would be written over"):
        solve(tmp_path / "a.cip.gz", solver=own, solution=own)


def test_the_longest_line_is_read_whole(tmp_path):
    check_names([name := "n" * 990])
    write_solution(tmp_path / "a.sol", {name: (value := -1.2345678901234567e-300)}, 0.0)
    model = pyscipopt.Model()
    variable = model.addVar(name, lb=None)
    assert model.getSolVal(model.readSolFile(str(tmp_path / "a.sol")), variable) == value


def test_variables_that_share_a_name_have_no_solution():
    model = pyscipopt.Model()
    model.hideOutput()
    model.addVar("x", obj=-1, ub=5)
    model.addVar("x", obj=-1, ub=1)
    model.optimize()
    assert solution_of(model) == {}


class Columns(pyscipopt.Pricer):
    """Adds a column for each of its `costs` to its `row`."""

    def pricerredcost(self):
        while self.costs:
            column = self.model.addVar(f"column{len(self.costs)}", obj=self.costs.pop(), pricedVar=True)
            self.model.addConsCoeff(self.model.getTransformedCons(self.row), column, 1.0)
        return {"result": pyscipopt.SCIP_RESULT.SUCCESS}

    pricerfarkas = pricerredcost


def test_columns_of_a_pricer_are_part_of_the_solution():
    model, pricer = pyscipopt.Model(), Columns()
    model.hideOutput()
    model.includePricer(pricer, "columns", "")
    slack = model.addVar("slack", obj=9)
    pricer.costs, pricer.row = [1.0, 2.0], model.addCons(slack >= 4, modifiable=True)
    model.optimize()
    assert solution_of(model) == {"slack": 0, "column1": 4, "column2": 0}
    assert model.getObjVal() == 4

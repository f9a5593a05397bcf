"""Exported rows on demand are those that Python puts there, alone and beside a rule."""

import pyscipopt
import pytest

from bench.export import compiler
from bife_core import open_benchmark
from bife_core.base.errors import RuleError
from bife_core.instances.config import InstancesConfig
from bife_core.solver.export import export_c
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.row_classes import Rows
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.support.exported import exported
from tests.support.instances import locations
from tests.support.marks import long_but

pytestmark = pytest.mark.skipif(not compiler(), reason="there is no C compiler here")

LINK = "rows/link/c_minus_b_le_0"

LEAN = SolveSettings(node_limit=1, params={"presolving/maxrounds": 1, "separating/maxroundsroot": 0})

FAMILIES = ["facility_location", "transmission_switching"]
FAMILIES += ["unit_commitment", "item_placement", "set_covering"]


class FirstLp(pyscipopt.Eventhdlr):
    """Counts the rows of the first LP."""

    rows = None

    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.FIRSTLPSOLVED, self)

    def eventexec(self, event):
        if self.rows is None:
            self.rows = self.model.getNLPRows()


def rows_in_first_lp(path, attach):
    model = read_model(path)
    apply(LEAN, model)
    kept, first = attach(model), FirstLp()
    model.includeEventhdlr(first, "first", "")
    model.optimize()
    del kept
    return first.rows


@pytest.mark.parametrize("family", long_but(FAMILIES, FAMILIES[:2]))
def test_each_class_has_the_rows_that_it_has_in_python(family, tmp_path):
    benchmark = open_benchmark(InstancesConfig(benchmark=family, size="tiny"), tmp_path)
    path = benchmark.instances("design", 1)[0].path
    classes = Rows(read_model(path)).counts
    usual = rows_in_first_lp(path, lambda model: None)
    changed = 0
    for name in classes:
        method = Configuration(on_demand=(name,))
        on_demand = rows_in_first_lp(path, lambda model, method=method: method.attach(model))
        assert rows_in_first_lp(path, exported(method, tmp_path)) == on_demand
        changed += on_demand != usual
    assert changed > 0


def test_a_rule_beside_them_solves_to_the_same_optimum(tmp_path):
    locations(14).writeProblem(str(path := tmp_path / "model.lp"), verbose=False)
    both = Configuration(on_demand=(LINK,), branching=load_method("pseudocost_product"))
    model = read_model(path)
    kept = exported(both, tmp_path)(model)
    model.optimize()
    del kept
    assert model.getObjVal() == pytest.approx(solve(path).primal_bound)
    assert rows_in_first_lp(path, exported(both, tmp_path)) == rows_in_first_lp(path, both.attach)
    assert rows_in_first_lp(path, both.attach) < rows_in_first_lp(path, both.branching.attach)


def test_a_model_that_gets_its_problem_later_puts_them_on_demand_as_the_plugin_does(tmp_path):
    locations(14).writeProblem(str(path := tmp_path / "model.lp"), verbose=False)
    method = Configuration(on_demand=(LINK,))

    later, first = pyscipopt.Model(), FirstLp()
    later.hideOutput()
    method.attach(later)
    later.readProblem(str(path))
    later.includeEventhdlr(first, "first", "")
    apply(LEAN, later)
    later.optimize()
    assert first.rows == rows_in_first_lp(path, exported(method, tmp_path))
    assert first.rows < rows_in_first_lp(path, lambda model: None)


def test_without_presolving_there_is_none_to_export():
    method = Configuration(params={"presolving/maxrounds": 0}, on_demand=(LINK,))
    sentence = "has no presolving, in whose first round a plugin puts rows on demand"
    with pytest.raises(RuleError, match=sentence):
        export_c(method)


def test_what_is_not_in_a_plugin_is_not_in_the_file():
    rows = export_c(Configuration(on_demand=("rows/2b_le_pos",)))
    assert "SCIPincludeBranchruleBasic" not in rows
    assert '"rows/2b_le_pos"' in rows
    assert "rows_on_demand" not in export_c("paper_ca")

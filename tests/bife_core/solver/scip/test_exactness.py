"""Optima that no integer point has, which SCIP's tolerances allow: they are named, and count as no proof."""

import pyscipopt
import pytest

from bife_core import solve
from bife_core.base.errors import InstanceError
from bife_core.solver.scip.exactness import NOT_LINEAR, violation_of
from bife_core.solver.scip.solve import cautions, contradictions, disagree
from tests.bife_core.solver.scip.test_solutions import Columns

ROOM = "Maximize\n obj: t\nSubject To\n far: t - 3 x <= 5000001\nBounds\n 5000000 <= t <= 5000006\nBinary\n x\n{}End\n"
EQUAL = (
    "Minimize\n obj: 2 a + 9 b + 17 c + 16 d\nSubject To\n far: 59 a + 29 b + 53 c + 31 d = 2849208\n"
    "Generals\n a b c d\nEnd\n"
)
TINY = (
    "Minimize\n obj: x + y\nSubject To\n far: 1e-7 x + 1e-7 y >= 2e-7\nBounds\n x <= 9\n y <= 9\n"
    "Generals\n x y\nEnd\n"
)
BOOLEAN = (
    "* #variable= 4 #constraint= 2\nmin: 6 x1 4 x2 5 x3 9 x4 ;\n"
    "-10000000 x1 10000000 x2 3 x3 3 x4 = 1 ;\n-1 x1 1 x2 1 x3 3 x4 >= 2 ;\n"
)
PRODUCT = "* #variable= 3 #constraint= 1\nmin: -1 x0 -2 x1 -3 x2 ;\n-1 x0 -1 x1 -1 x2 -1 x2 x1 x0 >= -3 ;\n"
THIRDS = (
    "Minimize\n obj: x + y + z\nSubject To\n c: 0.333333333 x + 0.333333333 y + 0.333333333 z >= 1\n"
    " twice: 0.1 x + 0.1 x + 0.1 y >= 0.3\nBinary\n x y z\nEnd\n"
)
PARTS = "Minimize\n obj: x\nSubject To\n c: 3 x - 1000000 y = 1\nBinary\n y\nEnd\n"

OTHERS = (
    "STATISTICS\n  Problem name     : m\nOBJECTIVE\n  Sense            : maximize\nVARIABLES\n"
    "  [binary] <x>: obj=1, original bounds=[0,1]\n  [binary] <y>: obj=2, original bounds=[0,1]\n"
    "  [integer] <z>: obj=1, original bounds=[0,9]\nCONSTRAINTS\n"
    "  [SOS1] <s>: <x>[B] (1), <y>[B] (2);\n  [SOS2] <t>: <x>[B] (1), <y>[B] (2), <z>[I] (3);\n"
    "  [disjunction] <>: disjunction([linear] <f>: <x>[B] >= 1, [linear] <g>: <z>[I] <= 3);\n"
    "  [knapsack] <k>: 5<x>[B] +4<y>[B] <= 5;\n  [logicor] <l>: logicor(<~x>[B],<y>[B]);\n"
    "  [setppc] <p>: <x>[B] +<~y>[B] <= 1;\n  [varbound] <v>: <z>[I] -9<y>[B] <= 0;\nEND\n"
)


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / ("m.opb" if text[0] == "*" else "m.cip" if text[0] == "S" else "m.lp")
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "violation", "optimum"),
    [
        (ROOM.format(""), "far by 2", 5000004),
        (ROOM.format("Generals\n t\n"), "far by 2", 5000004),
        (EQUAL, "far by 2", None),
        (TINY, "far by 2e-07", 2),
        (BOOLEAN, "linear0 by 2", None),
        (THIRDS, None, 3),
        (PARTS, None, 1 / 3),
        (OTHERS, None, 5),
    ],
)
def test_rows_that_rounded_integers_miss_are_named(text, violation, optimum, written):
    path = written(text)
    result = solve(path)
    assert (result.status, result.violation) == ("optimal", violation)
    assert (result.proven, result.finished) == (violation is None, True)
    if optimum is not None:
        tight = solve(path, params={"numerics/feastol": 1e-9})
        assert (tight.violation, tight.primal_bound) == (None, pytest.approx(optimum, abs=1e-7))


def test_an_optimum_out_of_reach_neither_agrees_nor_disagrees(written):
    doubtful = solve(written(TINY))
    other = doubtful.model_copy(update={"violation": None, "primal_bound": 2.0})
    assert disagree(other, other.model_copy(update={"primal_bound": 0.0}))
    assert not disagree(doubtful, other)
    assert contradictions([doubtful, other]) == ()
    (sentence,) = cautions([other, doubtful, doubtful.model_copy(update={"method": "pscost"})])
    assert sentence.startswith(
        "m.lp: the best solution misses far by 2e-07 with its integers rounded. SCIP's"
    )
    assert sentence.endswith(" tolerances allow it; solve with numerics/feastol = 1e-9.")


def test_a_product_that_presolving_loses_is_noticed_and_a_file_of_one_refused(written):
    path, model = written(PRODUCT), pyscipopt.Model()
    with pytest.raises(InstanceError, match="found the product 'x2 x1'; SCIP 10 proves wrong optima of some"):
        solve(path)
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert (model.getObjVal(), violation_of(model, model.getBestSol())) == (-6.0, NOT_LINEAR)
    wrong = solve(written(PARTS)).model_copy(update={"violation": NOT_LINEAR})
    assert not wrong.proven
    assert cautions([wrong])[0].endswith("by SCIP's own check; solve with presolving/maxrounds = 0.")


def test_an_integer_variable_that_is_none_is_named(written):
    model = pyscipopt.Model()
    model.hideOutput()
    x, y, z = (model.addVar(name, vtype, ub=3.0, obj=1.0) for name, vtype in zip("xyz", "BIC", strict=True))
    model.addCons(x + y + z >= 2.0)
    model.optimize()
    for value, violation in ((1.0 + 1e-7, None), (0.4, "x = 0.4, which is to be an integer")):
        solution = model.createOrigSol()
        for variable, of in ((x, value), (y, 1.0), (z, 1.0)):
            model.setSolVal(solution, variable, of)
        assert violation_of(model, solution) == violation
    wrong = solve(written(PARTS)).model_copy(update={"violation": violation})
    sentence = (
        "SCIP's best solution has x = 0.4, which is to be an integer; solve with presolving/maxrestarts = 0."
    )
    assert cautions([wrong])[0].endswith(sentence)


@pytest.mark.parametrize(
    ("value", "violation"), [(0.5 - 1e-6, None), (0.4, "c by 0.1 without any rounding"), (0.5, None)]
)
def test_a_row_with_fractions_counts_if_it_is_missed_by_far(value, violation, written):
    model = pyscipopt.Model()
    model.hideOutput()
    x, z = model.addVar("x", "B", obj=1.0), model.addVar("z", ub=3.0, obj=1.0)
    model.addCons(x + z >= 1.5, name="c")
    model.optimize()
    solution = model.createOrigSol()
    model.setSolVal(solution, x, 1.0)
    model.setSolVal(solution, z, value)
    assert violation_of(model, solution) == violation
    cautioned = cautions([solve(written(PARTS)).model_copy(update={"violation": violation})])
    advice = "misses c by 0.1 without any rounding; solve with numerics/feastol = 1e-9."
    assert [text.endswith(advice) for text in cautioned] == [True] * (violation is not None)


def test_rows_that_lack_priced_columns_are_left_out():
    model, pricer = pyscipopt.Model(), Columns()
    model.hideOutput()
    x = model.addVar("x", vtype="I", obj=9.0)
    pricer.costs, pricer.row = [1.0], model.addCons(x >= 4, separate=False, modifiable=True)
    model.includePricer(pricer, "priced", "")
    model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.optimize()
    assert (model.getStatus(), model.getObjVal()) == ("optimal", 4.0)
    assert violation_of(model, model.getBestSol()) is None

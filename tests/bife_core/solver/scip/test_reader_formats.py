"""Formats beside MPS and LP have the optima of the same model in LP, and what SCIP misreads of them is refused."""

import gzip
import re

import pytest
from pyscipopt import Model

from bife_core.base.errors import InstanceError
from bife_core.instances.folder import screen
from bife_core.solver.methods.attach import solve
from bife_core.solver.scip.exactness import NOT_LINEAR
from bife_core.solver.scip.reader import read_model
from tests.support import awkward

LP = "Maximize\n o: x + 2 y\nSubject To\n c: x + y <= 7\nBounds\n x <= 3.5\n y <= 4\nGeneral\n x\nEnd\n"
NL = """g3 1 1 0\t# problem unknown
 2 1 1 0 0 \t# vars, constraints, objectives, ranges, eqns
 0 0 0 0 0 0\t# nonlinear constrs, objs; ccons: lin, nonlin, nd, nzlb
 0 0\t# network constraints: nonlinear, linear
 0 0 0 \t# nonlinear vars in constraints, objectives, both
 0 0 0 1\t# linear network variables; functions; arith, flags
 0 1 0 0 0 \t# discrete variables: binary, integer, nonlinear (b,c,o)
 2 2 \t# nonzeros in Jacobian, obj. gradient
 0 0\t# max name lengths: constraints, variables
 0 0 0 0 0\t# common exprs: b,c,o,c1,o1
C0
n0
O0 1
n0
x0
r
1 7
b
0 0 4
0 0 3.5
k1
1
J0 2
0 1
1 1
G0 2
0 2
1 1
"""
OSIL = """<?xml version="1.0" encoding="UTF-8"?>
<osil xmlns="os.optimizationservices.org" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<instanceHeader><name>a</name></instanceHeader>
<instanceData>
<variables numberOfVariables="2"><var name="x" lb="0" ub="3.5" type="I"/><var name="y" ub="4"/></variables>
<objectives numberOfObjectives="1"><obj maxOrMin="max" numberOfObjCoef="2">
<coef idx="0">1</coef><coef idx="1">2</coef></obj></objectives>
<constraints numberOfConstraints="1"><con name="c" ub="7"/></constraints>
<linearConstraintCoefficients numberOfValues="2"><start><el>0</el><el>2</el></start>
<colIdx><el>0</el><el>1</el></colIdx><value><el>1</el><el>1</el></value></linearConstraintCoefficients>
</instanceData></osil>
"""
SQUARE = (
    '<nonlinearExpressions numberOfNonlinearExpressions="1"><nl idx="0"><square><variable idx="0"/></square></nl>'
    "</nonlinearExpressions></instanceData>"
)
FZN = """% integers alone
array [1..2] of int: weights = [1,1];
var 0..3: x :: output_var;
var 0..4: y;
var bool: b;
constraint int_lin_le(weights,[x,y],7) :: domain;
solve :: int_search([x,y],first_fail,indomain_min,complete) maximize x;
"""
WBO = "* c\nsoft: 6;\n[2] +1 x1 >= 1 ;\n[3] -1 x1 >= 0 ;\n+1 x1 +1 x2 >= 1 ;\n"  # x1 is 0: 2
CNF = "c c\np cnf 3 3\n1 -2 0\n2\n 3 0\n-1 0\n"
TEXTS = {"rlp": LP, "pip": LP, "nl": NL, "osil": OSIL, "fzn": FZN, "wbo": WBO, "cnf": CNF}


def written(tmp_path, format_, changes):
    text = TEXTS[format_]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    path = tmp_path / f"a.{format_}"
    path.write_text(text)
    return path


LIST = "constraint int_lin_le(weights,[x,y],7) :: domain;"
BOOLS = "var bool: b;"
GOOD = [
    ("rlp", (), 11),
    ("pip", (), 11),
    ("pip", ("c: x + y <= 7", "c: x y <= 7"), 9),
    ("pip", ("c: x + y <= 7", "c: x^2 + y + 1 <= 9.5"), 10),
    ("pip", ("2 y\n", "2 y + 5\n"), 16),
    ("nl", (), 11),
    ("nl", ("\n", "\r\n"), 11),
    ("nl", ("O0 1\nn0", "O0 1\nn5"), 16),
    ("nl", ("1 7", "0 3 6"), 10),
    ("nl", ("O0 1", "O0 0"), 0),
    ("nl", ("x0", "x2\n0 1\n1 nan", "G0 2\n0 2", "G0 2\n0 2 # nan"), 11),
    ("osil", (), 11),
    ("osil", ('type="I"', 'type="B"'), 9),
    ("osil", ('"max"', '"max" constant="5"', 'ub="7"', 'ub="8" constant="1"'), 16),
    ("osil", ('type="I"', 'type="D"', 'lb="0"', 'lb="3.25"', 'ub="7"', 'ub="3"'), 6),
    ("osil", ("</instanceData>", SQUARE), 9),
    ("fzn", (), 3),
    ("fzn", ("maximize x", "minimize y", LIST, "constraint int_lin_ge([1,1], [x,y], 6);"), 3),
    ("fzn", (LIST, "constraint int_plus(x, 2, y); constraint int_eq(y, 4);"), 2),
    ("fzn", (LIST, "constraint int_times(x, y, 4);"), 2),
    ("fzn", (BOOLS, "var -2.5..1e+03: f;", "maximize x", "minimize f", LIST, "constraint float_ge(f,-1.5);"), -1.5),
    ("fzn", (BOOLS, "array [1..2] of var bool: b;", LIST, "constraint array_bool_and(b,true);\n"
             "constraint bool2int(b[2],x);"), 1),
    ("fzn", (LIST, "constraint int_gt(y,x); constraint int_ge(2,y);"), 1),
    ("fzn", (BOOLS, "var bool: b; var bool: c; var bool: d;", LIST, "constraint bool_xor(b,c,d);\n"
             "constraint bool_eq(b,true); constraint bool_not(c,b); constraint bool2int(d,x);"), 1),
    ("fzn", (BOOLS, "var 0.0..2.5: f;", "maximize x", "maximize f", LIST, "constraint int2float(x,f);"), 2),
    ("fzn", (LIST, "constraint cumulative([x,y],[2,2],[1,1],1);\nconstraint int_eq(y,1);"), 3),
    ("wbo", (), 2),
    ("wbo", ("soft: 6", "soft: "), 2),
    ("cnf", (), 0),
    ("cnf", ("-1 0\n", "-1 0\n%\n0\n"), 0),
]  # fmt: skip


@pytest.mark.parametrize(("format_", "changes", "optimum"), GOOD)
def test_good_files_have_the_optimum_of_their_model_and_may_be_gzipped(tmp_path, format_, changes, optimum):
    path = written(tmp_path, format_, changes)
    paths = [path]
    if format_ != "nl":
        paths.append(tmp_path / f"b.{format_}.gz")
        paths[-1].write_bytes(gzip.compress(path.read_bytes()))
    for each in paths:
        model = read_model(each)
        model.optimize()
        assert model.getStatus() == "optimal"
        assert model.getObjVal() == pytest.approx(optimum)


@pytest.mark.parametrize(
    ("format_", "changes"),
    [
        ("wbo", ("soft: 6", "soft: 2")),
        ("cnf", ("-1 0", "0")),
        ("cnf", ("p cnf 3 3", "p cnf 3 4", "-1 0", "-1 0 2 0", "2\n 3", "-2")),
        ("fzn", (LIST, LIST.replace("7", "-1"))),
    ],
)
def test_what_has_no_solution_is_infeasible(tmp_path, format_, changes):
    model = read_model(written(tmp_path, format_, changes))
    model.optimize()
    assert model.getStatus() == "infeasible"


DECLARED = "which no line before declares"
OTHER = "which SCIP misreads; write int_le(x,y) as int_lin_le"
BAD = [
    ("rlp", (" y <= 4", " y <= 4\n x <= 5"), "line 8: found another bound of 'x'"),
    ("rlp", ("General\n x\nEnd\n", ""), "no line 'End'"),
    ("pip", ("End\n", "End\n d: x <= 1\nEnd\n"), "found 'd:' after 'End'"),
    *(("pip", ("Subject To", words), "line 4: found a sense in the objective; correct it, or 'Subject To' before it")
      for words in ("Subject", "s.t", "Subject To:")),
    ("pip", ("2 y", "2 = y"), "line 2: found a sense in the objective"),
    ("pip", ("c: x +", "c: exp(x) +"), "a.pip: SCIP takes 'exp(x)' for a name; write functions"),
    ("pip", ("c: x +", "c: x/y +"), "SCIP takes 'x/y' for a name"),
    ("pip", ("2 y", "2,5 y"), "SCIP takes ',5' for a name"),
    ("pip", ("Bounds", "Lazy Constraints\n l: x <= 2\nBounds"), "SCIP takes ':' for a name"),
    ("pip", ("+ 2 y\n", 70_000 * " " + "+ 2 y\n"), "exceeds 65534 characters"),
    ("pip", ("<= 7", ">= 1 <= 7"), "line 4: found a row with two sides"),
    ("nl", ("g3", "b3"), "a.nl is no plain text; unpack it, or use AMPL's `write gNAME;`"),
    *(("nl", (NL, NL[: NL.index(end)]), "cut off") for end in ("k1", "J0", "G0", "1 1\nG0")),
    ("nl", ("G0 2\n0 2\n1 1\n", "G0 2\n0 2\n1 1"), "is cut off or no .nl file"),
    ("nl", ("J0 2\n0 1\n1 1\n", "J0 2\n0 1\n1 1\nJ0 1\n0 5\n"), "it has 3 coefficients in J, its head says 2"),
    ("nl", (" 2 1 1 0 0 ", " 2 1 1 0 0 1"), "line 2: counts logical constraints, on which SCIP crashes"),
    ("nl", ("G0 2\n0 2", "G0 2\n0 nan"), "line 27: found '0 nan', with which a row counts for nothing"),
    ("nl", ("O0 1\nn0", "O0 1\nnNaN"), "line 14: found 'nNaN'"),
    ("nl", ("O0 1\nn0", "O0 1\nn nan"), "line 14: found 'n nan'"),
    ("nl", ("G0 2\n0 2", "G0 2\n0nan", "x0", "x1\n0 nan"), "line 28: found '0nan'"),
    ("nl", ("1 7", "1 -nan"), "line 17: found '1 -nan'"),
    ("nl", ("1 7", "5 1 1"), "unsupported: complementarity constraint"),
    ("osil", ("UTF-8", "UTF-88"), "line 1: is cut off or no XML"),
    ("osil", ("</instanceData></osil>\n", ""), "line 11: is cut off or no XML"),
    ("osil", ("</instanceData>", "<cones/></instanceData>"), "has 'cones' in 'instanceData', which SCIP leaves out"),
    ("osil", ("linearCon", "linearcon"), "has 'linearconstraintCoefficients' in 'instanceData'"),
    ("osil", ('ub="4"', 'upper="4"'), "has 'upper' in 'var'"),
    *(("osil", ("3.5", bound), f"has a bound '{bound}'") for bound in ("inf", "nan", "3,5")),
    ("osil", ('"0">1<', '"0">1</coef><coef idx="0">3<'), "has two coefficients of one variable"),
    ("osil", ("maxOrMin", "maxormin"), "has 'maxormin' in 'obj'"),
    *(("fzn", (LIST, f"constraint {row};"), f"line 6: found 'constraint {row};', {OTHER}") for row in (
        "int_le(x,3)", "int_lt(x,y)", "bool_le(b,b)", "float_le(x,2.5)", "int_ne(x,y)", "int_le_reif(x,3,b)",
        "all_different_int([x,y])", "int_eq(x,y,y)", "bool2int(b)", "array_bool_xor([b])", "set_in(x,1..3)")),
    *(("fzn", (LIST, f"constraint {row};"), f"line 6: found 'z', {DECLARED}") for row in (
        "int_eq(x,z)", "int_lin_le([1,1],[x,z],7)", "int_lin_le(z,[x,y],7)")),
    ("fzn", ("maximize x", "maximize z"), f"line 7: found 'z', {DECLARED}"),
    *(("fzn", (old, new), "found lists of different lengths in") for old, new in (
        ("[x,y],7", "[x],7"), ("[x,y],7", "[x,y,x],7"), ("(weights", "([1]"), ("= [1,1]", "= [1,1,1]"))),
    ("fzn", (BOOLS, "var 0..1: x;"), "line 5: found a second 'x'; rename one"),
    ("fzn", ("var 0..4: y", "var {1,3}: y"), "line 4: found 'var {1,3}: y;'"),
    ("fzn", ("var 0..4: y", "var 0..4.5: y"), "mismatch in value type, assume an integer variable type"),
    ("fzn", ("solve", "solve maximize y;\nsolve"), "line 8: found 'solve :: int_search([x,y],first_fail,indomain_min,"),
    ("fzn", (FZN, FZN[: FZN.index("solve")]), "found no 'solve' or no line feed at the end, as if it were cut off"),
    ("fzn", (" x;\n", " x;"), "found no 'solve' or no line feed at the end"),
    ("fzn", (FZN, FZN[:-20]), "line 7: found 'solve"),
    ("fzn", (LIST, LIST[:-1]), "line 6: found 'constraint"),
    ("fzn", ("output_var;", "output_var"), "line 3: found 'var 0..3: x :: output_var var 0..4: y;'"),
    ("wbo", ("soft: 6;\n", "soft: 6;\nsoft: 9;\n"), "line 3: found a second objective or top cost"),
    ("wbo", ("* c\nsoft: 6;\n", ""), "Found in line 1 a soft constraint, without having read a starting top-cost"),
    ("wbo", ("[2]", "[1.5]"), "line 3: found '[1.5] +1 x1 >= 1', expected"),
    ("wbo", ("[2]", "[-2]"), "line 3: found '[-2] +1 x1 >= 1', expected"),
    ("wbo", ("soft: 6;", "soft: 6;\nmin: x1;"), "found a second objective or top cost"),
    ("wbo", ("x2", "indicatorvar0"), "line 5: found 'indicatorvar0', as SCIP names soft constraints; rename it"),
    ("wbo", ("[3] -1 x1", "[3] -1 x1 ~x2"), "line 4: found the product 'x1 ~x2'; SCIP 10 proves wrong optima"),
    ("cnf", ("p cnf 3 3", "p cnf 3 4"), "expected 4 clauses, but found 3"),
    ("cnf", ("-1 0\n", "-1"), "found 1 additional literals after last clause"),
    ("cnf", ("2\n", "2x\n"), "line 4: found '2x', expected integers that end with 0"),
    ("cnf", ("2\n", "2.5\n"), "line 4: found '2.5'"),
    ("cnf", ("p cnf 3 3", "p wcnf 3 3 9"), "invalid format tag <wcnf>"),
]  # fmt: skip


@pytest.mark.parametrize(("format_", "changes", "sentence"), BAD)
def test_what_scip_would_take_as_another_model_is_refused_in_a_sentence(
    tmp_path, capfd, format_, changes, sentence
):
    with pytest.raises(InstanceError, match=re.escape(sentence)) as caught:
        read_model(written(tmp_path, format_, changes))
    message = str(caught.value)
    assert message.startswith(f"a.{format_}")
    assert message.endswith(".")
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")


def test_a_gzipped_nl_file_is_refused_since_scip_takes_it_for_text(tmp_path):
    (path := tmp_path / "a.nl.gz").write_bytes(gzip.compress(NL.encode()))
    with pytest.raises(InstanceError, match=r"^a\.nl\.gz is no plain text.*; unpack it"):
        read_model(path)


@pytest.mark.parametrize("format_", ["nl", "fzn", "pip", "rlp", "wbo", "opb"])
def test_what_scip_writes_is_read_as_the_same_model(tmp_path, format_):
    model = awkward.knapsacks()
    if format_ in ("opb", "wbo"):
        model = Model()
        model.hideOutput()
        x = [model.addVar(f"x{k}", "B", obj=k - 3) for k in range(6)]
        model.addCons(3 * x[0] + 2 * x[1] + x[2] + x[3] >= 3)
    model.writeProblem(str(path := tmp_path / f"a.{'opb' if format_ == 'wbo' else format_}"), verbose=False)
    path = path.rename(tmp_path / f"a.{format_}")
    again = read_model(path)
    for each in (model, again):
        each.optimize()
    assert model.getStatus() == again.getStatus() == "optimal"
    assert again.getObjVal() == pytest.approx(model.getObjVal())


@pytest.mark.long
@pytest.mark.parametrize("format_", [each for each in TEXTS if each != "wbo"])  # which has no end
def test_a_cut_file_is_refused_unless_it_lacks_no_more_than_space(tmp_path, format_):
    def described(path):
        model = read_model(path)
        variables = [
            (var.name, var.vtype(), var.getLbOriginal(), var.getUbOriginal(), var.getObj())
            for var in model.getVars()
        ]
        return variables, model.getNConss(), model.getObjectiveSense()

    complete, text = described(written(tmp_path, format_, ())), TEXTS[format_]
    refused = 0
    for size in range(1, len(text)):
        (path := tmp_path / f"cut.{format_}").write_text(text[:size])
        try:
            assert described(path) == complete
        except InstanceError:
            refused += 1
    assert refused > 0.9 * len(text)


def test_a_fzn_file_from_which_scip_left_out_a_row_is_refused(tmp_path):
    model = awkward.knapsacks()
    x = model.getVars()
    model.addCons(x[0] * x[1] + x[2] <= 1)
    model.writeProblem(str(path := tmp_path / "a.fzn"), verbose=False)
    with pytest.raises(
        InstanceError, match=r"counted \d+ constraints, but left out some; write the model as \.cip"
    ):
        read_model(path)


@pytest.mark.parametrize(("format_", "changes"), [("pip", ("c: x + y <= 7", "c: x y <= 7")), ("nl", ())])
def test_every_format_is_screened_and_solved_as_a_cip_file_is(tmp_path, format_, changes):
    path = written(tmp_path, format_, changes)
    assert "digest" in screen(str(path))
    result = solve(path, "paper_ca")
    assert (result.status, result.violation in (None, NOT_LINEAR)) == ("optimal", True)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("a.zpl", "`zimpl -t mps MODEL.zpl`"),
        ("a.GMS", "solver CONVERT"),
        ("a.mof.json", "`write_to_file("),
        ("a.mod", "`model A.mod; data A.dat; write gNAME;`"),
        ("a.dat", "`model A.mod; data A.dat; write gNAME;`"),
    ],
)
def test_what_this_scip_does_not_read_gets_a_sentence_that_says_how_to_convert_it(tmp_path, name, how):
    (path := tmp_path / name).write_text("model")
    with pytest.raises(InstanceError, match=re.escape(how)) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path} is no instance file; ")

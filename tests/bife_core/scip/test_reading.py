"""Files that SCIP's readers take as another model without a word are refused, and good ones of all dialects are not."""

import gzip
import lzma
import re

import pytest

from bife_core.errors import InstanceError, SolverError
from bife_core.methods.using import solve
from bife_core.scip.reading import read_model
from tests.support import awkward

HEAD = "Maximize\n o: x + 2 y\nSubject To\n"
ROW = " c: x + y <= 7\n"
TAIL = "Bounds\n x <= 3.5\n y <= 4\nGeneral\n x\nEnd\n"
LP = HEAD + ROW + TAIL  # x is 3 and y is 4: 11

COLUMNS = " x o -1\n x c 1\n y o -2\n y d 1\n"
MPS = (
    "NAME t\nROWS\n N o\n L c\n L d\nCOLUMNS\n m 'MARKER' 'INTORG'\n" + COLUMNS + " m 'MARKER' 'INTEND'\n"
    "RHS\n r c 4\n r d 5\nBOUNDS\n UP b x 9\n UP b y 9\nENDATA\n"
)  # x is 4 and y is 5: -14
FIXED = """NAME          in fixed columns, where a name may have blanks
ROWS
 N  o
 L  a row
 L  d
COLUMNS
    x 1       o                 -1
    x 1       a row              1
    y         o                 -2
    y         d                  1
RHS
    r         a row              4
    r         d                  5
ENDATA
"""
FREE = MPS.replace(" m 'MARKER' 'INTORG'\n", "").replace(" m 'MARKER' 'INTEND'\n", "")

OPB = "* c\nmin: +1 x1 +2 x2 ;\n+1 x1 +1 x2 >= 1 ;\n"
CIP = (
    "STATISTICS\n  Problem name     : a\nOBJECTIVE\n  Sense            : maximize\nVARIABLES\n"
    "  [integer] <x>: obj=1, original bounds=[0,3.5]\n  [integer] <y>: obj=1, original bounds=[0,9]\n"
    "CONSTRAINTS\n  [linear] <c>: <x>[I] +<y>[I] <= 11.5;\nEND\n"
)
TEXTS = {"lp": LP, "mps": MPS, "opb": OPB, "cip": CIP, "free": FREE}


def changed(base, *changes):
    text = TEXTS[base]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


def written(tmp_path, base, content):
    path = tmp_path / f"a.{'mps' if base == 'free' else base}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


GOOD = [
    # LP
    ("lp", (), 11),
    ("lp", ("Maximize", "\\ a comment\nMAXIMUM", "<=", "=<", "General", "integers", "End", "end \\ of it"), 11),
    ("lp", (LP, "min o: x\nsuch that c: x + y > 2.5\nbound x <= 2\nint x y\nend"), 0),
    ("lp", ("\n", "\r\n"), 11),
    ("lp", (" x <= 3.5", " -inf <= x <= 3.5\n y >= 0"), 11),
    ("lp", (" x <= 3.5", " x free\n"), 11),
    ("lp", (" x <= 3.5", " 3.5 >= x\n 0 <= x"), 11),
    ("lp", (" x <= 3.5", " 1 = x"), 9),
    ("lp", (" x <= 3.5", " x <= 1e30"), 11),
    ("lp", ("x + 2 y\n", "x + 2 y + 5\n"), 16),
    ("lp", ("End", "Binary\n y\nEnd"), 5),
    ("lp", ("c:", "end:"), 11),
    ("lp", ("Subject To\n", "Subject To\n d: 3 x - y >=\n -1e9\n"), 11),
    ("lp", ("Bounds", "Lazy Constraints\n l: x <= 2\nBounds"), 10),
    ("lp", ("Bounds", " i: b = 1 -> x <= 2\nBounds", "End", "Binary\n b\nEnd"), 11),
    ("lp", ("End", "SOS\n s: S1:: x:1 y:2\nEnd"), 8),
    ("lp", (" x <= 3.5", " 2 <= x <= 3.5", "General\n x", "Semi-continuous\n x"), 11),
    ("lp", ("x + 2 y\n", "x + [ y^2 ] / 2\n"), 11),
    ("lp", ("\n o: x + 2 y", "\n"), 0),
    ("lp", ("o: x + 2 y", "\n o:"), 0),
    ("lp", ("x ", "größe ", " x\n", " größe\n"), 11),
    # MPS
    ("mps", (), -14),
    ("mps", ("\n", "\r\n"), -14),
    ("mps", (" x o -1\n x c 1\n", "\tx\to\t-1\tc\t1.\n"), -14),
    ("mps", ("ENDATA\n", "ENDATA\n\n* the end\n\x1a"), -14),
    ("mps", ("NAME t\n", "* comment\nNAME\nOBJSENSE\n    MIN\n"), -14),
    ("mps", ("NAME t\n", "NAME t\nOBJSENSE MAX\n", " o -", " o "), 14),
    ("mps", (" r c 4\n r d 5", " c 4\n d 5"), -14),
    ("mps", (" r c 4\n r d 5", " c 4 d 5"), -14),
    ("mps", (" r d 5", " r d 5 o 3"), -17),
    ("mps", (" UP b x 9\n UP b y 9", " UP x 9\n UP y 9"), -14),
    ("mps", (" UP b x 9\n UP b y 9", " BV x\n BV y"), -3),
    ("mps", (" UP b x 9", " MI b x\n UP b x -3"), -7),
    ("mps", (" UP b x 9", " FR b x 0"), -14),
    ("mps", (" UP b x 9", " LO b x 2\n UP b x 1e30"), -14),
    ("mps", (" N o\n", " N o\n N p\n", " x c 1", " x c 1 p 8", " r d 5", " r d 5 p 1"), -14),
    ("mps", (" m 'MARKER' 'INTEND'\n", ""), -14),
    ("mps", (" 'MARKER' ", " 'MARKER'                 "), -14),
    ("mps", ("BOUNDS\n", "RANGES\n g c 2\nBOUNDS\n", " x o -1", " x o 1"), -8),
    ("mps", ("ENDATA", "SOS\n S1 s\n x 1\n y 2\nENDATA"), -10),
    ("mps", ("ENDATA", " BV b b\nINDICATORS\n IF c b 1\nENDATA", " y o", " b o -1\n y o"), -19),
    ("mps", ("ENDATA", "QUADOBJ\n x x 2\nENDATA"), -10),
    ("free", (" UP b x 9\n", " LO b x 2\n SC b x 3.5\n"), -13.5),
    ("free", (" x o -1\n x c 1\n", " x o -1 c 1\n"), -14),
    ("free", ("ROWS\n", "ROWS\n* c\n", " L d\n", "LAZYCONS\n L d\n"), -14),
    ("free", (FREE, FREE.replace(" c ", " a_long_row_name ").replace("L c\n", "L a_long_row_name\n")), -14),
    ("free", (FREE, FIXED), -14),
    # OPB and CIP
    ("opb", (), 1),
    ("opb", ("+1 x2 >= 1", "~x2 >= -1", "min", "max"), 3),
    ("opb", ("+1 x1 +1 x2 >= 1", "+1 x1 x2 >= 1;\n2 x1 + x3 = 2"), 3),
    ("opb", ("min: +1 x1 +2 x2 ;\n", ""), 0),
    ("cip", (), 11),
]  # fmt: skip


@pytest.mark.parametrize(("base", "changes", "optimum"), GOOD)
def test_good_files_are_read_as_they_were_written(tmp_path, base, changes, optimum):
    model = read_model(written(tmp_path, base, changed(base, *changes)))
    model.optimize()
    assert model.getObjVal() == pytest.approx(optimum)


BAD = [
    # not the text that the suffix promises
    *((base, "\ufeff" + TEXTS[base], "line 1: found a byte order mark; save") for base in ("lp", "mps", "opb", "cip")),
    *((base, TEXTS[base].encode("utf-16"), "line 1: found the byte 0x00, as in UTF-16") for base in ("lp", "mps")),
    *((base, LP.encode("utf-32-be"), "line 1: found the byte 0x00, as in UTF-16") for base in ("lp", "mps")),
    *((base, lzma.compress(LP.encode()), "found the byte") for base in ("lp", "mps", "opb", "cip")),
    *((base, gzip.compress(gzip.compress(LP.encode())), "found the byte") for base in ("lp", "mps")),
    ("lp", MPS, "line 1: found 'NAME', expected Minimize or Maximize"),
    ("lp", "<!DOCTYPE html>\n<html>Not found</html>\n", "line 1: found '<!DOCTYPE'"),
    ("lp", '{"model": 1}', "line 1: found '{"),
    ("mps", LP, "no line 'ENDATA'"),
    ("opb", LP, "line 1: found 'Maximize"),
    ("cip", LP, "no line 'END'"),
    ("mps", MPS.replace("\n", "\r"), "found the byte 0x0d"),
    # LP
    ("lp", ("Maximize", "Maximise"), "line 1: found 'Maximise', expected"),
    ("lp", ("Maximize\n o: x + 2 y\n", ""), "line 1: found 'Subject', expected"),
    ("lp", ("Maximize\n o: x", "max: x"), "line 1: found 'max:', expected"),
    ("lp", ("Subject", "Minimize\n p: x\nSubject"), "line 3: found 'Minimize', a second objective"),
    ("lp", ("End\n", ""), "no line 'End', as if it were cut off; if it is whole, append that line"),
    ("lp", ("2 y", "2\u00a0y"), "line 2: found a NO-BREAK SPACE, of which SCIP makes part of a name"),
    ("lp", ("+ 2 y\n", "\u2212y\n"), "line 2: found a MINUS SIGN"),
    ("lp", ("x", 66_000 * "x"), "found a word of more than"),
    ("opb", ("x1", 66_000 * "x"), "found a word of more than"),
    ("lp", ("End\n", "End\n d: x <= 1\nEnd\n"), "found 'd:' after 'End'"),
    ("lp", ("General", "Generels"), "line 8: in Bounds, found 'Generels'"),
    ("lp", ("3.5", "3,5"), "line 6: in Bounds, found ',5'"),
    ("lp", ("3.5", "1d3"), "line 6: in Bounds, found 'd3'"),
    ("lp", (" y <= 4", " z <= 4"), "line 7: found a bound of 'z', which is in neither"),
    ("lp", (" y <= 4", " y <= 4\n x <= 5"), "line 8: found another bound of 'x'"),
    ("lp", (" y <= 4", " y free\n y >= 0"), "line 8: found another bound of 'y'"),
    ("lp", (" y <= 4", " y"), "line 7: in Bounds, found 'y'"),
    ("lp", ("<= 7", ">= 1 <= 7"), "line 4: found a row with two sides"),
    ("lp", ("c: x", "c: nan x"), "line 4: found the name 'nan', which LP files use otherwise"),
    ("lp", ("2 y\n", "2 y + bin\n"), "line 2: found the name 'bin', which LP files use otherwise"),
    ("lp", ("+ 2 y", "+ 2 bound"), "line 2: found the name 'bound', which LP files use otherwise"),
    ("lp", ("o: x", "o: end"), "line 2: found the name 'end', which LP files use otherwise"),
    ("lp", ("Bounds", "User Cuts\n u: y <= 4\nBounds"), "line 5: found User Cuts after rows, the last of which"),
    ("lp", ("2 y\n", "2 y +\n"), "skipped single sign"),
    ("lp", ("<= 7", "<= 7\0 d: x <= 1"), "line 4: found the byte 0x00"),
    ("lp", ("x", "x[1]", "Max[1]", "Max"), "line 2: found 'x[1]', but [ and ] enclose quadratic terms in LP files"),
    ("lp", ("x <= 3.5", "x <= -3.5"), "bounds the integer 'x' to [0, -3.5], where it has no value"),
    ("lp", ("x <= 3.5", "3.2 <= x <= 3.5"), "where it has no value"),
    ("lp", ("y <= 4", "2 <= y <= 4", "End", "Binary\n y\nEnd"), "bounds the binary 'y' to [2, 1]"),
    ("lp", ("y <= 4", "y <= -4"), "bounds the continuous 'y'"),
    ("lp", ("<= 7", "<= 7 + x"), "cannot be read as LP: Syntax error in line 6"),
    ("lp", "Minimize\nSubject To\nEnd\n", "describes no variables"),
    ("lp", "Minimize\n o: 0 x\nSubject To\nBounds\n x <= 1\nEnd\n", "neither a row nor an objective"),
    # MPS
    ("mps", (" x o -1\n x c 1\n", " x o -1 c 1 d 2\n"), "line 8: in COLUMNS, SCIP sees 'x o -1 c 1 d 2'"),
    ("mps", (" x c 1\n", " x c 1 d\n"), "line 9: in COLUMNS, SCIP sees 'x c 1 d'"),
    ("free", (" x o -1\n x c 1\n", "    x         o 8 c 7           -1\n"), "line 7: SCIP would read another model"),
    ("mps", (" x c 1\n", " x c 1,5\n"), "line 9: in COLUMNS, SCIP sees 'x c 1,5'"),
    *(("mps", (" x c 1\n", f" x c {number}\n"), "line 9: in COLUMNS") for number in ("1.5D0", "nan", "0x1", "--1")),
    ("mps", (" x c 1\n", " x c 1\n x e 1\n"), 'line 10: SCIP would read another model (Column "x" for row "e" ig'),
    ("mps", (" x c 1\n", " x c 1\n x c 1\n"), "line 10: in COLUMNS, found a second number for 'x' in row 'c'"),
    ("mps", (" x o -1", " x o -1\n x o -1"), "line 9: in COLUMNS, found a second number"),
    ("mps", ("'INTORG'", "'intorg'"), "line 7: in COLUMNS"),
    ("mps", ("'MARKER'", "MARKER"), "line 7: in COLUMNS"),
    ("mps", (" L d", " L d f"), "line 5: in ROWS"),
    ("mps", (" L d", " L d\n L d"), "line 6"),
    ("mps", ("RHS\n", "FOO\n x 1\nRHS\n"), "line 13"),
    ("mps", ("ENDATA\n", "ENDATA\n" + MPS), "line 20: found 'NAME t' after 'ENDATA'"),
    ("mps", ("NAME t", "NAME t\nOBJNAME\n    p"), "line 3: in OBJNAME, found 'p', but there is no row N"),
    ("mps", ("NAME t", "*SENSE:Maximize\nNAME t"), "*SENSE:Max"),
    ("mps", (" r d 5", " q d 5"), "line 15: in RHS, found a second vector, 'q'"),
    ("mps", (" r d 5", " d 5"), "line 15: in RHS, found a second vector"),
    ("mps", (" r d 5", " r d 5\n r c 3"), "line 16: in RHS, found a second number for 'r' in row 'c'"),
    ("mps", (" r d 5", " r d 5\n r e 3"), 'for row "e" ignored'),
    ("mps", ("BOUNDS\n", "RANGES\n g c 2\n g c 3\nBOUNDS\n"), "line 18: in RANGES, found a second number"),
    ("mps", (" UP b y 9", " UP z y 9"), 'bound "z" for variable "y" ignored'),
    ("mps", (" UP b y 9", " UP b z 9"), "line 18: in BOUNDS, found a bound of 'z', which is no column"),
    ("mps", (" UP b y 9", " UP b y 9\n UP b y 7"), "line 19: in BOUNDS, found another bound of 'y'"),
    ("mps", (" UP b y 9", " UP b y 9 x 3"), "line 18: in BOUNDS, SCIP sees"),
    ("mps", (" UP b y 9", " UP b y 9,5"), "line 18: in BOUNDS, SCIP sees"),
    ("mps", (" UP b x 9\n UP b y 9", " UP x -3\n UP y 9"), "line 17: in BOUNDS, SCIP takes the column for the name"),
    ("mps", (" UP b x 9\n UP b y 9", " UP x 1e1\n UP y 9"), "line 17: in BOUNDS, SCIP takes the column for the name"),
    ("mps", (" UP b x 9", " UP b x -3"), "a.mps bounds the binary 'x' to [0, -3], where it has no value"),
    ("mps", (" UP b x 9", " UP b x inf"), "bounds the binary 'x' to"),
    ("mps", (" UP b x 9", " LO b x 3\n UP b x 2"), "bounds the integer 'x' to [3, 2]"),
    ("free", ("x 9", "x -3"), "bounds the continuous 'x' to [0, -3]"),
    ("free", (" UP b ", " SC b "), "the semicontinuous 'x' has no positive lower bound"),
    ("mps", ("ENDATA", "SOS\n S1 s\n x:1\n y:2\nENDATA"), 'column "x:1" for SOS "s" ignored'),
    ("mps", ("ENDATA", "SOS\n S1 s\n s x 1\nENDATA"), "SCIP would read another model"),
    ("mps", ("ENDATA", "QUADOBJ\n x z 2\nENDATA"), 'column "z" for QMatrix'),
    ("mps", ("NAME t", "NAME t\n* " + 1100 * "c"), "line 2: SCIP reads 1022 characters in a line"),
    ("mps", ("x", 255 * "x"), "254 in a name"),
    # OPB and CIP
    ("opb", (";\n+1 x1 +1", "\n+1 x1 +1"), "line 2: found 'min: +1 x1 +2 x2"),
    ("opb", ("x2 >= 1 ;\n", "x2 >= 1"), "line 3: found '+1 x1"),
    ("opb", ("min: ", "min: 3*x4 + "), "line 2: found 'min: 3*x4"),
    ("opb", ("+1 x2 >=", "+1,5 x2 >="), "line 3: found '+1 x1 +1,5 x2"),
    ("opb", (">=", "!="), "line 3: found"),
    ("opb", ("min: ", "min: x3;\nmin: "), "line 3: found a second objective"),
    ("cip", ("11.5", "11,5"), "line 9: found"),
    ("cip", ("11.5", "11.5 foo"), "line 9: found"),
    ("cip", ("END\n", "END\n  [linear] <d>: <x>[I] <= 1;\n"), "after 'END'"),
    ("cip", ("[0,3.5]", "[4,3.5]"), "bounds the integer 'x' to [4, 3]"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "change", "sentence"), BAD)
def test_what_scip_would_take_as_another_model_is_refused_in_a_sentence(
    tmp_path, capfd, base, change, sentence
):
    path = written(tmp_path, base, changed(base, *change) if isinstance(change, tuple) else change)
    with pytest.raises(InstanceError) as caught:
        read_model(path)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith(path.name)
    assert message.endswith(".")
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")


def contents(model):
    """Return what is to be the same, whatever SCIP calls it: objective, bounds, types and the optimum."""
    variables = sorted(
        (round(one.getObj(), 9), one.getLbOriginal(), one.getUbOriginal(), one.vtype())
        for one in model.getVars()
    )
    sense, rows = model.getObjectiveSense(), model.getNConss()
    model.optimize()
    return variables, sense, rows, round(model.getObjVal(), 6)


@pytest.mark.parametrize("suffix", ["mps", "lp", "cip"])
@pytest.mark.parametrize(
    "make", [awkward.knapsacks, awkward.ordered_sets, awkward.free_integers, awkward.infeasible]
)
def test_what_scip_writes_is_read_as_the_same_model(tmp_path, make, suffix):
    model = make()
    path = tmp_path / f"a.{suffix}"
    model.writeProblem(str(path), verbose=False)
    packed = tmp_path / f"b.{suffix}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    if make is awkward.infeasible:
        assert read_model(path).getNVars() == read_model(packed).getNVars() == model.getNVars()
    else:
        assert contents(read_model(path)) == contents(read_model(packed)) == contents(model)


def test_what_scip_cannot_set_up_is_one_sentence_with_its_cause(tmp_path, capfd):
    text = changed("lp", "Bounds", " i: x = 1 -> y <= 2\nBounds")
    sentence = "SCIP failed while solving a.lp under relpscost: Indicator variable <t_x> is not binary 1."
    with pytest.raises(SolverError, match=re.escape(sentence)):
        solve(written(tmp_path, "lp", text))
    assert capfd.readouterr() == ("", "")

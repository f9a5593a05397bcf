"""No case of the table of differences is silent: a file with it is refused or noted, in the words of the table."""

import re

import pytest

from bench.findings import FOLDER
from bife_core.instances.folder import screen
from bife_core.solver.scip import reader
from bife_core.solver.scip.differences import TABLE, differences, note
from tests.bife_core.solver.scip.test_reader_formats import NL

LP = "Minimize\n o: x + y\nSubject To\n c: x + y >= 1\nBounds\n x <= 4\n y <= 4\nGenerals\n x y\nEnd\n"
MPS = (
    "NAME t\nROWS\n N o\n N p\n G c\nCOLUMNS\n m 'MARKER' 'INTORG'\n x o 1 c 1\n y p 1 c 1\n m 'MARKER' 'INTEND'\n"
    " z o 1 c 1\nRHS\n r c 1\nBOUNDS\n UP b x 4\n UP b y 4\nENDATA\n"
)
OPB = "min: +1 x1 +2 x2 ;\n+1 x1 +1 x2 >= 1 ;\n"
FZN = "var 0..3: x;\nvar 0..4: y;\nconstraint int_le(x,y);\nsolve maximize x;\n"
CIP = (
    "STATISTICS\n  Problem name : t\nOBJECTIVE\n  Sense : minimize\nVARIABLES\n"
    "  [integer] <x>: obj=1, original bounds=[0,3]\n  [integer] <y>: obj=1, original bounds=[0,4]\n"
    "CONSTRAINTS\n  [linear] <c>: <x>[I] +<y>[I] >= 1;\nEND\n"
)
TEXTS = {"any": LP, "nl": NL, "lp": LP, "mps": MPS, "opb": OPB, "fzn": FZN, "cip": CIP}
FILES = {
    "any.left_out": ("Min", "\\   [xor] <e>: xor(<x>[B]) = 1;\nMin"),
    "any.counted": (LP, f"* SCIP STATISTICS\n*   Constraints : 3\n{MPS}"),
    "lp.no_end": ("End\n", ""),
    "lp.blanks": ("c: x + y >= 1", "c: x+y >= 1"),
    "lp.two_signs": ("c: x + y >= 1", "c: x - -1 y >= 1"),
    "lp.quadratic_row": (">= 1\n", ">= 1\n d: [ x^2 ] >= 1\n"),
    "lp.objective": ("o: x + y", "o: x + y + 2.5"),
    "lp.indicator": (">= 1\nBounds\n x <= 4", ">= 1\n d: b = 1 -> x <= 2\nBounds\n b <= 1\n x <= 4"),
    "lp.huge": ("y <= 4", "y <= 1e20"),
    "lp.integers": ("y <= 4\nGenerals", "x >= 1\nIntegers"),
    "lp.user_cuts": ("Bounds", "User Cuts\n u: y <= 4\nBounds"),
    "lp.semicontinuous_negative": ("y <= 4\nGenerals\n x y", "-10 <= y <= -3\nSemi-continuous\n y\nGenerals\n x"),
    "lp.semicontinuous_first": ("Bounds\n", "Semi-continuous\n y\nBounds\n 2 <= y\n"),
    "lp.second_bound": ("y <= 4", "y <= 4\n y <= 5"),
    "lp.binaries": ("Generals\n x y", "Binaries\n x y"),
    "mps.sense_comment": ("NAME", "*SENSE:Maximize\nNAME"),
    "mps.objsense": ("ROWS", "OBJSENSE MAXIMIZE\nROWS"),
    "mps.maximised": ("ROWS", "OBJSENSE\n    MAX\nROWS"),
    "mps.objname": ("ROWS", "OBJNAME\n    p\nROWS"),
    "mps.constant": ("r c 1", "r c 1 o 10.0"),
    "mps.integer_lower": ("UP b x 4", "LO b x 2"),
    "mps.semi_integer": ("UP b x 4", "LO b x 2\n SC b x 4"),
    "mps.semicontinuous": ("UP b x 4", "SC b x 4"),
    "mps.upper_negative": ("UP b x 4", "UP b x -3"),
    "mps.second_bound": ("UP b x 4", "UP b x 4\n FR b x"),
    "mps.upper_dropped": ("UP b x 4", "UP b x 1\n LO b x 0"),
    "cip.name": ("<x>", "<x>y>"),
    "nl.nan": ("J0 2\n0 1", "J0 2\n0 nan"),
    "opb.product": ("+1 x1 +1 x2", "+1 x1 x2"),
    "fzn.statement": (),
    "fzn.left_out": ("var 0..3", "% SCIP STATISTICS\n% Constraints : 3\nvar 0..3"),
}  # fmt: skip
EVERY = [(f"{kind}.{name}", words) for kind, cases in differences().items() for name, words in cases.items()]
DIFFERENCES = {case: words for case, words in EVERY if "construct" in words}


def test_every_difference_has_a_file_a_source_and_what_it_says():
    assert DIFFERENCES.keys() == FILES.keys()
    for case, words in DIFFERENCES.items():
        assert words.keys() - {"refused"} == {"construct", "scip", "others", "proved"}, case
        assert words["others"] or "refused" in words, f"{case} is a note on others, but names none"
        script = re.fullmatch(r"[a-z]+(-[a-z]+)+", words["proved"])
        assert script is None or (FOLDER / f"{script[0]}.sh").is_file(), case


@pytest.mark.parametrize("case", FILES)
def test_no_difference_is_silent(tmp_path, case):
    format_, change = case.partition(".")[0], FILES[case]
    text = TEXTS[format_].replace(*change) if change else TEXTS[format_]
    assert not change or text != TEXTS[format_], "the change is in the file"
    suffix = "mps" if "ENDATA" in text else "lp" if format_ == "any" else format_
    (path := tmp_path / f"a.{suffix}").write_text(text)
    answer, refused = screen(str(path)), DIFFERENCES[case].get("refused")
    if refused is None:
        assert note(case) in answer["notes"].split("\n")
        assert "`" not in answer["notes"]
    else:
        assert re.search(re.sub(r"\\{[^}]*}", ".+", re.escape(refused)) + r"\.$", answer["failure"])


@pytest.mark.parametrize("format_", ["lp", "mps", "opb", "cip"])
def test_a_file_without_a_difference_has_no_note(tmp_path, format_):
    (path := tmp_path / f"a.{format_}").write_text(TEXTS[format_])
    assert screen(str(path)).keys() == {"digest"}


def test_a_reader_uses_every_case_of_the_table():
    sources = "".join(path.read_text(encoding="utf-8") for path in TABLE.parent.glob("*.py"))
    for format_, cases in differences().items():
        assert format_ in ("any", *reader._CHECKS)
        for name in cases:
            assert f'"{format_}.{name}"' in sources or f'"{name}"' in sources, name

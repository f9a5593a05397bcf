"""The check of MPS files decides the same, whether sections are checked all at once or line by line."""

import random

import pytest

from bife_core.solver.scip import text_mps
from bife_core.solver.scip.differences import MisreadError
from bife_core.solver.scip.text_mps import check_mps

FIXED = b"""NAME          FIXED
ROWS
 N  COST
 L  LIM 1
 G  LIM2
 E  MYEQN
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    X1        COST             1.0   LIM 1            1.0
    X1        LIM2             1.0
    MARKER                 'MARKER'                 'INTEND'
    X 2       COST             2.0   LIM 1            1.0
* a comment
    X 2       MYEQN           -1.0
    X3        COST            -1.0   MYEQN            1.0
RHS
    RHS       LIM 1            4.0   LIM2             1.0
    RHS       MYEQN            7.0
RANGES
    RNG       LIM 1            2.5
BOUNDS
 UP BND       X1               4.0
 LO BND       X 2             -1.0
 UP BND       X 2              1.0
 FR BND       X3
ENDATA
"""

FREE = b"""* written by hand
NAME free
ROWS
 N obj
 L capacity_of_the_plant
 G demand
COLUMNS
 MARKER 'MARKER' 'INTORG'
 open_the_plant obj 10 capacity_of_the_plant -8
 second obj 3
 second demand 1
 MARKER 'MARKER' 'INTEND'
 flow_to_the_customer obj 1 capacity_of_the_plant 1
 flow_to_the_customer demand 1
RHS
 RHS demand 5
BOUNDS
 BV BND open_the_plant
 LI BND second 1
 SC BND flow_to_the_customer 9
 LO BND flow_to_the_customer 1
ENDATA
"""


def decided(text):
    try:
        return check_mps(text)
    except MisreadError as error:
        return type(error), str(error), error.line


def changed(text, draw):
    """Return a text with a line or a few letters left out, doubled or moved."""
    lines = text.split(b"\n")
    for _ in range(draw.randint(1, 3)):
        at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
        kind = draw.randrange(6)
        line = lines[at]
        place = draw.randrange(len(line) + 1)
        if kind == 0:
            lines.insert(to, line)
        elif kind == 1 and len(lines) > 2:
            del lines[at]
        elif kind == 2:
            lines[at] = (
                line[:place] + draw.choice([b" ", b"1", b"$", b"x", b"\t", b"\r", b"*", b"-"]) + line[place:]
            )
        elif kind == 3:
            lines[at] = line[:place] + line[place + 1 :]
        elif kind == 4:
            lines[at], lines[to] = lines[to], line
        else:
            words = [b"UP", b"LO", b"FX", b"MI", b"BV", b"SC", b"SI", b"LI", b"PL"]
            lines[at] = line.replace(draw.choice(words), draw.choice(words), 1)
    return b"\n".join(lines)


@pytest.mark.parametrize("text", [FIXED, FREE], ids=["fixed", "free"])
def test_a_section_checked_at_once_is_as_line_by_line(text, monkeypatch):
    texts = [text, *(changed(text, random.Random(seed)) for seed in range(1_000))]
    usual, taken = text_mps._Sections.usual, list[bool]()

    def counted(self, begin, end):
        taken.append(usual(self, begin, end))
        return taken[-1]

    monkeypatch.setattr(text_mps._Sections, "usual", counted)
    at_once = [decided(each) for each in texts]
    monkeypatch.setattr(text_mps._Sections, "usual", lambda *_: False)
    for each, by_section in zip(texts, at_once, strict=True):
        assert decided(each) == by_section, each.decode(errors="replace")
    assert sum(taken) > len(taken) / 3
    assert len({str(each) for each in at_once}) > 50


def test_blocks_of_lines_end_where_columns_do():
    line, wide = b"    X1        LIM2             1.0\n", b" a_name_that_is_wider  LIM2   1.0\n"
    assert text_mps.stays_fixed(line * 5_000, numbered=True) is True
    assert text_mps.stays_fixed(line * 4_096 + wide, numbered=True) is False
    assert text_mps.stays_fixed(b"    X 1       LIM2             1.0\n" + wide, numbered=True) is None
    assert text_mps.stays_fixed(wide + b"    X 1       LIM2             1.0\n", numbered=True) is False
    assert text_mps.stays_fixed(b"", numbered=True) is True

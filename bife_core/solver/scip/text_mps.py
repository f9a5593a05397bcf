"""Check MPS files for what SCIP's reader misreads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Final, NoReturn

from bife_core.solver.scip.differences import MisreadError, refuse
from bife_core.solver.scip.texts import BY_PROGRAM, NUMBER, VALUE, differ, shown


@cache  # so that only the patterns of sections in a file are compiled
def _lines(pattern: str) -> re.Pattern[bytes]:
    """Return the pattern of a data line: a blank stands for space between fields, `_` for a name."""
    spaced = pattern.replace("_", r"([^\s$]\S*)").replace(" ", r"[ \t]+")
    return re.compile(rf"(?:[ \t]+(?:{spaced})(?:[ \t]+\$.*)?|\*.*)?[ \t]*\r?\n".encode())


_N, _V = "[-+]?" + NUMBER, "[-+]?" + VALUE
_ROW: Final = ("[NLGE] _", "N, L, G or E and the row's name")
_SIDE: Final = (rf"(?:_ )?_ {_V}(?: _ {_V})?", "a name, then a row and a number, once or twice")
_QUADRATIC: Final = (rf"_ _ {_N}(?: _ {_N})?", "a column, then another and a number")
_COLUMN: Final = rf"_ _ {_N}(?: _ {_N})?|\S+ (?:\S+ )?'MARKER' '(INTORG|INTEND)'"
_BOUND: Final = rf"(LO|UP|FX|LI|UI|SC|SI) (?:_ )?_ ({_V})|(FR|MI|PL|BV)(?: _)? _(?: {_V})?"
_LINES: Final = {
    **dict.fromkeys((b"ROWS", b"USERCUTS", b"LAZYCONS"), _ROW),
    b"COLUMNS": (_COLUMN, "a column, then a row and a number, once or twice"),
    **dict.fromkeys((b"RHS", b"RANGES"), _SIDE),
    b"BOUNDS": (_BOUND, "the kind, a name, the column and a number"),
    **dict.fromkeys((b"QMATRIX", b"QUADOBJ"), _QUADRATIC),
    b"INDICATORS": ("IF _ _(?: [01])?", "IF, a row, a column and 0 or 1"),
    b"OBJNAME": ("_", "a row's name"),
}
_KNOWN: Final = {*_LINES, *b"NAME OBJSEN OBJSENSE SOS QCMATRIX".split()}
_OTHER: Final = (r"\S.*", "a line")
_SIDES: Final = {b"LO": "l", b"LI": "l", b"MI": "l", b"FX": "lu", b"FR": "lu", b"BV": "lu"}
"""Sides of the types of bounds; other types are upper bounds."""
_VALUES: Final = {b"MI": (-math.inf,), b"PL": (math.inf,), b"FR": (-math.inf, math.inf), b"BV": (0.0, 1.0)}
_HEAD: Final = re.compile(rb"(?m)^([^\s*]\S*).*\n")
_LONG: Final = re.compile(rb"(?m)^(?=.{255}).*")
_MOST: Final = (1022, 254)  # characters that SCIP reads of a line and of a name


def check_mps(text: bytes) -> set[str]:
    """Return cases that other solvers read otherwise; raise `MisreadError` for what SCIP does, or without an end."""
    text = text.replace(b"\t", b" ") + b"\n"
    heads = list(_HEAD.finditer(text))
    end = next((number for number, head in enumerate(heads) if head[1] == b"ENDATA"), None)
    if end is None:
        raise MisreadError("mps.cut")
    for head in heads[end + 1 :]:
        if head[1] in (*_LINES, b"NAME", b"ENDATA"):
            refuse(text, head.start(), "mps.after_end", shown(head[0]))
    for line in _LONG.finditer(text):
        if len(line[0]) > _MOST[0] or max(map(len, line[0].split())) > _MOST[1]:
            refuse(text, line.start(), "mps.long", *_MOST)
    sense = re.search(rb"(?im)^\*SENSE:MAX", text)
    if sense and not any(b"OBJSEN" in head[1] for head in heads):
        refuse(text, sense.start(), "mps.sense_comment")
    sections = _Sections(text)
    for head, following in pairwise(heads[: end + 1]):
        section = head[1].rstrip(b":")
        if section not in _KNOWN:
            refuse(text, head.start(), "mps.section", shown(head[0]))
        objsense = text[head.start() : following.start()] if b"OBJSEN" in section else b""
        if b"MAX" in objsense:
            own_lines = re.fullmatch(rb"OBJSENSE\s*\n[^$]*", objsense)
            sections.notes.add("mps.maximised" if own_lines else "mps.objsense")
        sections.check(section, head.end(), following.start())
    return sections.notes


class _Sections:
    """The state of the check after some sections."""

    def __init__(self, text: bytes) -> None:
        self.text, self.fixed = text, True
        self.section, self.position = b"", 0
        self.columns, self.integer = dict[bytes, bool](), False
        self.free, self.by_program, self.notes = free_rows(text), re.match(BY_PROGRAM, text), set[str]()

    def check(self, section: bytes, begin: int, end: int) -> None:
        """Check a section's lines."""
        self.section, current, rows = section, b"", set[bytes]()
        if section == b"BOUNDS":
            self.bounds(begin, end)
            return
        name = re.escape(b"".join(self.free[:1]) or b"$").replace(b"_", b"[ _]")  # see `as_fixed`
        objective = re.compile(rb" %b +[-+]?[0.]*[1-9]" % name)
        if section == b"RHS" and objective.search(self.text, begin, end):
            self.notes.add("mps.constant")
        for entry in self.entries(begin, end):
            if section == b"OBJNAME":
                if entry[0] not in self.free:
                    self.refuse("no_row", shown(entry[0]))
                if entry[0] != self.free[0]:
                    self.notes.add("mps.objname")
                self.free.insert(0, entry[0])
            if section == b"COLUMNS" and entry[3]:
                self.integer = entry[3] == b"INTORG"
            if section not in (b"COLUMNS", b"RHS", b"RANGES") or entry[1] is None:
                continue
            name, *row_names = entry[:3]
            if name != current:
                if section == b"COLUMNS":
                    self.columns[name] = self.integer
                elif rows:
                    self.refuse("second_vector", shown(name or b""))
                current, rows = name, set()
            for row in filter(None, row_names):
                if row in rows:
                    self.refuse("second_number", shown(name or section), shown(row))
                rows.add(row)

    def refuse(self, case: str, *parts: object) -> NoReturn:
        section = self.section.decode(errors="replace")
        refuse(self.text, self.position, f"mps.{case}", section, *parts)

    def entries(self, begin: int, end: int) -> Iterator[tuple[Any, ...]]:
        """Yield the groups of each line, all None for comments and blank lines."""
        text = self.text
        pattern, expected = _LINES.get(self.section, _OTHER)
        if self.fixed:
            read = b"".join(map(self.as_fixed, text[begin:end].splitlines(keepends=True)))
            text = text[:begin] + read + text[end:]
        self.position = begin
        for line in _lines(pattern).finditer(text, begin, end):
            if line.start() != self.position:
                break
            yield line.groups()
            self.position = line.end()
        if self.position != end:
            seen = shown(text[self.position : end].split(b"\n", 1)[0])
            self.refuse("line", seen, expected)

    def as_fixed(self, line: bytes) -> bytes:
        """Return a line as SCIP reads it as long as all are in fixed columns: `_` replaces blanks in a field."""
        if not self.fixed or line.startswith(b"*"):
            return line
        numbers = re.search(rb"\d", line[24:36])
        gaps = line[12:14] + line[22:24] + line[36:39] + line[47:49] + line[61:64]
        if gaps.strip() or (not numbers and self.section in (b"COLUMNS", b"RHS", b"RANGES", b"BOUNDS")):
            self.fixed = False
        elif numbers or len(line) < 14:
            for begin, end in ((4, 13), (14, 23), (39, 48)):
                if b" " in (field := line[begin:end].strip()):
                    joined = line[begin:end].replace(field, field.replace(b" ", b"_"))
                    line = line[:begin] + joined + line[end:]
        return line

    def bounds(self, begin: int, end: int) -> None:
        sides_of, semicontinuous = dict[tuple[bytes, str], tuple[float, bytes]](), dict[bytes, int]()
        for valued, vector, bounded, number, unvalued, _, other in self.entries(begin, end):
            kind, name = valued or unvalued, bounded or other
            if kind is None:
                continue
            if valued and vector is None and not number.replace(b".", b"").isdigit():
                self.refuse("no_name")
            if name not in self.columns and not self.by_program:
                self.refuse("no_column", shown(name))
            upper, _ = sides_of.get((name, "u"), (math.inf, b""))
            sides = _SIDES.get(kind, "u")
            values = _VALUES.get(kind) or len(sides) * (float(number),)
            if differ(sides_of, name, zip(sides, ((value, kind) for value in values), strict=True)):
                self.refuse("second_bound", shown(name))
            if sides == "l" and upper <= 1.0 and self.columns.get(name):
                self.refuse("upper_dropped", shown(name))
            if kind in (b"SC", b"SI"):
                semicontinuous[name] = self.position
        if any(self.columns.get(name) and (name, "u") not in sides_of for name, _ in sides_of):
            self.notes.add("mps.integer_lower")
        for name, self.position in semicontinuous.items():
            lower, kind = sides_of.get((name, "l"), (0.0, b""))
            if lower <= 0.0:
                self.refuse("semicontinuous", shown(name))
            if self.columns.get(name) or kind == b"LI" or sides_of[name, "u"][1] == b"SI":
                self.notes.add("mps.semi_integer")


def free_rows(text: bytes) -> list[bytes]:
    """Return the names of the rows N, the objective first, with _ for each blank."""
    rows = re.findall(rb"(?m)^[ \t]+N[ \t]+([^\s$][^$\n]*)", text[: text.find(b"\nCOLUMNS")])
    return [b"_".join(row.split()) for row in rows]

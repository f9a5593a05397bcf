"""Check MPS files for what SCIP's reader misreads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from bife_core.solver.scip.differences import MisreadError, refuse
from bife_core.solver.scip.texts import BY_PROGRAM, NUMBER, VALUE, differ, shown


@cache  # so that only the patterns of sections in a file are compiled
def _lines(pattern: str) -> re.Pattern[bytes]:
    """Return the pattern of a data line: a blank stands for space between fields, `_` for a name."""
    spaced = pattern.replace("_", r"([^\s$]\S*)").replace(" ", r"[ \t]+")
    return re.compile(rf"(?m)^(?:[ \t]+(?:{spaced})(?:[ \t]+\$.*)?|\*.*)?[ \t]*\r?\n".encode())


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
_HEAD: Final = re.compile(rb"([^\s*]\S*).*\n")
_LONG: Final = re.compile(rb"(?m)^(?=.{255}).*")
_GAPS: Final = (12, 13, 22, 23, 36, 37, 38, 47, 48, 61, 62, 63)
"""Places of a line that are blank in fixed columns."""
_FIELDS: Final = ((4, 13), (14, 23), (39, 48))
"""Where names stand in them."""
_BLOCK: Final = 4096
_MOST: Final = (1022, 254)  # characters that SCIP reads of a line and of a name


def check_mps(text: bytes) -> set[str]:
    """Return cases that other solvers read otherwise; raise `MisreadError` for what SCIP does, or without an end."""
    text = text.replace(b"\t", b" ") + b"\n"
    data, begins, ends = _by_line(text)
    first = data[begins]
    heads = [head for at in begins[first > ord(" ")].tolist() if (head := _HEAD.match(text, at))]
    end = next((number for number, head in enumerate(heads) if head[1] == b"ENDATA"), None)
    if end is None:
        raise MisreadError("mps.cut")
    for head in heads[end + 1 :]:
        if head[1] in (*_LINES, b"NAME", b"ENDATA"):
            refuse(text, head.start(), "mps.after_end", shown(head[0]))
    for line in _LONG.finditer(text) if np.diff(ends, prepend=-1).max() > _MOST[1] else ():
        if len(line[0]) > _MOST[0] or max(map(len, line[0].split())) > _MOST[1]:
            refuse(text, line.start(), "mps.long", *_MOST)
    for at in begins[first == ord("*")].tolist():
        if text[at : at + 10].upper() == b"*SENSE:MAX" and not any(b"OBJSEN" in head[1] for head in heads):
            refuse(text, at, "mps.sense_comment")
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
        name = re.escape(b"".join(self.free[:1]) or b"$").replace(b"_", b"[ _]")  # see `as_fixed`
        objective = re.compile(rb" %b +[-+]?[0.]*[1-9]" % name)
        if section == b"RHS" and objective.search(self.text, begin, end):
            self.notes.add("mps.constant")
        if self.usual(begin, end):
            return
        if section == b"BOUNDS":
            self.bounds(begin, end)
            return
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

    def usual(self, begin: int, end: int) -> bool:
        """Check a section all at once; False if it has something unusual, so that its lines are checked one by one.

        That takes three times as long.
        """
        part = self.text[begin:end]
        fixed = self.fixed and stays_fixed(part, self.numbered)
        if fixed is None or self.section == b"OBJNAME":
            return False
        pattern, _ = _LINES.get(self.section, _OTHER)
        entries = _lines(pattern).findall(part)
        if len(entries) != part.count(b"\n"):
            return False
        if self.section == b"BOUNDS":
            usual = self.usual_bounds(entries)
        else:
            usual = not self.numbered or self.usual_entries(entries)
        self.fixed = fixed if usual else self.fixed
        return usual

    def usual_entries(self, entries: list[tuple[bytes, ...]]) -> bool:
        """Take over columns; False if a row may have two numbers of a column, or there are several vectors."""
        pairs = [(name, row) for name, row, *_ in entries if row]
        pairs += [(entry[0], entry[2]) for entry in entries if entry[2]]
        if len({*pairs}) < len(pairs):
            return False
        if self.section != b"COLUMNS":
            return len({name for name, _ in pairs}) <= 1
        markers = [number for number, entry in enumerate(entries) if entry[3]]
        integer, columns = self.integer, {**self.columns}
        for first, last in pairwise((-1, *markers, len(entries))):
            integer = integer if first < 0 else entries[first][3] == b"INTORG"
            here = dict.fromkeys((entry[0] for entry in entries[first + 1 : last] if entry[1]), integer)
            if not columns.keys().isdisjoint(here):  # one of both kinds
                return False
            columns |= here
        self.integer, self.columns = integer, columns
        return True

    def usual_bounds(self, entries: list[tuple[bytes, ...]]) -> bool:
        """Take notes; False if a bound may be refused."""
        every, upper, lower = list[tuple[bytes, str]](), set[bytes](), set[bytes]()
        for valued, vector, bounded, number, unvalued, _, other in entries:
            kind, name = valued or unvalued, bounded or other
            if kind in (b"SC", b"SI") or (valued and not vector and not number.replace(b".", b"").isdigit()):
                return False
            if kind:
                sides = _SIDES.get(kind, "u")
                every += [(name, side) for side in sides]
                (lower if sides == "l" else upper).add(name)
        names, integer = upper | lower, {name for name in lower if self.columns.get(name)}
        if len({*every}) < len(every) or not (self.by_program or self.columns.keys() >= names):
            return False
        if not integer.isdisjoint(upper):  # SCIP may drop the upper bound
            return False
        if integer:
            self.notes.add("mps.integer_lower")
        return True

    @property
    def numbered(self) -> bool:
        """Whether the lines of the section have numbers in columns 25 to 36."""
        return self.section in (b"COLUMNS", b"RHS", b"RANGES", b"BOUNDS")

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
        gaps = bytes(line[place] for place in _GAPS if place < len(line))
        if gaps.strip() or (not numbers and self.numbered):
            self.fixed = False
        elif numbers or len(line) < 14:
            for begin, end in _FIELDS:
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


def _by_line(text: bytes) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the bytes of a text that ends with a line, and where each line begins and ends."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    return data, np.concatenate(([0], ends[:-1] + 1)), ends


def stays_fixed(part: bytes, numbered: bool) -> bool | None:
    """Return whether SCIP still reads fixed columns after some lines; None if it joins words (`as_fixed`)."""
    if any(end in part for end in (b"\r", b"\v", b"\f")):
        return None
    data, begins, ends = _by_line(part)
    for block in range(0, len(ends), _BLOCK):
        begin, end = begins[block : block + _BLOCK, None], ends[block : block + _BLOCK, None]
        places = begin + np.arange(64)
        line = np.where(places < end, data[np.minimum(places, end)], ord(" "))
        word, free = line != ord(" "), line[:, 0] == ord("*")
        number = ((line[:, 24:36] >= ord("0")) & (line[:, 24:36] <= ord("9"))).any(axis=1)
        ends_it = ~free & (word[:, _GAPS].any(axis=1) | (numbered & ~number))
        words = [word[:, first:last] for first, last in _FIELDS]
        several = [each[:, 0] + (each[:, 1:] > each[:, :-1]).sum(axis=1) > 1 for each in words]
        joined = np.logical_or.reduce(several) & ~free & (number | (end - begin < 13)[:, 0])
        last = int(ends_it.argmax()) if ends_it.any() else len(line)
        if joined[:last].any():
            return None
        if last < len(line):
            return False
    return True


def free_rows(text: bytes) -> list[bytes]:
    """Return the names of the rows N, the objective first, with _ for each blank."""
    rows = re.findall(rb"(?m)^[ \t]+N[ \t]+([^\s$][^$\n]*)", text[: text.find(b"\nCOLUMNS")])
    return [b"_".join(row.split()) for row in rows]

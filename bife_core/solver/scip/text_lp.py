"""Check LP files for what SCIP's reader misreads."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from bife_core.solver.scip.differences import MisreadError, refuse
from bife_core.solver.scip.texts import BY_PROGRAM, NUMBER, VALUE, check_words, differ, shown

_NAME: Final = r"[^\s\-+:<>=\[\]*^]+"
_DONE: Final = r"(?![^\s\-+:<>=\[\]*^])"
_SENSE: Final = r"\s*([<>]=?|=[<>=]?)\s*"
_SIGNED: Final = rf"([-+]?\s*{VALUE})"
_KEY: Final = re.compile(
    rf"(?i)((?<![<>=])(?<![<>=] )[-+*:][ \t]*(?:{NUMBER}[ \t]+)?)?"
    r"(?<![^\s\-+:<>=\[\]*^])((min(?:imum|imize)?|max(?:imum|imize)?)|subject\s+to|such\s+that"
    r"|st\.?|s\.t\.|lazy\s+constraints|user\s+cuts|bounds?|gen(?:erals?)?|int(?:egers?)?|bin(?:ary|aries)?"
    rf"|semi-continuous|semis?|sos|nan|end){_DONE}(?!\s*:)".encode()
)
"""A keyword: group 1 is set if it is used as a name, group 3 if it begins the objective."""
_DECLARING: Final = (b"gen", b"int", b"bin", b"sem")
_LIKE: Final = rb"(?<![^\W\d])%b(?![\w.])(?!\s*:)"
_FIRST_WORDS: Final = frozenset(
    b"min minimum minimize max maximum maximize subject such st st. s.t. lazy user bound bounds gen general generals "
    b"int integer integers bin binary binaries semi semis sos end nan".split()
)
_TYPESET: Final = re.compile("\u00a0|\u2007|\u200b|\u202f|\u2212|\ufeff".encode())
"""Blanks and a minus sign of word processors and web pages."""
_BLANKS: Final = bytes.maketrans(b"-+:<>=[]*^", b" " * 10)
_ANY: Final = re.compile(rb"\S+")
_TWO_SIDES: Final = re.compile(rf"[<>=]\s*[-+]?\s*{VALUE}\s*[<>=]".encode())
_BOUND: Final = re.compile(
    rf"\s*(?:{_SIGNED}{_SENSE})?(?![\d.])({_NAME})(?:{_SENSE}{_SIGNED}|\s+((?i:free)){_DONE})?".encode()
)
_NOTED: Final = {
    "blanks": re.compile(
        rb"(?<![^\s+-])\d[\d.]*(?![eE][-+]?\d)[^\W\d]|(?<!\S)(?![-+]?inf)[^\W\d][\w.]*[-+<>=]", re.I
    ),
    "two_signs": re.compile(rb"[-+]\s*[-+]"),
    "indicator": re.compile(rb"-\s*>"),
}
_CONSTANT: Final = re.compile(rf"(?<![^\s+:-])({NUMBER})\s*(?=[-+]|\Z)".encode())
_BRACKETED: Final = re.compile(rf"(?<![^\s\-+:<>=\[\]*^]){_NAME}\[\S*".encode())


def check_lp(text: bytes) -> set[str]:
    """Return cases that other solvers read otherwise; raise `MisreadError` for what SCIP does, or without an end."""
    by_program, notes = re.match(BY_PROGRAM, text), set[str]()
    text = re.sub(rb"\\[^\n]*", b"", text)
    check_words(text)
    if character := _TYPESET.search(text):
        refuse(text, character.start(), "lp.typeset", unicodedata.name(character[0].decode()))
    keys: list[re.Match[bytes]] = []
    first = _ANY.search(text)
    for key in _keys(text):
        if not keys and not (key[3] and first and key.start(2) == first.start()):
            break
        if key[1] or key[2].lower() == b"nan":
            refuse(text, key.start(2), "lp.name", shown(key[2]))
        if key[3] and keys:
            refuse(text, key.start(2), "lp.second_objective", shown(key[2]))
        kind = key[2][:3].lower()
        if kind == b"use" and re.match(rb"(?i)s[ut.]|lazy", keys[-1][2]):
            refuse(text, key.start(2), "lp.user_cuts")
        keys.append(key)
        if kind == b"end":
            break
    if not keys:
        word, position = (first[0], first.start()) if first else (b"", 0)
        refuse(text, position, "lp.no_objective", shown(word))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    sections = [(key[2][:3].lower(), key.end(), end) for key, end in zip(keys, ends, strict=True)]
    # With one SCIP does not return from .pip files.
    if sense := re.compile(rb"[<>=]").search(text, keys[0].end(), ends[0]):
        refuse(text, sense.start(), "lp.sense")
    if sections[-1][0] == b"end" and (rest := re.compile(rb"[^\s\x1a]\S*").search(text, keys[-1].end())):
        refuse(text, rest.start(), "lp.after_end", shown(rest[0]))
    if name := _BRACKETED.search(text):
        refuse(text, name.start(), "lp.brackets", shown(name[0]))
    places, sides = dict[bytes, int](), dict[tuple[bytes, str], float]()
    declared = {kind: set[bytes]() for kind in _DECLARING}
    for kind, begin, end in sections:
        if kind in declared:
            declared[kind] |= _words(text[begin:end])
        elif kind == b"bou":
            new = _bounded(text, begin, end, sides)
            if late := [var for var in declared[b"sem"] & new.keys() if sides.get((var, "l"), 0.0) > 0.0]:
                refuse(text, new[late[0]], "lp.semicontinuous_first", shown(late[0]))
            places = new | places
    for (var, side), value in sides.items():
        if side == "u" and value < 0.0 and var in declared[b"sem"]:
            refuse(text, places[var], "lp.semicontinuous_negative", shown(var))
        if var in declared[b"bin"] and not 0.0 <= value <= 1.0:
            refuse(text, places[var], "lp.binaries", shown(var))
    if any(1e20 <= abs(value) < math.inf for value in sides.values()):
        notes.add("lp.huge")
    notes |= {f"lp.{case}" for case, pattern in _NOTED.items() if pattern.search(text)}
    if b"[" in text[ends[0] :]:
        notes.add("lp.quadratic_row")
    objective = text[keys[0].end() : ends[0]]
    if b"[" in objective or any(float(constant) for constant in _CONSTANT.findall(objective)):
        notes.add("lp.objective")
    if any((var, "u") not in sides for var in declared[b"int"]):
        notes.add("lp.integers")
    kind, begin, _ = sections[-1]
    if kind != b"end":
        if by_program or not _looks_whole(text, kind, begin, set[bytes]().union(*declared.values())):
            raise MisreadError("lp.cut")
        notes.add("lp.no_end")
    places = {} if by_program else places
    for kind, section, stop in sections:
        if kind != b"bou":
            for begin, end in _stretches(text, section, stop):
                if places:  # the first rows mostly have all
                    for var in _words(text[begin:end]).intersection(places):
                        del places[var]
            if row := _TWO_SIDES.search(text, section, stop):
                refuse(text, row.start(), "lp.two_sides")
    for var, position in places.items():
        refuse(text, position, "lp.bound_of_none", shown(var))
    return notes


def _looks_whole(text: bytes, kind: bytes, begin: int, listed: set[bytes]) -> bool:
    """Whether a last section of names or bounds ends with a whole name, the last of those that look like it."""
    names = text[begin:].split()
    if not names or kind not in _DECLARING:
        return bool(names and listed) and kind == b"bou" and text.endswith(b"\n")
    like = re.sub(rb"\d+", rb"\\d+", re.escape(names[-1]))
    return names.count(names[-1]) == 1 and names[-1] in set(re.findall(_LIKE % like, text[:begin])) <= listed


def _words(text: bytes) -> set[bytes]:
    return set(text.translate(_BLANKS).split())


def _keys(text: bytes) -> Iterator[re.Match[bytes]]:
    for begin, end in _stretches(
        text, 0, len(text), 20_000
    ):  # the pattern takes ten times as long as the words
        if not _FIRST_WORDS.isdisjoint(_words(text[begin:end].lower())):
            yield from (key for key in _KEY.finditer(text, begin, end + 99) if begin <= key.start(2) < end)


def _stretches(text: bytes, begin: int, end: int, size: int = 1_000_000) -> Iterator[tuple[int, int]]:
    """Yield stretches of whole lines of about `size` characters, since all words of a text take much memory."""
    while begin < end:
        stop = text.find(b"\n", min(begin + size, end), end) + 1 or end
        yield begin, stop
        begin = stop


def _bounded(text: bytes, begin: int, end: int, bounds: dict[tuple[bytes, str], float]) -> dict[bytes, int]:
    """Return the first position of each variable in a section Bounds; add its bounds to `bounds`."""
    places: dict[bytes, int] = {}
    while rest := _ANY.search(text, begin, end):
        bound = _BOUND.match(text, rest.start(), end)
        if bound is None or not any(bound.group(1, 5, 6)):
            refuse(text, rest.start(), "lp.bound", shown(text[rest.start() : end].splitlines()[0]))
        left, left_sense, name, right_sense, right, free = bound.groups()
        sides = [("l", -math.inf), ("u", math.inf)] if free else []
        for value, sense, (low, high) in ((left, left_sense, "lu"), (right, right_sense, "ul")):
            if value:
                side = low if b"<" in sense else high if b">" in sense else "lu"
                sides += [(letter, float(b"".join(value.split()))) for letter in side]
        if differ(bounds, name, sides):
            refuse(text, bound.start(3), "lp.second_bound", shown(name))
        places.setdefault(name, bound.start(3))
        begin = bound.end()
    return places

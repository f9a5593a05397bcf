"""Whether SCIP takes the text of an instance file as it was written.

SCIP's readers go on after much that they do not know, often without a word, and give another model. The checks here and
in `text_mps` and `text_lp` know where; they are no second parser, and leave to SCIP what it refuses or warns of.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NoReturn

NUMBER: Final = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
VALUE: Final = rf"(?:{NUMBER}|(?i:inf(?:inity)?))"
"""A number that may be infinite."""

_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_BLANK: Final = re.compile(rb"\s")
_AFTER_NUMBER: Final = r"(?![\d.eE])(?!\s*[;)\]<]|\s*,\s*<)"
_CIP_ROW: Final = re.compile(rf"[<>=]=\s*[-+]?{VALUE}{_AFTER_NUMBER}|[\d.],\d[\d.]*\s*[<>=]=".encode())
_TERM: Final = rf"[-+]?\s*(?:{NUMBER}\s)?\s*(?:~?[^\W\d][^\s;:<>=+\-\[\]*~,]*\s*)+"
_OPB: Final = re.compile(
    rf"\s*(?:(?:min|max)\s*:\s*(?:{_TERM})*|soft\s*:\s*(?:{NUMBER}\s*)?"
    rf"|(?:\[\s*{NUMBER}\s*\]\s*)?(?:{_TERM})*(?:[<>]=?|=[<>]?)\s*[-+]?\s*{NUMBER}\s*)?;".encode()
)


class MisreadError(Exception):
    """Says in which line of a text, 0 for all of it, SCIP would misread what, and what to do."""

    def __init__(self, line: int, words: str) -> None:
        super().__init__(words)
        self.line = line


def differ(given: dict[tuple[bytes, str], float], name: bytes, sides: str, value: float) -> bool:
    """Note a bound of a variable, and return whether another one was given for one of these sides."""
    return any(given.setdefault((name, side), value) != value for side in sides)


def refuse(text: bytes, position: int, words: str) -> NoReturn:
    """Raise a `MisreadError` for the line of a position."""
    raise MisreadError(text.count(b"\n", 0, position) + 1, words)


def shown(text: bytes) -> str:
    """Return the beginning of a text as a message shows it."""
    return repr(b" ".join(text.split()).decode(errors="replace")[:60])


def check_words(text: bytes) -> None:
    """Refuse a word that SCIP would write beyond its memory: it takes 65,535 characters of one."""
    size = 2**15  # a longer word has such a stretch
    for begin in range(0, len(text) - size, size):
        if _BLANK.search(text, begin, begin + size) is None:
            refuse(text, begin, f"found a word of more than {size:,} characters; shorten it")


def check_encoding(text: bytes) -> None:
    """Refuse what is no plain text."""
    if text.startswith(codecs.BOM_UTF8):
        raise MisreadError(1, "found a byte order mark; save the file as UTF-8 without BOM")
    if found := _CONTROL.search(text, 0, len(text.rstrip(b"\x1a"))):  # with which DOS ends files
        words = "as in UTF-16 or packed files; save it as plain UTF-8 text"
        refuse(text, found.start(), f"found the byte {found[0][0]:#04x}, {words}")


def check_cip(text: bytes) -> None:
    """Refuse a CIP file without end, or with a number of which SCIP reads the beginning."""
    end = re.search(rb"(?m)^END\s*$", text)
    if end is None:
        raise MisreadError(0, "is cut off or no CIP file: it has no line 'END'")
    if rest := text[end.end() :].strip():
        refuse(text, text.rindex(rest), f"found {shown(rest)} after 'END'; delete it")
    if found := _CIP_ROW.search(text):
        line = text[text.rfind(b"\n", 0, found.end()) + 1 :].split(b"\n", 1)[0]
        refuse(text, found.end(), f"found {shown(line[-60:])}, expected a number at its end; correct it")


def check_opb(text: bytes) -> None:
    """Refuse a pseudo-Boolean file with a statement of another kind, or without the last semicolon."""
    plain, objectives = re.sub(rb"(?m)^[ \t]*\*.*$", b"", text), 0
    check_words(plain)
    position, end = 0, len(plain.rstrip())
    while position < end:
        found = _OPB.match(plain, position)
        if found is None:
            position += len(plain[position:]) - len(plain[position:].lstrip())
            found_text = shown(plain[position:].split(b";")[0])
            refuse(plain, position, f"found {found_text}, expected an objective or a row, then a semicolon")
        position = found.end()
        objectives += found[0].lstrip().startswith((b"min", b"max")) and b":" in found[0]
        if objectives > 1:
            refuse(plain, position - 1, "found a second objective; delete one")

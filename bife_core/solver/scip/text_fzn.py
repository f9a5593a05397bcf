"""Check FlatZinc files for what SCIP's reader misreads, or crashes on."""

from __future__ import annotations

import re
from typing import Final

from bife_core.solver.scip.differences import refuse
from bife_core.solver.scip.texts import check_words, shown

_ITEM: Final = r"\s*(?:[A-Za-z]\w*(?:\[\d+\])?|[-+]?\d[\d.eE+-]*)\s*"
_LIST: Final = r"\s*([A-Za-z]\w*|\[[^][]*(?:\[\d+\][^][]*)*\])\s*"
_NOTES: Final = r"\s*(?:::(?:(?!\s(?:constraint|solve|var|array)\b)[^;=])*)?"
_STATEMENT: Final = re.compile(
    rf"""(?:constraint\s+(?=\w+\s*\(([^)]*))(?:
      (?:(?:int|float|bool)_lin_(?:eq|le|ge)|int_lin_[lg]t)\s*\({_LIST},{_LIST},{_ITEM}\)
    | cumulative\s*\({_LIST},{_LIST},{_LIST},{_ITEM}\) | array_bool_(?:and|or)\s*\({_LIST},{_ITEM}\)
    | (?:(?:int|float)_(?:plus|minus|times)|bool_(?:and|or|xor))\s*\({_ITEM},{_ITEM},{_ITEM}\)
    | (?:(?:int|float|bool)_(?:eq|ge)|int_gt|int_negate|bool_not|bool2int|int2float)\s*\({_ITEM},{_ITEM}\))
    | (?:array\s*\[\s*1\s*\.\.\s*(\d+)\s*\]\s*of\s+)?(?:var\s+)?(?:bool|int|float|-?\d[\de.+-]*\s*\.\.\s*-?\d[\de.+-]*)
      \s*:\s*([A-Za-z]\w*){_NOTES}(?:=(?:{_LIST}|{_ITEM}))?
    | (solve)\b{_NOTES}(?<!\w)(?:satisfy|(?:min|max)imize\s+(?:int_float_lin\(([^()]*)\)|({_ITEM})))
    | predicate\s[^;]*){_NOTES};
    """.encode(),
    re.VERBOSE,
)
"""What SCIP reads as FlatZinc means it: arguments, lists; size, name, list of a declaration; solve, its goals."""


def check_fzn(text: bytes) -> None:
    """Refuse other statements, unknown names, lists of different lengths, and what is not one 'solve' at the end."""
    head = re.search(rb"\A% SCIP STATISTICS(?:\n%.*)*\n% Constraints +: (\d+)", text)
    rows = int(head[1]) if head else 0
    if text.partition(b"Problem constraints")[2].count(b"\nconstraint ") < rows:
        refuse(text, 0, "fzn.left_out", rows)
    text = re.sub(rb"%[^\n]*", b"", text)
    check_words(text)
    lengths, solved = {b"true": 1, b"false": 1}, None
    for statement in re.finditer(rb"[^\s;][^;]*;?", text):
        words, position = shown(statement[0]), statement.start()
        if solved:
            refuse(text, position, "fzn.after_solve", words)
        if (parts := _STATEMENT.fullmatch(statement[0])) is None:
            refuse(text, position, "fzn.statement", words)
        arguments, *lists, size, name, values, solved, goals, goal = parts.groups()
        for used in re.findall(rb"(?<![\w.])[A-Za-z]\w*", arguments or goals or goal or b""):
            if used not in lengths:
                refuse(text, position, "fzn.undeclared", shown(used))
        if name in lengths:
            refuse(text, position, "fzn.second", shown(name))
        items = [re.split(rb"[\s,]+", each.strip(b"[] \n")) for each in (*lists, size and values) if each]
        sizes = [lengths.get(each[0], 1) if len(each) == 1 else len(each) for each in items]
        if len({*sizes, *map(int, [size] if size and values else [])}) > 1:
            refuse(text, position, "fzn.lengths", words)
        lengths |= {name: int(size or 1)} if name else {}
    if not solved or not text.endswith(b"\n"):
        refuse(text, len(text), "fzn.cut")

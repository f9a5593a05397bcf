"""Classes of rows, by name and structure the same over a family, and rows that are in the LP on demand.

A class is a name such as ``rows/link/c_minus_b_le_0``: the first letters of the rows' names, if there are two or more;
the variables with positive and with negative coefficients, as ``b``inary, ``i``nteger or ``c``ontinuous, each one,
``2`` or ``n`` for more, ``weighted`` if their coefficients differ; and the sense and sign of the side, of a row that is
turned round so that it has a positive coefficient. Equations have no class.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Collection
from typing import Annotated, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import AfterValidator, StringConstraints

from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import function, scip_address

PREFIX: Final = "rows/"
"""Beginning of a class's name."""

_SENSES: Final = {1: "le", 2: "ge", 3: "range"}
_SIGNS: Final = {0: "0", 1: "pos", 2: "neg"}
_COUNTS: Final = {1: "", 2: "2", 3: "n"}

_NAME: Final = (
    r"^rows/(?:[A-Za-z]{2,}/)?(?:(?:2|n)?[bic]_)*(?:weighted_)?(?:minus_(?:(?:2|n)?[bic]_)+(?:weighted_)?)?"
    r"(?:le|ge|range)_(?:0|pos|neg)$"
)

RowClasses: TypeAlias = Annotated[
    tuple[Annotated[str, StringConstraints(pattern=_NAME)], ...],
    AfterValidator(lambda names: tuple(sorted(set(names)))),
]
"""A field for names of classes, in order, each once."""

Addresses: TypeAlias = npt.NDArray[np.int64]


class Rows:
    """The rows of a model that is not being solved yet, or of its `transformed` problem, by class.

    `counts` has their number by the class's name, `examples` the place of the first among the model's constraints.
    """

    def __init__(self, model: pyscipopt.Model, transformed: bool = False) -> None:
        self._scip = scip_address(model)
        self._constraints, self._keys = _keyed(self._scip, "" if transformed else "Orig")
        name_of = function("SCIPconsGetName", ctypes.c_char_p)
        keys, places, counts = np.unique(self._keys, return_index=True, return_counts=True)
        self._names = dict[int, str]()
        self.counts, self.examples = dict[str, int](), dict[str, int]()
        for key, place, count in zip(keys.tolist(), places.tolist(), counts.tolist(), strict=True):
            if key == 0:
                continue
            name = name_of(ctypes.c_void_p(int(self._constraints[place])))
            self._names[key] = class_name(key, (name or b"").decode(errors="replace"))
            self.counts[self._names[key]] = count
            self.examples[self._names[key]] = place

    def put_on_demand(self, classes: Collection[str]) -> int:
        """Keep rows of some classes, and those `with_unnamed`, out of the model's first LP; return how many.

        SCIP adds a row where an LP solution violates it.
        """
        from bife_core.solver.units import FEATURES

        classes = with_unnamed(classes)
        rows = (self._constraints.ctypes.data, len(self._constraints), self._keys.ctypes.data)
        chosen = [key for key, name in self._names.items() if name in classes]
        return sum(FEATURES.call("put_on_demand", self._scip, *rows, key) for key in chosen)


def with_unnamed(classes: Collection[str]) -> tuple[str, ...]:
    """Return classes and those of the same form without a stem: a modelling layer may have lost the names.

    >>> with_unnamed(["rows/link/c_minus_b_le_0"])
    ('rows/link/c_minus_b_le_0', 'rows/c_minus_b_le_0')
    """
    return tuple(dict.fromkeys((*classes, *(f"{PREFIX}{name.rpartition('/')[2]}" for name in classes))))


def class_name(key: int, row: str) -> str:
    """Return the name of the class with a key, which a row called so belongs to; see `compiled.row_keys`."""
    parts = list[str]()
    for side, before in enumerate(([], ["minus"])):
        counts = ((kind, key >> (4 + 6 * side + 2 * place) & 3) for place, kind in enumerate("bic"))
        words = [f"{_COUNTS[count]}{kind}" for kind, count in counts if count]
        words += ["weighted"] if key >> (16 + side) & 1 else []
        parts += [*before, *words] if words else []
    parts += [_SENSES[key & 3], _SIGNS[key >> 2 & 3]]
    stem = re.match("[^A-Za-z]*([A-Za-z]{2,})", row)
    return f"{PREFIX}{f'{stem[1]}/' if stem else ''}{'_'.join(parts)}"


def _keyed(scip: int, kind: str) -> tuple[Addresses, Addresses]:
    """Return the addresses of a problem's constraints, and the key of each."""
    from bife_core.solver.units import FEATURES  # compiled code is loaded only where it is used

    pointer = ctypes.c_void_p(scip)
    count = function(f"SCIPgetN{kind}Conss")(pointer)
    first = function(f"SCIPget{kind}Conss", ctypes.POINTER(ctypes.c_int64))(pointer)
    constraints = np.ctypeslib.as_array(first, (count,)).copy() if count else np.empty(0, np.int64)
    keys = np.zeros(count, dtype=np.int64)
    find = function("SCIPfindConshdlr", ctypes.c_void_p)
    pointers = (find(pointer, name.encode()) for name in LINEAR)
    handlers = np.array([handler for handler in pointers if handler], dtype=np.int64)
    capacity = function(f"SCIPgetN{kind}Vars")(pointer) + 1
    room = np.zeros(1 + 2 * capacity, dtype=np.int64)
    rows = (constraints.ctypes.data, count, keys.ctypes.data)
    FEATURES.call("row_keys", scip, *rows, handlers.ctypes.data, len(handlers), room.ctypes.data, capacity)
    return constraints, keys

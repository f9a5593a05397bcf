"""Compiled rules, scalar programs and rejections."""

from __future__ import annotations

import ast
import ctypes
import hashlib
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bife_core.base.errors import RuleError
from bife_core.language.components import Component

FloatArray: TypeAlias = npt.NDArray[np.float64]

_PROTOTYPE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
_LONGEST_REASON: Final = 300
_VERSION: Final = "bife rule 2"

RejectionKind = Literal[
    "no_code", "syntax", "signature", "forbidden", "type", "runtime", "timeout", "duplicate"
]
"""Nothing to parse; not Python; another function; outside the allowed language; no single number; no usable score, or
its worker ended; too slow; a duplicate of an earlier rule."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a source is no usable rule; `reason` is a sentence, with the line."""

    kind: RejectionKind
    reason: str


class RejectionError(Exception):
    """Carries a `Rejection` within this package; the line of `where` is put in front of `reason`."""

    def __init__(self, kind: RejectionKind, reason: str, where: ast.AST | None = None) -> None:
        line = getattr(where, "lineno", None)
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST_REASON:  # it quotes the rule, and names in a rule can be long
            reason = reason[:_LONGEST_REASON] + " ..."
        sentence = f"Line {line}: {reason}" if line else reason[:1].upper() + reason[1:]
        self.rejection = Rejection(kind, sentence.removesuffix(".") + ".")
        super().__init__(self.rejection.reason)


def forbidden(reason: str, where: ast.AST | None = None) -> RejectionError:
    """Return the error for what is outside the allowed language."""
    return RejectionError("forbidden", reason, where)


def no_number(reason: str, where: ast.AST | None = None) -> RejectionError:
    """Return the error for what should be a number and is not."""
    return RejectionError("type", reason, where)


_SPOKEN: Final = {
    "ClassDef": "a class",
    "Constant": "a literal that is no number",
    "FunctionDef": "a function within a function; define helpers beside it",
    "GeneratorExp": "a sequence",
    "Expr": "a line with a value that is not used",
    "For": "a loop other than `for i in range(...)` with one to three constant integers, and no else",
    "List": "a list",
    "ListComp": "a list",
    "Try": "try (arithmetic never raises here: x / 0 is an infinity or NaN)",
    "Tuple": "a tuple, except to assign several names at once",
    "While": "while; write `for i in range(10)` with constant ends",
}


def unknown(node: ast.AST, where: ast.AST | None = None) -> RejectionError:
    """Return the error for syntax outside the allowed language."""
    kind = type(node).__name__
    return forbidden(f"a rule may not use {_SPOKEN.get(kind, kind.lower())}", where or node)


@dataclass(frozen=True, slots=True)
class Program:
    """A rule as a scalar program; nothing of it has run."""

    text: str  # each function stands below those it calls; the last one scores
    features: frozenset[int]  # which it takes, as ``f3, f18, ...``
    component: Component

    @property
    def sha(self) -> str:
        """Hash of the rule."""
        kind = self.component
        head = f"{_VERSION} {kind.name} {kind.version}" if kind.version else _VERSION
        return hashlib.sha256(f"{head}\n{self.text}".encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class CompiledRule:
    """A rule as machine code, made by `bife_core.language.rules.compile_rule`.

    Its arithmetic is IEEE's; it never raises, and always ends. `sha` is a hash of what it computes, and `features` are
    the columns it reads. `address` is that of the C function ``int64_t score(const double *X, int64_t n, double *out)``
    with a row-major `X` of n x `component.n_features`. The function returns 0, takes no Python lock, and lives as long
    as the process.
    """

    name: str
    source: str
    sha: str
    features: frozenset[int]
    address: int
    component: Component

    def __repr__(self) -> str:
        return f"CompiledRule({self.name!r})"

    def score(self, X: FloatArray) -> FloatArray:
        """Return scores, (n,) float64, of candidates, higher is better; NaN and infinities are possible.

        Parameters
        ----------
        X : (n, n_features) float64
            One row per candidate, in the order of the component's features. It is not changed.

        Raises
        ------
        RuleError
            If `X` is no such matrix.
        """
        try:
            matrix = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise RuleError(f"A rule scores a matrix of numbers: {error}.") from error
        width = self.component.n_features
        if np.ndim(X) != 2 or matrix.shape[1] != width:
            raise RuleError(f"A rule scores a matrix of n x {width}, not one of shape {np.shape(X)}.")
        scores = np.empty(len(matrix))
        _PROTOTYPE(self.address)(matrix.ctypes.data, len(matrix), scores.ctypes.data)
        return scores

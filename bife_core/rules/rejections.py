"""How the stages of checking say no: an exception inside the package, its `Rejection` outside."""

from __future__ import annotations

import ast
from typing import Final

from bife_core.rules.types import Rejection, RejectionKind

_LONGEST: Final = 300


class RejectionError(Exception):
    """A stage rejects the rule; it becomes its `rejection` before it leaves the package.

    Parameters
    ----------
    kind : RejectionKind
        What is wrong.
    reason : str
        One sentence without a line number; shortened if it is long.
    where : ast.AST or None
        The node it speaks of; its line is put in front.
    """

    def __init__(self, kind: RejectionKind, reason: str, where: ast.AST | None = None) -> None:
        line = getattr(where, "lineno", None)
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST:  # it quotes the rule, and names in a rule can be long
            reason = reason[:_LONGEST] + " ..."
        sentence = f"Line {line}: {reason}" if line else reason[:1].upper() + reason[1:]
        self.rejection = Rejection(kind, sentence.removesuffix(".") + ".")
        super().__init__(self.rejection.reason)


def forbidden(reason: str, where: ast.AST | None = None) -> RejectionError:
    """Return the error for something outside the allowed language."""
    return RejectionError("forbidden", reason, where)


def no_number(reason: str, where: ast.AST | None = None) -> RejectionError:
    """Return the error for something that is no single number where one is needed, or the other way round."""
    return RejectionError("type", reason, where)

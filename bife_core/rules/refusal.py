"""How the stages of checking say no: one exception inside the package, one `Rejection` outside."""

from __future__ import annotations

import ast
from typing import Final

from bife_core.rules.types import Rejection, RejectionKind

_LONGEST: Final = 300


class Refusal(Exception):  # noqa: N818 - not an error: it becomes a Rejection before it leaves the package
    """A stage refuses the rule.

    Parameters
    ----------
    kind : RejectionKind
        What is wrong.
    reason : str
        One sentence without a line number; shortened if it is long.
    where : ast.AST or None
        The node it speaks of; its line is put in front.
    detail : str
        More to read, if any.
    """

    def __init__(
        self, kind: RejectionKind, reason: str, where: ast.AST | None = None, detail: str = ""
    ) -> None:
        line = getattr(where, "lineno", None)
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST:  # it quotes the rule, and names in a rule can be long
            reason = reason[:_LONGEST] + " ..."
        sentence = f"Line {line}: {reason}" if line else reason[:1].upper() + reason[1:]
        self.rejection = Rejection(kind, sentence.removesuffix(".") + ".", detail)
        super().__init__(self.rejection.reason)


def forbidden(reason: str, where: ast.AST | None = None) -> Refusal:
    """Return the refusal of something outside the allowed language."""
    return Refusal("forbidden", reason, where)

"""SCIP's own branching rules as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from bife_core.methods.base import Method
from bife_core.scip.builtin import BUILTIN_METHODS, put_in_charge

if TYPE_CHECKING:
    import pyscipopt

    from bife_core.scip.guard import Guard


class ScipMethod(Method):
    """A branching rule SCIP brings, by its name there; a guard has nothing to guard."""

    kind: Literal["scip"] = "scip"
    name: str = Field(pattern="|".join(f"^{name}$" for name in BUILTIN_METHODS))

    @property
    def identity(self) -> str:
        """SCIP's name for it."""
        return self.name

    @property
    def text(self) -> str:
        """Nothing: it is compiled into SCIP."""
        return ""

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> None:
        """Give it the highest priority."""
        put_in_charge(model, self.name)

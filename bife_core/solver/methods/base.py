"""The base of methods, SCIP's own branching rules, and how a method is rebuilt from JSON."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from bife_core.base.plugins import Plugins
from bife_core.base.values import Value
from bife_core.solver.scip.settings import put_in_charge

if TYPE_CHECKING:
    import pyscipopt

    from bife_core.solver.scip.branching import BranchingStats, Guard

BUILTIN_METHODS: Final = (
    "relpscost", "pscost", "mostinf", "fullstrong", "vanillafullstrong", "random", "gomory",
)  # fmt: skip

RPB: Final = "relpscost"
"""SCIP's default, reliability pseudocost branching: the baseline."""


class Method(Value):
    """How SCIP solves and branches; the fields are JSON and describe it completely.

    `kind` names the class in `METHODS`, which rebuilds a method from its JSON; a class gives it as a default.
    """

    kind: str
    name: str

    @property
    @abstractmethod
    def identity(self) -> str:
        """Methods of the same identity solve alike, whatever their names."""

    @property
    def by_scip(self) -> bool:
        """Whether one of SCIP's rules branches."""
        return isinstance(self, ScipMethod)

    @property
    def runs_code(self) -> bool:
        """Whether compiled code takes part in the solve."""
        return not self.by_scip

    @abstractmethod
    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Put the method in charge of a model; return its live counters, if any.

        A `RuleError` says that it cannot be used, a `SolverError` that SCIP refuses it.
        """

    @property
    def text(self) -> str:
        """Content of its files, which `method_of` reads: by default the JSON."""
        return self.model_dump_json(indent=1)

    @property
    def shown(self) -> str:
        """Text for readers: by default `text`."""
        return self.text

    @property
    def file_name(self) -> str:
        """File name for its `text`."""
        return "method.json"


class ScipMethod(Method):
    """A branching rule of SCIP, by its name there; it takes no guard."""

    kind: Literal["scip"] = "scip"
    name: str = Field(pattern="|".join(f"^{name}$" for name in BUILTIN_METHODS))

    @property
    def identity(self) -> str:
        """SCIP's name."""
        return self.name

    @property
    def shown(self) -> str:
        """Empty: it has no source here."""
        return ""

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> None:  # noqa: D102
        put_in_charge(model, self.name)


METHODS: Final[Plugins[type[Method]]] = Plugins(
    "method",
    "bife.methods",
    {
        "scip": "bife_core.solver.methods.base:ScipMethod",
        "rule": "bife_core.solver.methods.scorer:RuleMethod",
        "configuration": "bife_core.solver.methods.configuration:Configuration",
        "component_rule": "bife_core.solver.methods.scorer:ComponentRule",
    },
    lambda kind: isinstance(kind, type) and issubclass(kind, Method),
    "a class derived from `Method`",
)


def _rebuilt(data: Any) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return data
    return METHODS.find(data["kind"]).model_validate(data)


AnyMethod = Annotated[SerializeAsAny[Method], BeforeValidator(_rebuilt)]
"""A field for methods of all kinds, whose class is found by `kind` when JSON is read."""

"""What a method is, SCIP's own rules among them, and how one is rebuilt from JSON in another process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
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
"""SCIP's branching rules that are taken by name."""

RPB: Final = "relpscost"
"""SCIP's default, reliability pseudocost branching: the baseline."""


class Method(Value):
    """How SCIP solves, what branches above all, as a value: its fields are JSON and describe it completely.

    `kind` names its class in `METHODS`, which rebuilds a method from its JSON; a class gives it as its default. `name`
    stands in tables.
    """

    kind: str
    name: str

    @property
    @abstractmethod
    def identity(self) -> str:
        """What a solve depends on: methods of the same identity solve alike, whatever their names."""

    @property
    def by_scip(self) -> bool:
        """Whether one of SCIP's rules branches."""
        return isinstance(self, ScipMethod)

    @abstractmethod
    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Put the method in charge of a model, and return its live counters if it keeps any.

        A `RuleError` is raised if it cannot be used, through a fault of its own, a `SolverError` if SCIP refuses it.
        """

    @property
    def text(self) -> str:
        """What is kept in files, and what `method_of` takes back: by default the JSON."""
        return self.model_dump_json(indent=1)

    @property
    def shown(self) -> str:
        """What a reader is shown: by default its `text`."""
        return self.text

    @property
    def file_name(self) -> str:
        """What a file of its `text` is called."""
        return "method.json"

    @property
    def design(self) -> Mapping[str, int | float | str]:
        """What its design took and how well it imitates an expert, by name, for a report's table; {} if unknown."""
        return {}


class ScipMethod(Method):
    """A branching rule SCIP brings, by its name there; a guard has nothing to guard."""

    kind: Literal["scip"] = "scip"
    name: str = Field(pattern="|".join(f"^{name}$" for name in BUILTIN_METHODS))

    @property
    def identity(self) -> str:
        """SCIP's name for it."""
        return self.name

    @property
    def shown(self) -> str:
        """Nothing: it is compiled into SCIP."""
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
    lambda found: isinstance(found, type) and issubclass(found, Method),
    "a class derived from `Method`",
)
"""Classes of methods by kind."""


def _rebuilt(data: Any) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return data
    return METHODS.find(data["kind"]).model_validate(data)


AnyMethod = Annotated[SerializeAsAny[Method], BeforeValidator(_rebuilt)]
"""A field that holds a method of whatever kind, and finds its class again when it is read from JSON."""

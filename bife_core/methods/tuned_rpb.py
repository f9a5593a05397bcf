"""RPB with other parameters than SCIP's: a method that is kept as a settings file of SCIP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import pyscipopt
from pydantic import Field, ValidationError, field_validator

from bife_core.errors import ConfigError, RuleError
from bife_core.methods.base import RPB, Method, ScipMethod
from bife_core.scip.branching import Guard
from bife_core.scip.solver import Parameter, settings_in
from bife_core.values import describe, digest_of

FILE_NAME: Final = "tuned_rpb.set"
"""What its settings file is called."""

_HEAD: Final = f"branching/{RPB}/priority"


class TunedRpb(Method):
    """Reliability pseudocost branching (RPB) with `params`: parameters of branching that are not at SCIP's defaults."""

    kind: Literal["tuned_rpb"] = "tuned_rpb"
    name: str = "tuned_rpb"
    params: dict[str, Parameter] = Field(default_factory=dict)

    @field_validator("params")
    @classmethod
    def _as_scip_has_them(cls, given: dict[str, Parameter]) -> dict[str, Parameter]:
        try:
            found = dict(sorted(_read(_written(given)).items()))
        except ConfigError as error:
            raise ValueError(str(error)) from error
        for name in [*given, *found]:  # a value of two lines sets more than the parameter it is given for
            if not name.startswith("branching/") or name.endswith("/priority"):
                raise ValueError(
                    f"RPB is tuned by parameters branching/* other than priorities, and {name} is none; "
                    "give other settings of SCIP as its solver"
                )
        return found

    @property
    def identity(self) -> str:
        """Hash of the parameters; without any it is RPB."""
        return digest_of([self.kind, self.params]) if self.params else RPB

    @property
    def text(self) -> str:
        """The settings file, which SCIP reads too; RPB's priority marks it as a method."""
        return _written({_HEAD: 10_000_000} | self.params)

    @property
    def file_name(self) -> str:
        """A settings file of SCIP."""
        return FILE_NAME

    @classmethod
    def of_text(cls, text: str, name: str) -> TunedRpb:
        """Return the method in a settings file's text; a `RuleError` says what SCIP, or RPB, does not take."""
        try:
            params = settings_in(text, name)
            params.pop(_HEAD, None)
            return cls(name=name, params=params)
        except ConfigError as error:
            raise RuleError(str(error)) from error
        except ValidationError as error:
            raise RuleError(f"{name} is no method: {describe(error)}") from error

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> None:
        """Set the parameters and give RPB the highest priority; a guard has nothing to guard."""
        model.setParams(self.params)
        ScipMethod(name=RPB).attach(model)


def _written(params: Mapping[str, Parameter]) -> str:
    values = {
        name: str(value).upper() if isinstance(value, bool) else value for name, value in params.items()
    }
    return "".join(f"{name} = {value}\n" for name, value in values.items())


@lru_cache(maxsize=256)
def _read(text: str) -> dict[str, Parameter]:
    return settings_in(text, "params")

"""A method that is more than branching: parameters of SCIP, and what branches under them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import pyscipopt
from pydantic import Field, ValidationError, field_validator

from bife_core.base.errors import ConfigError, RuleError
from bife_core.base.values import describe, digest_of
from bife_core.solver.methods.base import BUILTIN_METHODS, RPB, AnyMethod, Method, ScipMethod
from bife_core.solver.scip.branching import BranchingStats, Guard
from bife_core.solver.scip.libscip import scip_errors
from bife_core.solver.scip.settings import Parameter, as_given, is_priority, settings_in, usual_parameters

FILE_NAME: Final = "configuration.set"
"""What the settings file of a configuration is called that branches by one of SCIP's rules."""

_NEVER: Final = (
    "limits/", "numerics/", "randomization/", "timing/", "display/", "visual/", "memory/", "parallel/", "concurrent/",
    "write/", "reoptimization/", "benders/", "iis/", "misc/catchctrlc",
)  # fmt: skip
"""Beginnings of parameters that are no part of a method: they say when a solve ends, what counts as optimal, or what
is printed."""


_INCOMPLETE: Final = "# Without what branches, which "
"""How a settings file begins that is only a part of a configuration."""


class Configuration(Method):
    """SCIP with `params`, those that are not at its defaults, in which `branching` chooses the variable.

    Without parameters it is its branching method. Parameters that say how a solve ends or what counts as optimal, and
    seeds, are refused.

    Examples
    --------
    >>> lean = Configuration(params={"separating/maxrounds": 0}, branching=ScipMethod(name="pscost"))
    >>> print(lean.text, end="")
    branching/pscost/priority = 10000000
    separating/maxrounds = 0
    """

    kind: Literal["configuration"] = "configuration"
    name: str = "configuration"
    params: dict[str, Parameter] = Field(default_factory=dict)
    branching: AnyMethod = ScipMethod(name=RPB)

    @field_validator("params")
    @classmethod
    def _as_scip_has_them(cls, given: dict[str, Parameter]) -> dict[str, Parameter]:
        try:
            found = dict(sorted(_read(_written(given)).items()))
        except ConfigError as error:
            raise ValueError(str(error).rstrip(".")) from error
        for name in [*given, *found]:  # a value of two lines sets more than the parameter it is given for
            if name.startswith(_NEVER):
                raise ValueError(
                    f"{name} is no part of a method, which leaves limits, tolerances and seeds to the solve; "
                    "give it as a setting of the solver"
                )
            if is_priority(name):
                raise ValueError(f"{name} is not for params: what branches is the field 'branching'")
        for name, value in given.items():
            if not as_given(value, has := found.get(name, usual_parameters()[name])):
                raise ValueError(f"{name} = {value!r} would be {has!r} in SCIP")
        return found

    @field_validator("branching")
    @classmethod
    def _once(cls, given: Method) -> Method:
        if isinstance(given, Configuration):
            raise ValueError("a configuration does not branch; give what branches in it")
        return given

    @property
    def identity(self) -> str:
        """Hash of parameters and branching; without parameters it is that of the branching."""
        branching = self.branching.identity
        return digest_of([self.kind, self.params, branching]) if self.params else branching

    @property
    def by_scip(self) -> bool:
        """Whether one of SCIP's rules branches."""
        return self.branching.by_scip

    @property
    def settings(self) -> str:
        """The settings file of SCIP; it names what branches if that is one of SCIP's rules."""
        return _written(self._in_charge | self.params)

    @property
    def text(self) -> str:
        """The settings file if that is all, and JSON otherwise."""
        return self.settings if self._in_charge else super().text

    @property
    def shown(self) -> str:
        """The settings file, and after it what branches."""
        further = "" if self._in_charge else f"\n# {self.branching.name}\n{self.branching.shown}"
        return self.settings + further

    @property
    def file_name(self) -> str:
        """A settings file of SCIP, or a file of JSON."""
        return FILE_NAME if self._in_charge else super().file_name

    def files(self, output: Path) -> dict[Path, str]:
        """Return the text of each file by path, the first of which has all; settings name a rule of SCIP alone."""
        if self.by_scip and output.suffix == ".set":
            return {output: self.settings}
        whole = {output.with_suffix(".json"): super().text}
        note = f"{_INCOMPLETE}{output.stem}.json has.\n"
        return whole if output in whole else whole | {output: note + self.settings}

    @property
    def design(self) -> Mapping[str, int | float | str]:
        """What is known of the design of what branches."""
        return self.branching.design

    @property
    def _in_charge(self) -> dict[str, Parameter]:
        if not isinstance(self.branching, ScipMethod):
            return {}
        return {f"branching/{self.branching.name}/priority": 10_000_000}

    @classmethod
    def of_text(cls, text: str, name: str) -> Configuration:
        """Return the configuration in a settings file's text; a `RuleError` says what SCIP, or a method, does not take.

        The rule of SCIP branches that has the highest priority; which of two of the same, SCIP does not say.
        """
        if _INCOMPLETE in text:
            raise RuleError(
                f"{name} has the settings without the rule that branches; give its .json file as the rule, or this one "
                "as the solver."
            )
        try:
            params = settings_in(text, name)
            every = {
                each: value for each, value in {**usual_parameters(), **params}.items() if is_priority(each)
            }
            highest = max(map(int, every.values()))
            first, *others = (each.split("/")[1] for each in every if every[each] == highest)
            if others:
                raise RuleError(
                    f"{name} gives {first} and {others[0]} the same priority; raise that of one of them."
                )
            if first not in BUILTIN_METHODS:
                raise RuleError(
                    f"{name} has SCIP branch by {first}; a method branches by one of {', '.join(BUILTIN_METHODS)}."
                )
            own = {each: value for each, value in params.items() if not is_priority(each)}
            return cls(name=name, params=own, branching=ScipMethod(name=first))
        except ConfigError as error:
            raise RuleError(str(error)) from error
        except ValidationError as error:
            raise RuleError(f"{name} is no method: {describe(error)}") from error

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Set the parameters, and put what branches in charge.

        A parameter that the model has fixed, or at another value than SCIP's default, stays; one warning names all.
        """
        present, usual = model.getParams(), usual_parameters()
        with scip_errors():
            for name, value in self.params.items():
                if present[name] == usual[name]:
                    with suppress(ValueError):  # fixed at SCIP's default
                        model.setParam(name, value)
        found = model.getParams()
        kept = [f"{name} = {found[name]} (not {v})" for name, v in self.params.items() if found[name] != v]
        if kept:  # warn who calls `bife_core.attach`
            warnings.warn(
                f"{self.name} leaves what the model has set itself: {', '.join(kept)}.", stacklevel=4
            )
        return self.branching.attach(model, guard)


def is_part(name: str) -> bool:
    """Whether a parameter of SCIP may be one of a configuration's."""
    return not (name.startswith(_NEVER) or is_priority(name))


def _written(params: Mapping[str, Parameter]) -> str:
    return "".join(f"{name} = {_in_file(name, value)}\n" for name, value in params.items())


def _in_file(name: str, value: Parameter) -> str:
    """Return how a settings file has a value: a text in quotes, a single character, by default a letter, without."""
    usual = usual_parameters().get(name)
    if isinstance(usual, str) and not (len(usual) == 1 and usual.isalpha()):
        return f'"{value}"'
    return str(value).upper() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=256)
def _read(text: str) -> dict[str, Parameter]:
    return settings_in(text, "params")

"""A configuration: parameters of SCIP, rows on demand, an order and a method of branching, as one method."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from ctypes import c_void_p
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, Literal

import pyscipopt
from pydantic import Field, ValidationError, field_validator

from bife_core.base.errors import ConfigError, RuleError
from bife_core.base.values import describe, digest_of
from bife_core.base.wording import counted
from bife_core.solver.inequalities import Kind
from bife_core.solver.methods.base import BUILTIN_METHODS, RPB, AnyMethod, Method, ScipMethod
from bife_core.solver.scip.branching import BranchingStats, Guard
from bife_core.solver.scip.emphases import of_emphases, shortest
from bife_core.solver.scip.libscip import function, scip_address, scip_errors, scip_version
from bife_core.solver.scip.row_classes import RowClasses, Rows
from bife_core.solver.scip.settings import Parameter, as_given, is_priority, settings_in, usual_parameters
from bife_core.solver.scip.variable_classes import VariableClasses, branch_first
from bife_core.solver.starts.method import AnyStart, StartMethod

FILE_NAME: Final = "configuration.set"
"""Name of the settings file of a configuration under which one of SCIP's rules branches."""

_NEVER: Final = (
    "limits/", "numerics/", "randomization/", "timing/", "display/", "visual/", "memory/", "parallel/", "concurrent/",
    "write/", "reoptimization/", "benders/", "iis/", "misc/catchctrlc",
)  # fmt: skip
"""Beginnings of parameters of limits, tolerances, seeds and output, which are no part of a method."""

_KINDS: Final = ("bool", "int", "long", "real", "char", "string")  # of parameters, as SCIP numbers them

_INCOMPLETE: Final = re.compile(r"^# Without (.*), which (.*) has\.$", re.MULTILINE)
"""First line of a settings file that lacks parts of a configuration."""


_FOUND: Final = re.compile(r"^# Found with SCIP (\d+\.\d+\.\d+)\.$", re.MULTILINE)
"""First line of a complete one."""


class Configuration(Method):
    """SCIP with the parameters `params`, under which `branching` chooses the variable.

    Rows of the classes `on_demand` enter the LP when they are violated, SCIP branches on integer variables of the
    classes `first` before others, presolving aggregates `implied_free` variables of equations, ``continuous`` or
    ``all``, whose bounds rows imply, a `start` proposes solutions before SCIP solves, and `inequalities` that are
    ``knapsack`` are facets of the knapsacks of binaries, each proven before SCIP gets it. It was found with the SCIP
    of the version `scip`, by default this one. Limits, tolerances and seeds are refused.

    Examples
    --------
    >>> lean = Configuration(params={"separating/maxrounds": 0}, branching=ScipMethod(name="pscost"))
    >>> print(lean.settings, end="")
    branching/pscost/priority = 10000000
    separating/maxrounds = 0
    """

    kind: Literal["configuration"] = "configuration"
    name: str = "configuration"
    params: dict[str, Parameter] = Field(default_factory=dict)
    on_demand: RowClasses = ()
    first: VariableClasses = ()
    implied_free: Literal["continuous", "all"] | None = None
    branching: AnyMethod = ScipMethod.model_construct(name=RPB)
    start: AnyStart | None = None
    inequalities: Kind | None = None
    scip: str = Field(default_factory=scip_version, pattern=r"^\d+\.\d+\.\d+$")

    @field_validator("params")
    @classmethod
    def _as_scip_has_them(cls, params: dict[str, Parameter]) -> dict[str, Parameter]:
        try:
            in_scip = dict(sorted(_read(_written(params)).items()))
        except ConfigError as error:
            raise ValueError(str(error).rstrip(".")) from error
        for name in [*params, *in_scip]:  # a value of two lines sets another parameter too
            if name.startswith(_NEVER):
                raise ValueError(
                    f"{name} is no part of a method, which leaves limits, tolerances and seeds to the solve; "
                    "give it as a setting of the solver"
                )
            if is_priority(name):
                raise ValueError(f"{name} is not for params: what branches is the field 'branching'")
        for name, value in params.items():
            if not as_given(value, has := in_scip.get(name, usual_parameters()[name])):
                raise ValueError(f"{name} = {value!r} would be {has!r} in SCIP")
        return in_scip

    @field_validator("branching")
    @classmethod
    def _once(cls, branching: Method) -> Method:
        if isinstance(branching, Configuration):
            raise ValueError("a configuration does not branch; give what branches in it")
        return branching

    @property
    def identity(self) -> str:
        """Hash of all parts; that of the branching if there is no other."""
        branching = self.branching.identity
        return digest_of([self.kind, self.params, branching, *self._further]) if self.changes else branching

    def with_part(self, method: Method) -> Method:
        """Return this configuration with what another one sets, or another method branches, under that one's name.

        If nothing but a branching method is left, that method is returned.
        """
        parts: dict[str, Any] = {"branching": method}
        if isinstance(method, Configuration):
            usual = Configuration(name=method.name)
            parts = {name: of for name, of in method if of != getattr(usual, name)}
            parts["params"] = {**self.params, **method.params}
            for name in ("on_demand", "first"):
                parts[name] = tuple(sorted({*getattr(self, name), *getattr(method, name)}))
        complete = self.model_copy(update={"name": method.name, **parts})
        return complete if complete.changes else complete.branching

    @property
    def _further(self) -> tuple[object, ...]:
        named = {"inequalities": self.inequalities, "implied free": self.implied_free}
        values = (f"{name} {value}" for name, value in named.items() if value)
        start = self.start and self.start.identity
        return (*filter(None, (self.on_demand, self.first, start)), *values)

    @property
    def changes(self) -> str:
        """What is changed beside branching, as text: the same text for the same changes."""
        return "".join(str(part) for part in (self.params, *self._further) if part)

    @property
    def beside_settings(self) -> tuple[str, ...]:
        """What of it no settings file of SCIP can hold."""
        lacks = [] if self._in_charge else ["what branches"]
        lacks += ["its rows on demand"] if self.on_demand else []
        lacks += ["its order of branching"] if self.first else []
        return (*lacks, *self.beside_c)

    @property
    def beside_c(self) -> tuple[str, ...]:
        """What of it exported C code cannot hold either."""
        lacks = ["its aggregation of implied free variables"] if self.implied_free else []
        lacks += ["its start"] if self.start else []
        return (*lacks, "its inequalities") if self.inequalities else tuple(lacks)

    @property
    def by_scip(self) -> bool:
        """Whether one of SCIP's rules branches."""
        return self.branching.by_scip

    @property
    def runs_code(self) -> bool:
        """Whether compiled code takes part in the solve."""
        return bool(self.on_demand or self.implied_free) or self.branching.runs_code

    @property
    def settings(self) -> str:
        """Settings file of SCIP; it names the rule that branches if that is one of SCIP's."""
        return _written(self._in_charge | self.params)

    def written_for(self, form: Literal["dict", "ortools", "mathopt"]) -> str:
        """Return the parameters as JSON of real types, OR-Tools' string, or JSON of MathOpt's fields by type."""
        if form == "ortools":  # which takes no character in quotes
            return re.sub(r'(?m)"(.)"$', r"\1", self.settings)
        model, fields, params = pyscipopt.Model(), dict[str, Any](), self._in_charge | self.params
        for name, value in params.items():
            parameter = function("SCIPgetParam", c_void_p)(c_void_p(scip_address(model)), name.encode())
            field = f"{_KINDS[function('SCIPparamGetType')(c_void_p(parameter))]}_params"
            fields.setdefault(field, {})[name] = value
        return json.dumps(fields if form == "mathopt" else params, indent=2) + "\n"

    @property
    def text(self) -> str:
        """The settings file if it is complete, JSON otherwise."""
        return super().text if self.beside_settings else f"# Found with SCIP {self.scip}.\n{self.settings}"

    @property
    def chosen(self) -> str:
        """The settings as a person would choose them, and what is chosen beside them but for branching and start.

        SCIP's predefined settings are named where these stand for many of its parameters, which `settings` has one by
        one; then come the parameters that differ from them.

        Examples
        --------
        >>> from bife_core.solver.scip.emphases import of_emphases
        >>> without_cuts = of_emphases((("separating", "off"),))
        >>> print(Configuration(params={**without_cuts, "lp/pricing": "d"}).chosen, end="")
        # separating off: 35 parameters
        branching/relpscost/priority = 10000000
        lp/pricing = d
        """
        names, rest = shortest(self.params)
        emphases = "".join(
            f"# {kind} {name}: {counted(len(of_emphases(((kind, name),))), 'parameter')}\n"
            for kind, name in names.items()
        )
        rows = "".join(f"# on demand: {name}\n" for name in self.on_demand)
        rows += "".join(f"# branched on first: {name}\n" for name in self.first)
        named = {"inequalities": self.inequalities, "implied free variables aggregated": self.implied_free}
        further = "".join(f"# {name}: {value}\n" for name, value in named.items() if value)
        return emphases + _written(self._in_charge | rest) + rows + further

    @property
    def shown(self) -> str:
        """What was chosen, the branching method and the start."""
        further = "" if self._in_charge else f"\n# {self.branching.name}\n{self.branching.shown}"
        start = "" if self.start is None else f"\n# start: {self.start.name}\n{self.start.source or ''}"
        return self.chosen + further + start

    @property
    def file_name(self) -> str:
        """Name of a settings file of SCIP, or of a JSON file."""
        return super().file_name if self.beside_settings else FILE_NAME

    def files(self, output: Path) -> dict[Path, str]:
        """Return the text of each file by path, the complete one first: a settings file holds no rule of BiFE."""
        if not self.beside_settings and output.suffix == ".set":
            return {output: self.text}
        complete = {output.with_suffix(".json"): super().text}
        return (
            complete if output in complete else complete | {output: self.settings_of(f"{output.stem}.json")}
        )

    def settings_of(self, complete: str) -> str:
        """Return the settings file; its first line says what it lacks, if anything, and what is `complete`."""
        lacks = " and ".join(self.beside_settings)
        return f"# Without {lacks}, which {complete} has.\n{self.settings}" if lacks else self.text

    @property
    def _in_charge(self) -> dict[str, Parameter]:
        if not isinstance(self.branching, ScipMethod):
            return {}
        return {f"branching/{self.branching.name}/priority": 10_000_000}

    @classmethod
    def of_text(cls, text: str, name: str) -> Configuration:
        """Return the configuration in a settings file's text; a `RuleError` says what SCIP, or a method, does not take.

        The rule of the highest priority branches; two of the same priority are refused, since SCIP documents no order.
        """
        if (lacks := _INCOMPLETE.search(text)) is not None:
            raise RuleError(
                f"{name} has the settings without {lacks[1]}; give {lacks[2]} as the rule, or this one as the solver."
            )
        try:
            params = settings_in(text, name)
            merged = {**usual_parameters(), **params}
            priorities = {name.split("/")[1]: int(merged[name]) for name in filter(is_priority, merged)}
            highest = max(priorities.values())
            first, *others = (rule for rule, priority in priorities.items() if priority == highest)
            if others:
                raise RuleError(f"{name} gives {first} and {others[0]} the same priority; raise that of one.")
            if first not in BUILTIN_METHODS:
                rules = ", ".join(BUILTIN_METHODS)
                raise RuleError(f"{name} has SCIP branch by {first}; a method branches by one of {rules}.")
            rest = {parameter: value for parameter, value in params.items() if not is_priority(parameter)}
            scip = comment[1] if (comment := _FOUND.search(text)) else scip_version()
            return cls(name=name, params=rest, branching=ScipMethod(name=first), scip=scip)
        except ConfigError as error:
            raise RuleError(str(error)) from error
        except ValidationError as error:
            raise RuleError(f"{name} is no method: {describe(error)}") from error

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Set the parameters, rows on demand and order of branching, and attach presolver and branching method.

        A parameter that the model has fixed, or not at SCIP's default, stays; a warning names these. Others say that
        the model has no row of the classes on demand, no variable to branch on first or priorities of its own, that
        its variables stay since it may get rows or columns, or that it was found with another minor version of SCIP.
        """
        if self.scip.rpartition(".")[0] != (present_scip := scip_version()).rpartition(".")[0]:
            other = f"{self.name} was found with SCIP {self.scip}, and this is SCIP {present_scip}: compare it anew."
            warnings.warn(other, stacklevel=4)
        present, usual = model.getParams(), usual_parameters()
        with scip_errors():
            for name, value in self.params.items():
                if present[name] == usual[name]:
                    with suppress(ValueError):  # fixed at SCIP's default
                        model.setParam(name, value)
        after = model.getParams()
        kept = [f"{name} = {after[name]} (not {v})" for name, v in self.params.items() if after[name] != v]
        if kept:  # at the line that calls `bife_core.attach`
            warnings.warn(f"{self.name} leaves what the model has set: {', '.join(kept)}.", stacklevel=4)
        if model.getNVars():
            self._arrange(model, stacklevel=5)
        elif self.on_demand or self.first:  # SCIP's command line reads a problem afterwards
            from bife_core.solver.scip.beforehand import Beforehand

            does = "puts rows on demand and sets what is branched on first"
            Beforehand.include(model, "classes", does, partial(self._arrange, transformed=True), within=True)
        if self.implied_free is not None:
            from bife_core.solver.scip.implied_free import ImpliedFree, keeps_all

            if why := keeps_all(model):
                warnings.warn(f"{self.name} aggregates no implied free variables: {why}.", stacklevel=4)
            else:
                ImpliedFree.include(model, integers=self.implied_free == "all")
        return self.branching.attach(model, guard)

    def _arrange(self, model: pyscipopt.Model, transformed: bool = False, stacklevel: int = 2) -> None:
        """Put rows on demand and set what is branched on first; warnings say of what the model has none."""
        if self.on_demand and not Rows(model, transformed).put_on_demand(self.on_demand):
            no_row = f"{self.name} puts no row on demand: the model has none of {', '.join(self.on_demand)}."
            warnings.warn(no_row, stacklevel=stacklevel)
        count = branch_first(model, self.first, transformed) if self.first else 1
        if count <= 0:
            why = "the model has branching priorities of its own" if count else "the model has none of them"
            left = f"{self.name} does not have {', '.join(self.first)} branched on first: {why}."
            warnings.warn(left, stacklevel=stacklevel)


def with_start(source: str, name: str) -> Configuration:
    """Return SCIP's default settings with a start method in Python, which is called `name`."""
    return Configuration(name=name, start=StartMethod(name=name, source=source))


def is_part(name: str) -> bool:
    """Whether a parameter of SCIP may be part of a configuration."""
    return not (name.startswith(_NEVER) or is_priority(name))


def _written(params: Mapping[str, Parameter]) -> str:
    return "".join(f"{name} = {_in_file(name, value)}\n" for name, value in params.items())


def _in_file(name: str, value: Parameter) -> str:
    """Return a value as settings files have it: text in quotes, unless it is a character whose default is a letter."""
    usual = usual_parameters().get(name)
    if isinstance(usual, str) and not (len(usual) == 1 and usual.isalpha()):
        return f'"{value}"'
    return str(value).upper() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=256)
def _read(text: str) -> dict[str, Parameter]:
    return settings_in(text, "params")

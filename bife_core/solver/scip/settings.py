"""SCIP's settings: its defaults, the paper's, or those of a settings file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from bife_core.base.errors import ConfigError
from bife_core.base.files import can_be_path
from bife_core.base.values import Value, digest_of

if TYPE_CHECKING:
    from pyscipopt import Model

Parameter: TypeAlias = bool | int | float | str
"""A value of one of SCIP's parameters."""

PAPER: Final[dict[str, Parameter]] = {"separating/maxrounds": 0, "presolving/maxrestarts": 0}
"""The paper settings: cuts at the root only, no restarts."""

_EACH_SOLVE: Final = ("randomization/", "timing/clocktype", "limits/time", "display/")
"""Beginnings of parameters that every solve has of its own, or that change nothing in it."""


def of_settings(params: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters that say how SCIP is set up, without those that belong to a single solve."""
    return {name: value for name, value in params.items() if not name.startswith(_EACH_SOLVE)}


@lru_cache(maxsize=1)
def usual_parameters() -> Mapping[str, Parameter]:
    """Return all of SCIP's parameters at their defaults."""
    # A configuration that names no file does without SCIP.
    from pyscipopt import Model

    return MappingProxyType(Model().getParams())


_LEAST_TOLERANCE: Final = 1e-10
_LISTED: Final = 8
"""Parameters that a sentence names."""

HIGHEST_PRIORITY: Final = 2**29 - 1
"""The highest a branching rule can have; SCIP's heuristics give it to the rule of their sub-MIPs."""


def is_priority(name: str) -> bool:
    """Whether a parameter of SCIP says which of its rules branches."""
    return name.startswith("branching/") and name.endswith("/priority")


def foremost(params: Mapping[str, Parameter]) -> str:
    """Return the branching rule that SCIP asks first under all of its parameters."""
    return max(filter(is_priority, params), key=lambda name: params[name]).split("/")[1]


def own_rule(model: Model) -> str | None:
    """Return the branching rule that SCIP asks first if it is a plugin of the model's own."""
    first = foremost(model.getParams())
    return None if f"branching/{first}/priority" in usual_parameters() else first


def put_in_charge(model: Model, *rules: str) -> None:
    """Have SCIP ask branching rules of a model in this order, before all others, and change no priority without need.

    Sub-MIPs copy the priorities of SCIP's rules, so none gets the highest here, which their heuristics give another.
    """
    found = {name: value for name, value in model.getParams().items() if is_priority(name)}
    wanted = [f"branching/{rule}/priority" for rule in rules]
    most = HIGHEST_PRIORITY - 1 - len(rules)
    others = {name: min(value, most) for name, value in found.items() if name not in wanted}
    above = max(others.values())
    for place, name in reversed([*enumerate(wanted)]):
        others[name] = above = min(max(found[name], above + 1), HIGHEST_PRIORITY - place)
    for name, value in others.items():
        if value != found[name]:
            model.setParam(name, value)


class SolverConfig(Value):
    """SCIP's settings; may be given as `default`, as `paper`, or as the path of a `.set` file, which is read at once.

    Examples
    --------
    >>> SolverConfig.model_validate("default")
    SolverConfig(name='default', gap=0.0, params={})
    """

    model_config = ConfigDict(allow_inf_nan=False)

    name: str = Field("default", description="'default', 'paper', or what a file is called.")
    gap: float = Field(
        0.0, ge=0, description="Relative gap at which a solve is done, as SCIP counts it; 0 asks for a proof."
    )
    params: dict[str, Parameter] = Field(
        default_factory=dict, description="Parameters of SCIP that are not at their defaults otherwise."
    )

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if not isinstance(given, str | Path):
            return given
        if str(given) in ("paper", "default"):
            return {"name": str(given)}
        path = Path(given)
        if path.suffix.lower() != ".set" or not can_be_path(path) or not path.is_file():
            raise ConfigError(
                f"A solver is 'default', 'paper' or a SCIP settings file (.set); found {str(path)!r}."
            )
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        return {"name": path.name, "params": settings_in(text, str(path))}

    @property
    def effective(self) -> dict[str, Parameter]:
        """All parameters that are set to other values than SCIP's defaults."""
        gap: dict[str, Parameter] = {"limits/gap": self.gap} if self.gap else {}
        return (PAPER if self.name == "paper" else {}) | self.params | gap

    @property
    def digest(self) -> str:
        """Hash of what is set, whatever it is called; equal settings have equal ones."""
        return digest_of(of_settings(self.effective))[:16]

    @property
    def label(self) -> str:
        """A short name that no other settings have: `default`, `paper`, or a name with a part of the digest."""
        known = next((name for name, digest in _KNOWN.items() if digest == self.digest), None)
        return known or f"{re.sub(r'[^A-Za-z0-9]+', '_', self.name.removesuffix('.set'))}_{self.digest[:6]}"

    @property
    def known_as(self) -> str:
        """What the settings are called in a sentence, after "under"."""
        named = {"default": "SCIP default settings", "paper": "paper settings", "tuned": "tuned settings"}
        if self.label in named:
            return named[self.label]
        words = named.get(self.name, f"the settings of {self.name}")
        if self._listed and self.name in named:
            words += f" with {self._listed}"
        return f"{words} to {self.goal}" if self.gap else words

    @property
    def sentence(self) -> str:
        """What a reader of results must know."""
        about = {"default": "", "paper": ", cuts at the root only and no restarts"}
        details = about.get(
            self.label, f": {self._listed or 'all defaults'}" if self.name not in about else ""
        )
        until = " A solve costs what it took until then." if self.gap else ""
        given = self.params.keys() - of_settings(self.params).keys()
        lost = ", ".join(sorted(name for name in given if not name.startswith("display/")))
        own = f" Each solve had its own {lost}, whatever the settings say." if lost else ""
        return f"Solves ran under {self.known_as}{details}.{own}{until}"

    @property
    def _listed(self) -> str:
        every = [f"{name} = {value}" for name, value in sorted(of_settings(self.params).items())]
        more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
        return ", ".join(every[:_LISTED]) + more

    def with_parameters(self, params: Mapping[str, Parameter]) -> SolverConfig:
        """Return these settings with further parameters of SCIP, which are known as tuned."""
        own = {name: value for name, value in self.effective.items() if name != "limits/gap"}
        return self if not params else SolverConfig(name="tuned", gap=self.gap, params=own | dict(params))

    @property
    def goal(self) -> str:
        """What a solve has to reach."""
        return f"a gap of {100 * self.gap:.4g} %" if self.gap else "a proof"


_KNOWN: Final = {name: SolverConfig(name=name).digest for name in ("default", "paper")}

Seed: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""What SCIP takes as the seed of its randomisation."""

SolverSetting: TypeAlias = Annotated[
    SolverConfig,
    Field(description="SCIP's settings in all stages: 'default', 'paper', or a settings file (.set)."),
]
"""The field `solver` of the configuration."""


_LINE: Final = re.compile(r'[ \t\r]*([^ \t\r#=:]+)[ \t\r]*=[ \t\r]*("[^"]*"|[^ \t\r#]*)')
"""How a line of a settings file begins: a parameter and its value; `fix` and a comment may follow."""

TRUTHS: Final[dict[str, Parameter]] = {"true": True, "1": True, "false": False, "0": False}


def as_given(given: Parameter, present: Parameter) -> bool:
    """Whether the `present` value of a parameter is what was given, which may be the text in a settings file."""
    if isinstance(present, bool):
        return TRUTHS.get(str(given).lower(), given) == present
    if isinstance(given, str) and not isinstance(present, str):
        with suppress(ValueError):
            return float(given) == present or given in (str(present), f"{present:.15g}")  # as SCIP writes it
        return False
    return given in (present, f'"{present}"')


def settings_in(text: str, name: str) -> dict[str, Parameter]:
    """Return what the text of a settings file called `name` sets to other values than SCIP's defaults."""
    from pyscipopt import Model

    from bife_core.solver.scip.libscip import scip_errors

    model, before = Model(), usual_parameters()
    model.hideOutput()
    written: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{name}, line {number}"
        if len(line.encode()) > 1022:
            raise ConfigError(f"{where}: SCIP reads more than 1022 bytes as several lines; shorten this one.")
        if not (found := _LINE.match(line)):
            continue
        parameter, value = found.groups()
        if parameter not in before:  # of which SCIP would only warn
            near = difflib.get_close_matches(parameter, before, n=1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise ConfigError(f"{where}: SCIP has no parameter {parameter}{meant}")
        written[parameter] = (value, where)
    problem = f"SCIP does not take the settings in {name}"
    with NamedTemporaryFile("w", suffix=".set", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        with scip_errors(problem, ConfigError) as messages:
            model.readParams(file.name)
    if messages:  # it raises for a value out of range, and only prints an error else
        raise ConfigError(f"{problem}: {messages[0].strip(' .')}.")
    after = model.getParams()
    for parameter, (value, where) in written.items():
        if not as_given(value, has := after[parameter]):
            raise ConfigError(
                f"{where}: SCIP reads {parameter} = {value} as {has}; write a value that it keeps."
            )
    for each in ("numerics/feastol", "numerics/dualfeastol"):
        if after[each] < _LEAST_TOLERANCE:
            limit = f"the LP solver takes {_LEAST_TOLERANCE:g} at the least, and complains at every LP"
            raise ConfigError(f"{name} sets {each} = {after[each]:g}, but {limit}; set that or more.")
    return {each: value for each, value in after.items() if value != before[each]}

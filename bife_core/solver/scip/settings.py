"""SCIP's settings: its defaults, the paper's, or those of a settings file; and priorities of branching rules."""

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

PAPER: Final[dict[str, Parameter]] = {"separating/maxrounds": 0, "presolving/maxrestarts": 0}
"""The paper settings: cuts at the root only, no restarts."""

_EACH_SOLVE: Final = ("randomization/", "timing/", "limits/time", "display/")
"""Beginnings of parameters that each solve sets itself, or that change no result."""


def of_settings(params: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters without those that each solve sets itself."""
    return {name: value for name, value in params.items() if not name.startswith(_EACH_SOLVE)}


@lru_cache(maxsize=1)
def usual_parameters() -> Mapping[str, Parameter]:
    """Return all of SCIP's parameters at their defaults."""
    from pyscipopt import Model  # not loaded for a configuration that names no file

    return MappingProxyType(Model().getParams())


_LISTED: Final = 8  # how many parameters a sentence names

HIGHEST_PRIORITY: Final = 2**29 - 1
"""The highest priority of a branching rule; SCIP's heuristics give it to the rule of their sub-MIPs."""


def is_priority(name: str) -> bool:
    """Whether a parameter of SCIP is the priority of a branching rule."""
    return name.startswith("branching/") and name.endswith("/priority")


def foremost(params: Mapping[str, Parameter]) -> str:
    """Return the branching rule of the highest priority among all parameters of SCIP."""
    return max(filter(is_priority, params), key=lambda name: params[name]).split("/")[1]


def own_rule(model: Model) -> str | None:
    """Return the branching rule of the highest priority if it is a plugin of the model's own."""
    first = foremost(model.getParams())
    return None if f"branching/{first}/priority" in usual_parameters() else first


def put_in_charge(model: Model, *rules: str) -> None:
    """Give branching rules the highest priorities in this order; change no priority that need not change.

    Sub-MIPs copy these priorities and raise one to `HIGHEST_PRIORITY`, so rules of SCIP stay below it.
    """
    before = {name: value for name, value in model.getParams().items() if is_priority(name)}
    wanted = [f"branching/{rule}/priority" for rule in rules]
    most = HIGHEST_PRIORITY - 1 - len(rules)
    after = {name: min(value, most) for name, value in before.items() if name not in wanted}
    above = max(after.values())
    for position, name in reversed([*enumerate(wanted)]):
        after[name] = above = min(max(before[name], above + 1), HIGHEST_PRIORITY - position)
    for name, value in after.items():
        if value != before[name]:
            model.setParam(name, value)


class SolverConfig(Value):
    """SCIP's settings, given as `default`, `paper`, or the path of a `.set` file, which is read at once."""

    model_config = ConfigDict(allow_inf_nan=False)

    name: str = Field("default", description="'default', 'paper', or what a file is called.")
    gap: float = Field(0.0, ge=0, description="SCIP's relative gap at which a solve is done; 0 is a proof.")
    params: dict[str, Parameter] = Field(default_factory=dict, description="Parameters of SCIP that are set.")

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, config: Any) -> Any:
        if not isinstance(config, str | Path):
            return config
        if str(config) in ("paper", "default"):
            return {"name": str(config)}
        path = Path(config)
        if path.suffix.lower() != ".set" or not can_be_path(path) or not path.is_file():
            expected = "'default', 'paper' or a SCIP settings file (.set)"
            raise ConfigError(f"A solver is {expected}; found {str(path)!r}.")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        return {"name": path.name, "params": settings_in(text, str(path))}

    @property
    def effective(self) -> dict[str, Parameter]:
        """All parameters that are not at SCIP's defaults."""
        gap: dict[str, Parameter] = {"limits/gap": self.gap} if self.gap else {}
        return (PAPER if self.name == "paper" else {}) | self.params | gap

    @property
    def digest(self) -> str:
        """Hash of the parameters, whatever the name."""
        return digest_of(of_settings(self.effective))[:16]

    @property
    def label(self) -> str:
        """A short unique name: `default`, `paper`, or `name` with a part of the digest."""
        for name in ("default", "paper"):
            if SolverConfig.model_construct(name=name).digest == self.digest:
                return name
        return f"{re.sub(r'[^A-Za-z0-9]+', '_', self.name.removesuffix('.set'))}_{self.digest[:6]}"

    @property
    def known_as(self) -> str:
        """Name in a sentence, after "under"."""
        named = {"default": "SCIP default settings", "paper": "paper settings"}
        if self.label in named:
            return named[self.label]
        words = named.get(self.name, f"the settings of {self.name}")
        if self._listed and self.name in named:
            words += f" with {self._listed}"
        return f"{words} to {self.goal}" if self.gap else words

    @property
    def sentence(self) -> str:
        """A sentence for readers of results."""
        about = {"default": "", "paper": ", cuts at the root only and no restarts"}
        listed = "" if self.name in about else f": {self._listed or 'all defaults'}"
        until = " A solve costs what it took until then." if self.gap else ""
        ignored = self.params.keys() - of_settings(self.params).keys()
        names = ", ".join(sorted(name for name in ignored if not name.startswith("display/")))
        replaced = f" Each solve had its own {names}, whatever the settings say." if names else ""
        under = f"{self.known_as}{about.get(self.label, listed)}"
        return f"But for what a method sets, solves ran under {under}.{replaced}{until}"

    @property
    def _listed(self) -> str:
        items = [f"{name} = {value}" for name, value in sorted(of_settings(self.params).items())]
        more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
        return ", ".join(items[:_LISTED]) + more

    @property
    def goal(self) -> str:
        """What a solve has to reach."""
        return f"a gap of {100 * self.gap:.4g} %" if self.gap else "a proof"


Seed: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]

SolverSetting: TypeAlias = Annotated[
    SolverConfig,
    Field(description="SCIP's settings in all stages: 'default', 'paper', or a settings file (.set)."),
]
"""The field `solver` of the configuration."""

_LINE: Final = re.compile(r'[ \t\r]*([^ \t\r#=:]+)[ \t\r]*=[ \t\r]*("[^"]*"|[^ \t\r#]*)')
"""Beginning of a line of a settings file, a parameter and its value; `fix` and a comment may follow."""

TRUTHS: Final[dict[str, Parameter]] = {"true": True, "1": True, "false": False, "0": False}


def as_given(wanted: Parameter, present: Parameter) -> bool:
    """Whether the `present` value of a parameter is the one wanted, which may be the text in a settings file."""
    if isinstance(present, bool):
        return TRUTHS.get(str(wanted).lower(), wanted) == present
    if isinstance(wanted, str) and not isinstance(present, str):
        with suppress(ValueError):
            # SCIP writes numbers in either way.
            return float(wanted) == present or wanted in (str(present), f"{present:.15g}")
        return False
    return wanted in (present, f'"{present}"')


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
        if not (assignment := _LINE.match(line)):
            continue
        parameter, value = assignment.groups()
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
    if messages:  # SCIP raises for a value out of range, and only prints other errors
        raise ConfigError(f"{problem}: {messages[0].strip(' .')}.")
    after = model.getParams()
    for parameter, (value, where) in written.items():
        if not as_given(value, has := after[parameter]):
            raise ConfigError(f"{where}: SCIP reads {parameter} = {value} as {has}; write one that it keeps.")
    for key in ("numerics/feastol", "numerics/dualfeastol"):
        if after[key] < 1e-10:
            raise ConfigError(
                f"{name} sets {key} = {after[key]:g}, but the LP solver takes 1e-10 or more; set that."
            )
    return {parameter: value for parameter, value in after.items() if value != before[parameter]}

"""SCIP's settings in experiments: the paper's, SCIP's defaults, or a settings file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, model_validator

from bife_core.errors import ConfigError
from bife_core.values import Value

Parameter: TypeAlias = bool | int | float | str
"""A value of one of SCIP's parameters."""


class SolverConfig(Value):
    """SCIP's settings; may be given as `paper`, as `default`, or as the path of a `.set` file.

    A file is read when the configuration is made: what it sets is part of the configuration, wherever it goes. A
    `ConfigError` says if it cannot be read, or SCIP does not take it.

    Examples
    --------
    >>> SolverConfig.model_validate("default")
    SolverConfig(name='default', gap=0.0, params={})
    """

    name: str = Field("paper", description="'paper', 'default', or what a file is called.")
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
        return {"name": Path(given).name, "params": read_set_file(Path(given))}

    @property
    def sentence(self) -> str | None:
        """What a reader of results must know; None of the paper settings."""
        sentences = []
        if self.name == "default":
            sentences.append(
                "SCIP ran with its default settings: cuts are separated everywhere, and it may restart."
            )
        elif self.name != "paper":
            listed = ", ".join(f"{name} = {value}" for name, value in sorted(self.params.items()))
            sentences.append(f"SCIP ran with the settings of {self.name}: {listed or 'all defaults'}.")
        if self.gap:
            sentences.append(f"A solve is done at {self.goal}, and costs what it took until then.")
        return " ".join(sentences) or None

    @property
    def goal(self) -> str:
        """What a solve has to reach."""
        return f"a gap of {100 * self.gap:.4g} %" if self.gap else "a proof"


Seed: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""What SCIP takes as the seed of its randomisation."""

SolverSetting: TypeAlias = Annotated[
    SolverConfig, Field(description="How SCIP is set up: 'paper', 'default', or a settings file (.set).")
]
"""The field `solver` of a section of the configuration."""


def read_set_file(path: Path) -> dict[str, Parameter]:
    """Return the parameters a SCIP settings file sets to other values than SCIP's defaults."""
    # A configuration that names no file does without SCIP.
    from pyscipopt import Model

    from bife_core.scip.reading import scip_errors

    if path.suffix.lower() != ".set" or not path.is_file():
        raise ConfigError(f"A solver is 'paper', 'default' or a SCIP settings file (.set); found {path}.")
    model = Model()
    model.hideOutput()
    before = model.getParams()
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        name, equals, _ = line.partition("#")[0].partition("=")
        name = name.strip()
        if equals and name not in before:  # of which SCIP would only warn
            near = difflib.get_close_matches(name, before, n=1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise ConfigError(f"{path}, line {number}: SCIP has no parameter {name}{meant}")
    messages: list[str] = []
    try:
        with scip_errors(messages):
            model.readParams(
                str(path)
            )  # which raises for a value out of range, and only prints an error otherwise
    except Exception as error:  # noqa: BLE001 - PySCIPOpt raises plain exceptions; the cause is what SCIP printed
        messages.append(str(error))
    if messages:
        raise ConfigError(f"SCIP does not take the settings in {path}: {messages[0].strip(' .')}.")
    return {name: value for name, value in model.getParams().items() if value != before[name]}

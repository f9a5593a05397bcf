"""Components: what is searched for; other packages add theirs by entry points in the group `bife.components`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Final

from bife_core.base.plugins import Plugins
from bife_core.language.features import FEATURES, Feature
from bife_core.language.syntax import NOT_PYTHON, functions_in


@dataclass(frozen=True)
class Component:
    """What rules are written for; components of one name are equal.

    A rule defines `function`, whose one `argument` is an array of the `features`, by index. `hook` is
    ``module:function`` that takes a model of PySCIPOpt and a `CompiledRule`, and has SCIP call the rule's `address` or
    `score` with a matrix of n x `n_features`. `baseline` is SCIP's default: the name of a branching rule, or the source
    that a search begins with. `about` tells language models when the function is called and how its scores are used;
    `themes` are ideas for rules without parents, so that a model without memory does not repeat itself. `low_fidelity`
    is what F_LF is measured on, "" if searches go by F_HF alone. `name` and `version` are part of every rule's hash:
    raise the version when the hook or a feature changes.

    What is written need not be a formula of features. Such a component has none and no hook. Its `method`, a
    ``module:function``, takes a source and a name and returns what the solver is given. Its `low` takes a source,
    instances (none: it is only to be checked), RPB's `Reference`, a `SolveContext` and the section `low` of the
    configuration, and returns the `LowScore`: no decisions are recorded. A search begins with the texts `first`, and
    prompts call what is written a `noun`. `part` is the field of a `Configuration` that it takes.
    """

    name: str
    function: str = field(compare=False)
    argument: str = field(compare=False)
    features: tuple[Feature, ...] = field(compare=False, repr=False)
    hook: str = field(compare=False)
    baseline: str = field(default="", compare=False)
    about: str = field(default="", compare=False, repr=False)
    themes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    low_fidelity: str = field(default="", compare=False)
    method: str = field(default="", compare=False)
    low: str = field(default="", compare=False)
    first: tuple[str, ...] = field(default=(), compare=False, repr=False)
    noun: str = field(default="rule", compare=False)
    part: str = field(default="branching", compare=False)
    version: str = field(default="1", compare=False)

    def __post_init__(self) -> None:
        indices = [feature.index for feature in self.features]
        if indices != list(range(len(indices))):
            raise ValueError(
                f"the features of {self.name} must have the indices 0, 1, 2, ... in order, "
                f"not {', '.join(map(str, indices))}"
            )

    @property
    def n_features(self) -> int:
        """Length of the array that its rules read."""
        return len(self.features)

    def attach(self, model: Any, rule: Any) -> None:
        """Have SCIP call a compiled rule while it solves a model."""
        resolve_name(self.hook)(model, rule)


BRANCHING: Final = Component(
    name="branching",
    function="candidate_variable_score",
    argument="variable_features",
    features=FEATURES,
    hook="bife_core.solver.methods.attach:attach",
    baseline="relpscost",
    low_fidelity="recorded strong-branching decisions",
    version="",
)
"""Which variable to branch on: the default component."""

COMPONENTS: Final[Plugins[Component]] = Plugins(
    "component",
    "bife.components",
    {
        "branching": "bife_core.language.components:BRANCHING",
        "start": "bife_core.solver.starts.component:START",
    },
    lambda plugin: isinstance(plugin, Component),
    "a `Component`",
)


def component_of(source: str | ast.Module) -> Component:
    """Return the component whose function a source defines, or branching."""
    try:
        defined = functions_in(source)
    except NOT_PYTHON:
        return BRANCHING
    if BRANCHING.function in defined:
        return BRANCHING
    return next((other for other in COMPONENTS.values() if other.function in defined), BRANCHING)

"""Components: what is evolved, such as branching rules.

Another package adds one by an entry point in the group `bife.components`; its rules are scored by their solves, and are
methods of the kind `component_rule`.
"""

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
    """What is evolved; components of one name are equal.

    Attributes
    ----------
    name : str
        As in `COMPONENTS` and `search.component`.
    function, argument : str
        What a rule must define, and the name of its one argument: an array of the features.
    features : tuple of Feature
        What the array holds, by index. Formulas are drawn by their roles.
    hook : str
        ``module:function`` that takes a model of PySCIPOpt and a `CompiledRule`, and has SCIP call the rule's `address`
        or `score` with a matrix of n x `n_features`.
    baseline : str
        SCIP's default: a branching rule's name, or a rule's source, which a search begins with.
    about : str
        For language models: when the function is called, and how its scores are used.
    themes : tuple of str
        Ideas for rules without parents, so that a model without memory does not repeat itself.
    low_fidelity : str
        What F_LF is measured on; "" if searches go by F_HF alone.
    version : str
        Part of every rule's hash, as is the name: raise it when the hook or a feature changes.
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
    hook="bife_core.solver.methods.using:attach",
    baseline="relpscost",
    low_fidelity="recorded strong-branching decisions",
    version="",
)
"""Which variable to branch on: the default component."""

COMPONENTS: Final[Plugins[Component]] = Plugins(
    "component",
    "bife.components",
    {"branching": "bife_core.language.components:BRANCHING"},
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

"""A component is what is evolved, as a value: the function a model writes, what it reads, and where SCIP calls it.

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
    """What is evolved; one of the same name is the same.

    Attributes
    ----------
    name : str
        As in `COMPONENTS` and `search.component`.
    function, argument : str
        What a rule must define, and what models are told to call its one argument: an array of the features.
    features : tuple of Feature
        What the array holds, by index. Roles are what a formula is drawn from.
    hook : str
        ``module:function`` of a model of PySCIPOpt and a `CompiledRule`, which has SCIP call the rule, by its `address`
        or its `score`, for a matrix of n x `n_features`.
    baseline : str
        SCIP's own way: the name of a branching rule, or the source of a rule, which a search begins with.
    about : str
        For models: what the function is called for, and what becomes of its scores.
    themes : tuple of str
        Ideas for rules without parents: a model without memory answers the same prompt with the same rule.
    low_fidelity : str
        What F_LF is measured on; "" for nothing, and then searches go by F_HF alone.
    version : str
        Part of every rule's hash, as is the name: raise it when the hook or a feature becomes another.
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
            given = ", ".join(map(str, indices))
            raise ValueError(
                f"the features of {self.name} must have the indices 0, 1, 2, ... in order, not {given}"
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
"""Which variable to branch on: the component of all that names no other."""

COMPONENTS: Final[Plugins[Component]] = Plugins(
    "component",
    "bife.components",
    {"branching": "bife_core.language.components:BRANCHING"},
    lambda found: isinstance(found, Component),
    "a `Component`",
)


def component_of(source: str | ast.Module) -> Component:
    """Return the component whose function a source defines; branching where it defines none."""
    try:
        defined = functions_in(source)
    except NOT_PYTHON:
        return BRANCHING
    if BRANCHING.function in defined:
        return BRANCHING
    return next((one for one in COMPONENTS.values() if one.function in defined), BRANCHING)

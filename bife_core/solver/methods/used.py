"""`used`: have every PySCIPOpt model attach a method when it is optimised, whichever layer made it."""

from __future__ import annotations

import ctypes
import gc
import threading
import warnings
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

from bife_core.base.arguments import checked
from bife_core.base.errors import SolverError
from bife_core.solver.methods.attach import attach
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import AnyReference, load_method, warn_of_others, with_budget
from bife_core.solver.scip.branching import BranchingStats, Budget, Guard
from bife_core.solver.scip.libscip import Model
from bife_core.solver.scip.solve import ATTACHING


@dataclass
class Use:
    """The solves of one model so far; `without` says why nothing was attached to it, or is empty."""

    model: str
    stats: BranchingStats = field(default_factory=BranchingStats)
    solves: int = 0
    nodes: int = 0
    status: str = ""
    without: str = ""


class Uses:
    """The context of `used`, and what became of the models that were optimised in it: `models` has a `Use` of each."""

    def __init__(self, rule: AnyReference, method: Method, guard: bool | Guard) -> None:
        self.name, self._rule, self._method, self._guard = method.name, rule, method, guard
        self.models, self._by_model, self.open = list[Use](), WeakKeyDictionary[Any, Use](), False

    def __enter__(self) -> Self:
        self._outer = ATTACHING.get()
        _patch(+1)
        ATTACHING.set((*self._outer, self))
        self.open = True
        return self

    def __exit__(self, *_error: object) -> None:
        self.open = False
        ATTACHING.set(self._outer)
        _patch(-1)

    def __str__(self) -> str:
        fallbacks = sum(use.stats.fallbacks for use in self.models)
        counts = f"{len(self.models)} models, {self.solves} solves, {self.nodes} nodes, {fallbacks} fallbacks"
        without = [f"{use.model} without it: {use.without}" for use in self.models if use.without]
        return "\n".join([f"{self.name}: {counts}", *without])

    @property
    def solves(self) -> int:
        """How often models were optimised."""
        return sum(use.solves for use in self.models)

    @property
    def nodes(self) -> int:
        """Nodes of all solves."""
        return sum(use.nodes for use in self.models)

    def run(self, entry: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
        """Optimise a model by one of its methods, after attaching to it if it is new here."""
        if (use := self._by_model.get(model)) is None:
            use = Use(model.getProbName())
            if not self.models:
                warn_of_others(self._rule, model.getParams, model)
            before = _attached.get(model)  # in an earlier context
            try:
                if before is None or before[0] != self._method.identity:
                    _attached[model] = self._method.identity, attach(model, self._method, self._guard)
                use.stats = _attached[model][1]
            except SolverError as error:  # it has a rule, or is solved already
                use.without = str(error)
                warnings.warn(f"{use.model} is solved without {self.name}. {error}", stacklevel=3)
            self._by_model[model] = use
            self.models.append(use)
        nodes = model.getNTotalNodes()
        result = entry(model, *args, **kwargs)
        use.solves, use.status = use.solves + (entry.__name__ != "presolve"), model.getStatus()
        use.nodes += model.getNTotalNodes() - nodes
        return result


@checked
def used(rule: AnyReference, guard: bool | Guard = False, budget: Budget | float | None = None) -> Uses:
    """Return a context in which every PySCIPOpt model attaches `rule` when it is optimised, whichever layer made it.

    It holds for this thread and for threads that it starts within the context; of nested contexts the innermost
    counts. A model attaches once and keeps the rule. Parameters and a rule that it has already stay, with a warning.
    Functions of `bife_core` that solve are not concerned.

    Parameters
    ----------
    rule, guard, budget
        As `attach` takes them; a reference is loaded once.
    """
    method = load_method(rule)
    return Uses(rule, method if budget is None else with_budget(method, budget), guard)


_patching: Final = threading.Lock()
_start: Final = threading.Thread.start
_entries: Final = {n: vars(Model)[n] for n in ("optimize", "optimizeNogil", "solveConcurrent", "presolve")}
_attached: Final = WeakKeyDictionary[Any, tuple[str, BranchingStats]]()
_contexts = 0


def _patch(change: int) -> None:
    """Count the open contexts, and let models and threads know of them while there are any."""
    global _contexts
    with _patching:
        _contexts += change
        # PySCIPOpt's class is immutable from Python, yet another one in place of its name would miss the models that
        # exist, subclasses, and modules that have imported the name.
        attributes = gc.get_referents(vars(Model))[0]
        for name, entry in _entries.items():
            attributes[name] = _attaching(entry) if _contexts else entry
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(Model))
        threading.Thread.start = _start_within if _contexts else _start  # type: ignore[assignment, method-assign]


def _attaching(entry: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(entry)
    def attaching(model: Any, *args: Any, **kwargs: Any) -> Any:
        uses = next((uses for uses in reversed(ATTACHING.get()) if uses.open), None)
        return entry(model, *args, **kwargs) if uses is None else uses.run(entry, model, *args, **kwargs)

    return attaching


def _start_within(thread: threading.Thread) -> None:
    """Start a thread in the contexts of this one."""
    (context := Context()).run(ATTACHING.set, ATTACHING.get())
    thread.run = partial(context.run, thread.run)  # type: ignore[method-assign]
    _start(thread)

"""Put a branching rule in charge of any PySCIPOpt model."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.errors import SolverError
from bife_core.scip.compiled import callback, layout
from bife_core.scip.compiled.needs import mask_of
from bife_core.scip.guard import Guard, as_guard
from bife_core.scip.libscip import check, library, scip_address
from bife_core.scip.python_branching import PythonBranchrule, Scoring

PLUGIN_NAME = "bife"
_PRIORITY = 10_000_000
"""Above every branching rule SCIP brings; those run where the rule gives no answer."""


@dataclass(frozen=True, eq=False)
class BranchingStats:
    """Counters of an attached rule; they go on counting while the model is being solved.

    Read them at any time. Seconds are CPU seconds of the solving thread.
    """

    _state: npt.NDArray[np.int64]

    def _word(self, slot: int) -> int:
        return int(self._state[slot])

    @property
    def calls(self) -> int:
        """Branchings the rule was asked for."""
        return self._word(layout.CALLS)

    @property
    def candidates(self) -> int:
        """Candidates scored over all calls."""
        return self._word(layout.CANDIDATES)

    @property
    def feature_s(self) -> float:
        """Seconds spent in extracting features."""
        return self._word(layout.FEATURE_NS) * 1e-9

    @property
    def rule_s(self) -> float:
        """Seconds spent in the rule itself."""
        return self._word(layout.RULE_NS) * 1e-9

    @property
    def callback_s(self) -> float:
        """Seconds spent in the whole callback, features and rule included."""
        return self._word(layout.CALLBACK_NS) * 1e-9

    @property
    def undecided(self) -> int:
        """Branchings handed to SCIP's next rule because no score was usable.

        Usable is a number above minus infinity; under a guard, a finite one.
        """
        return self._word(layout.UNDECIDED)

    @property
    def rule_errors(self) -> int:
        """Branchings handed to SCIP's next rule because the rule raised."""
        return self._word(layout.RULE_ERRORS)

    @property
    def overtime(self) -> int:
        """Branchings handed to RPB, the rule not being asked, because it had used up the guard's share of time."""
        return self._word(layout.OVERTIME)

    @property
    def featureless(self) -> int:
        """Branchings handed to SCIP's next rule because the system had no memory for their features.

        That is no fault of the rule, which was not asked.
        """
        return self._word(layout.FEATURELESS)

    @property
    def fallbacks(self) -> int:
        """All branchings on LP solutions that the rule did not decide."""
        return self.undecided + self.rule_errors + self.overtime + self.featureless


def attach_scorer(model: pyscipopt.Model, rule: Scoring, guard: bool | Guard = False) -> BranchingStats:
    """Let a scorer choose the branching variable; `bife_core.attach` describes it, and takes references too.

    Raises
    ------
    SolverError
        If the model already has a rule or is being solved, or SCIP refuses the plugin.
    """
    address = rule.address
    if model.getStage() > pyscipopt.SCIP_STAGE.PROBLEM:
        raise SolverError(
            "This model was solved or is being solved; attach before optimize, or after freeTransform()."
        )
    handle = library().handle
    scip = ctypes.c_void_p(scip_address(model))
    if handle.SCIPfindBranchrule(scip, PLUGIN_NAME.encode()):
        raise SolverError("This model already has a BiFE rule attached; attach another one to a fresh Model.")
    state = layout.new_state()
    stats = BranchingStats(state)
    limits = as_guard(guard)
    if limits is not None:
        layout.set_guard(state, limits.max_share, limits.grace_s)
        model.setParam("branching/relpscost/priority", _PRIORITY - 1)
    if not address:
        PythonBranchrule(rule, state, limits).include(model, PLUGIN_NAME, rule.name, _PRIORITY)
        return stats
    state[layout.SCORER] = address
    state[layout.MASK] = mask_of(rule.features)
    plugin = ctypes.c_void_p()
    check(
        handle.SCIPincludeBranchruleBasic(
            scip,
            ctypes.byref(plugin),
            PLUGIN_NAME.encode(),
            rule.name.encode(),
            ctypes.c_int(_PRIORITY),
            ctypes.c_int(-1),
            ctypes.c_double(1.0),
            ctypes.c_void_p(state.ctypes.data),
        ),
        "include the branching rule",
    )
    check(
        handle.SCIPsetBranchruleExecLp(scip, plugin, ctypes.c_void_p(callback.branch_on_lp.address)),
        "set the branching callback",
    )
    check(
        handle.SCIPsetBranchruleInitsol(scip, plugin, ctypes.c_void_p(callback.begin_solve.address)),
        "set the callback that begins a solve",
    )
    # SCIP holds bare addresses: the rule's machine code and the state must live as long as the model does.
    weakref.finalize(model, _release, state, rule)
    return stats


def _release(state: npt.NDArray[np.int64], rule: Scoring) -> None:
    layout.free_state(state)

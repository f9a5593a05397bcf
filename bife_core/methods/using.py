"""`attach` and `solve`: branch by whatever a reference names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyscipopt
from pydantic import ValidationError

from bife_core.errors import ConfigError, InstanceError, SolverError
from bife_core.methods.loading import AnyReference, load_method
from bife_core.rules import CompiledRule
from bife_core.scip.branching import BranchingStats, attach_scorer
from bife_core.scip.compiled import layout
from bife_core.scip.guard import Guard
from bife_core.scip.python_branching import Scoring
from bife_core.scip.solving import Attachable, SolveResult, SolveSettings, solve_instance
from bife_core.values import describe


def attach(
    model: pyscipopt.Model, rule: AnyReference | Scoring | Attachable, guard: bool | Guard = False
) -> BranchingStats:
    """Let `rule` choose the branching variable whenever an LP solution is branched on.

    Where SCIP branches on something else (nodes without an LP, nonlinear and special ordered set constraints) the
    rule is not asked, and where it gives no usable score SCIP's next branching rule takes over. Of candidates with
    branching priorities set by the user, only those of the highest are scored. `docs/troubleshooting.md` goes
    through every case.

    Parameters
    ----------
    model : pyscipopt.Model
        Any model, before `optimize`. One rule may be attached to it.
    rule : str, Path, CompiledRule, Method or function
        What `load_method` takes: a file, a name, ``models:/NAME@ALIAS``, a compiled rule, a scorer, ...
    guard : bool or Guard
        Whether RPB takes over where the rule gives no finite score or takes more than a share of the solving time;
        `Guard` sets the share. With it, RPB (relpscost) gets the highest priority after the rule.

    Returns
    -------
    BranchingStats
        Live counters; those of a branching rule of SCIP stay 0.

    Raises
    ------
    SolverError
        If the model already has a rule or is being solved, or SCIP refuses the plugin.
    RuleError
        If a reference cannot be loaded, or what is given is no rule.

    Examples
    --------
    >>> import pyscipopt, bife_core
    >>> model = pyscipopt.Model()
    >>> stats = bife_core.attach(model, "pseudocost_product")
    """
    if not isinstance(model, pyscipopt.Model):
        raise SolverError(f"attach takes a pyscipopt.Model, not {type(model).__name__}; solve takes a file.")
    if hasattr(rule, "address"):  # a compiled rule, or any other scorer
        return attach_scorer(model, cast("Scoring", rule), guard)
    method = cast("Attachable", rule) if hasattr(rule, "attach") else load_method(cast("AnyReference", rule))
    return method.attach(model, guard) or BranchingStats(layout.new_state())


def solve(
    path: str | Path,
    method: AnyReference | Attachable = "relpscost",
    *,
    settings: SolveSettings | None = None,
    show_log: bool = False,
    **overrides: Any,
) -> SolveResult:
    """Solve an instance with the given method.

    Parameters
    ----------
    path : str or Path
        A .mps, .lp or .cip file, gzipped or not.
    method : str, Path, CompiledRule, Method or function
        What `load_method` takes, such as ``"relpscost"``, a reference rule or a file.
    settings : SolveSettings, optional
        The paper's settings without a time limit by default.
    show_log : bool
        Whether SCIP prints its log.
    **overrides
        Single fields of `SolveSettings`, such as ``time_limit_s=60`` or ``guard=True``.

    Raises
    ------
    ConfigError
        If there is no such field, or a value does not fit.
    InstanceError
        If the instance cannot be read.
    RuleError
        If the rule cannot be loaded.
    SolverError
        If SCIP refuses a parameter or fails while solving.

    Examples
    --------
    >>> result = solve("model.mps.gz", "pseudocost_product", time_limit_s=60)  # doctest: +SKIP
    >>> result.status, result.nodes  # doctest: +SKIP
    ('optimal', 87)
    """
    if not isinstance(path, str | Path):
        raise InstanceError(
            f"solve takes the path of an instance file (.mps, .lp, .cip), not {type(path).__name__}; attach puts a "
            "rule into a model."
        )
    try:
        settings = SolveSettings(**{**(settings or SolveSettings()).model_dump(), **overrides})
    except ValidationError as error:
        raise ConfigError(describe(error)) from error
    if not isinstance(method, CompiledRule) and not hasattr(method, "attach"):
        method = load_method(cast("AnyReference", method))
    return solve_instance(Path(path), cast("Attachable", method), settings, show_log=show_log)

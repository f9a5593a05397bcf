"""`attach` and `solve`: branch by the method that a reference names."""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import pyscipopt

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError, SolverError
from bife_core.base.files import check_outputs
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import AnyReference, load_method, warn_of_others, with_budget
from bife_core.solver.scip.beforehand import Beforehand
from bife_core.solver.scip.branching import PLUGIN_NAME, BranchingStats, Budget, Guard, check_free
from bife_core.solver.scip.cost import relative_gap
from bife_core.solver.scip.exactness import violation_of
from bife_core.solver.scip.libscip import Model, lp_iterations, presolvers, total
from bife_core.solver.scip.reader import model_format, read_model
from bife_core.solver.scip.settings import foremost, own_rule
from bife_core.solver.scip.solutions import best_of, check_names, solution_of, write_solution
from bife_core.solver.scip.solve import (
    PROVEN,
    RootClock,
    SolveResult,
    SolveSettings,
    TreeClocks,
    apply,
    optimize,
    versions,
)
from bife_core.solver.starts.method import SHARE, Started, StartMethod, give_starts

_PRESOLVERS: Final = f"{PLUGIN_NAME}_"
"""How the names of BiFE's presolvers begin, which SCIP removes from no model."""


@checked
def attach(
    model: Model, rule: AnyReference, guard: bool | Guard = False, budget: Budget | float | None = None
) -> BranchingStats:
    """Let `rule` choose the branching variable whenever an LP solution is branched on.

    SCIP's next branching rule takes over where `rule` gives no usable score. `docs/how-to/troubleshooting.md` says
    where a rule is not asked, as in copies of the model, which ``solveConcurrent`` solves.

    Parameters
    ----------
    model : pyscipopt.Model
        A model before `optimize`. It takes one rule; of SCIP's own rules the last one branches.
    rule : str, Path, CompiledRule, Method or function
        What `load_method` takes. A warning says if ``models:/...`` was measured under other settings, or on models of
        other sizes.
    guard : bool or Guard
        Whether RPB takes over where no score is finite or the rule takes more than a share of the solving time.
    budget : Budget or float, optional
        Share of all LP iterations that RPB's strong branching may take before the rule branches; by default the
        reference's, if it has one.

    Returns
    -------
    BranchingStats
        Live counters; those of a branching rule of SCIP stay 0.

    Raises
    ------
    SolverError, RuleError
        If the model has a rule, or a configuration with more than settings, or is being solved, or SCIP refuses the
        plugin; if the reference cannot be loaded.
    """
    method = load_method(rule)
    check_free(model)
    if any(name.startswith(_PRESOLVERS) for name in presolvers(model)):
        raise SolverError(
            "This model already has a configuration of BiFE; attach another one to a fresh Model."
        )
    if budget is not None:
        method = with_budget(method, budget)
    warn_of_others(rule, model.getParams, model)
    if (replaced := own_rule(model)) is not None:
        warnings.warn(
            f"{method.name} branches in place of the model's own rule {replaced}; if a pricer relies on that, it is "
            "wrong.",
            stacklevel=3,
        )
    stats = method.attach(model, guard) or BranchingStats()
    give(method, model, _warn_of_failure)
    return stats


@checked
def solve(
    path: str | Path,
    method: AnyReference = "relpscost",
    *,
    settings: SolveSettings | None = None,
    show_log: bool = False,
    solution: str | Path | None = None,
    timed: bool = False,
    **overrides: Any,
) -> SolveResult:
    """Solve an instance with the given method.

    Parameters
    ----------
    path : str or Path
        A .mps, .lp, .nl or other file that SCIP reads, gzipped or not.
    method : str, Path, CompiledRule, Method or function
        What `load_method` takes, such as ``"relpscost"``, a reference rule or a file.
    settings : SolveSettings, optional
        SCIP default settings without a time limit by default.
    show_log : bool
        Whether SCIP prints its log.
    solution : str or Path, optional
        Where to write the best solution, as SCIP does (.sol); a file there is removed if there is none.
    timed : bool
        Whether the parts of the solve are timed, which takes longer; else the seconds of parts are None.
    **overrides
        Fields of `SolveSettings`, such as ``time_limit_s=60`` or ``guard=True``.

    Raises
    ------
    ConfigError, InstanceError, RuleError, OSError
        Before the solve: for a field or value that does not fit, an instance that cannot be read, variables whose
        names are not unique, a method that cannot be loaded, or a solution that cannot be written, or over one of them.
    SolverError
        If SCIP refuses a parameter or fails while solving.

    Examples
    --------
    >>> result = solve("model.mps.gz", "pseudocost_product", time_limit_s=60)  # doctest: +SKIP
    >>> result.status, result.nodes  # doctest: +SKIP
    ('optimal', 87)
    """
    settings = settings or SolveSettings.model_construct()  # pydantic's validators take 30 ms to load
    if overrides:
        settings = SolveSettings.checked(dict(settings) | overrides)
    path, loaded = Path(path), load_method(method)
    model = read_model(path)
    if solution is not None:  # not only after a long solve
        if model_format(Path(solution)) is not None:
            raise ConfigError(f"{solution} is called as an instance is; call the solution .sol.")
        inputs = (file for file in (path, method, overrides.get("solver")) if isinstance(file, str | Path))
        check_outputs([Path(solution)], inputs)
        check_names(variable.name for variable in model.getVars())
    model.setParams({"timing/statistictiming": timed} | ({"timing/clocktype": 1} if timed else {}))
    apply(settings, model)
    warn_of_others(method, model.getParams, model)
    model.hideOutput(not show_log)
    limited = settings.time_limit_s is not None
    with (RootClock if timed else TreeClocks).over(model) if timed or limited else nullcontext() as clock:
        result = solve_model(
            model, loaded, settings, path.name, clock if isinstance(clock, RootClock) else None
        )
        if solution is not None:
            write_solution(Path(solution), solution_of(model), result.primal_bound)
        return result


def solve_model(
    model: pyscipopt.Model,
    method: Method | None,
    settings: SolveSettings,
    name: str,
    clock: RootClock | None = None,
) -> SolveResult:
    """Solve a model that has the `settings`; without a method it branches as it is set up.

    With a `clock`, which it has too, the parts of the solve are timed.
    """
    stats = None if method is None else method.attach(model, settings.guard or False)
    received = list[Started]()
    give(method, model, received.append)
    before_s, before_wall_s = sum(each.cpu_s for each in received), sum(each.wall_s for each in received)
    if before_s and settings.time_limit_s is not None:
        model.setParam("limits/time", max(settings.time_limit_s - before_s, 0.0))
    label = foremost(model.getParams()) if method is None else method.name
    cpu, wall = time.thread_time(), time.perf_counter()
    optimize(model, f"solving {name} under {label}")
    cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall

    status, nodes = model.getStatus(), model.getNTotalNodes()
    iterations, strong = lp_iterations(model)
    # Branching saves two nodes by each cutoff and each tightened domain (Gamrath and Schubert).
    saving = ("SCIPbranchruleGetNCutoffs", "SCIPbranchruleGetNDomredsFound")
    saved = 2 * int(sum(total(model, counter, ctypes.c_longlong) for counter in saving))
    best = best_of(model)
    primal = None if best is None else float(model.getPrimalbound())
    bounds = model.getDualbound(), model.getDualboundRoot()
    dual, root = (None if model.isInfinity(abs(bound)) else float(bound) for bound in bounds)
    return SolveResult.model_construct(
        instance=name,
        method=label,
        rule_sha=None if stats is None or method is None else method.identity,
        seed=settings.seed,
        status=status,
        nodes=nodes,
        lp_iterations=iterations,
        strong_branching_iterations=strong,
        cpu_s=cpu + before_s,
        wall_s=wall + before_wall_s,
        start_s=sum(each.cpu_s for each in received),  # inequalities are given within the solve
        start=" ".join(each.sentence for each in received),
        gap=0.0 if status in PROVEN else relative_gap(primal, dual),
        primal_bound=primal,
        dual_bound=dual,
        root_bound=root,
        maximise=model.getObjectiveSense() == "maximize",
        incumbents=None if clock is None else tuple((before_s + at_s, of) for at_s, of in clock.incumbents),
        violation=None if best is None else violation_of(model, best),
        primal_dual_integral=model.getPrimalDualIntegral() + 100.0 * before_s,
        fair_nodes=nodes + saved,
        **({} if stats is None else stats.counts()),
        **(
            {}
            if clock is None
            else _parts(model, clock, cpu / wall, 0.0 if stats is None else stats.callback_s)
        ),
        versions=versions(),
    )


def start_of(method: Method | None) -> StartMethod | None:
    """Return the start method of a method, if it has one."""
    return method.start if isinstance(method, Configuration) else None


def give(method: Method | None, model: pyscipopt.Model, report: Callable[[Started], object]) -> None:
    """Give a model the starts of a method, which may take a share of its time limit, and have it get its inequalities.

    A model without variables, such as that of SCIP's command line, gets the starts when it solves; inequalities each
    model does. `report` gets what became of them.
    """
    if not isinstance(method, Configuration):
        return
    if (start := method.start) is not None:

        def give_start(to: pyscipopt.Model) -> None:
            report(give_starts(to, start, SHARE * float(to.getParam("limits/time"))))

        if model.getNVars():
            give_start(model)
        else:
            Beforehand.include(model, "start", "gives starts", give_start)
    if (kind := method.inequalities) is not None:
        from bife_core.solver.inequalities.giving import give_inequalities

        does = "gives inequalities, each proven"
        Beforehand.include(model, "inequalities", does, lambda to: report(give_inequalities(to, kind)))


def _warn_of_failure(started: Started) -> None:
    if started.failed:
        warnings.warn(started.sentence, stacklevel=3)


def _parts(model: pyscipopt.Model, clock: RootClock, busy: float, callback_s: float) -> dict[str, Any]:
    """Return what the parts of a solve took, by the fields of `SolveResult`; the thread was `busy` for that share."""

    def seconds(*counters: str) -> float:
        return busy * sum(total(model, counter, ctypes.c_double, besides=PLUGIN_NAME) for counter in counters)

    return {
        "root_s": clock.root_s,
        "branching_s": seconds("SCIPbranchruleGetTime") + callback_s,
        "presolving_s": model.getPresolvingTime(),
        "separation_s": seconds("SCIPsepaGetTime", "SCIPconshdlrGetSepaTime"),
        "heuristics_s": seconds("SCIPheurGetTime"),
        "propagation_s": seconds("SCIPpropGetTime", "SCIPconshdlrGetPropTime"),
    }

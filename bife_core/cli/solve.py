"""`bife solve`: one instance, a rule for branching, and perhaps another method to compare with."""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from typer import Argument, Option

from bife_core.cli.backend import backend
from bife_core.cli.consoles import full_name, number, say
from bife_core.cli.options import assignment
from bife_core.cli.outcome import WITHOUT_OPTIMUM, CommandEnd, ExitCode

if TYPE_CHECKING:
    from bife_core.solver.methods.base import Method
    from bife_core.solver.scip.solve import SolveResult

_PARAM: Final = "A SCIP parameter, such as limits/gap=0.01; may be repeated."
SetParam: TypeAlias = Annotated[list[str] | None, Option(metavar="NAME=VALUE", help=_PARAM)]

AUTO: Final = "auto"
"""Leaves the choice of a rule to the registry."""

_RULE: Final = (
    "What branches: a Python file, a reference rule (`bife rules list`), a JSON file of a scorer or of a "
    "configuration, a settings file (.set), models:/NAME@ALIAS, a built-in of SCIP, or auto: the champion made "
    "for instances like this one under the same settings of SCIP, else RPB, SCIP's default. With "
    "RULE,budget=SHARE RPB branches until its strong branching has taken that share of all LP iterations; "
    "with ,once after that it never returns."
)
_VERSUS: Final = "Solve again with this method and compare, such as relpscost (RPB)."
_LIMIT: Final = "CPU seconds per solve, on SCIP's clock."
_SOLUTION: Final = "Where to write the best solution, as SCIP does (.sol)."
_SOLVER: Final = (
    "SCIP's settings: its defaults, the paper's (cuts at the root, no restarts), or those of a file."
)
_RECORD: Final = "Keep the solves for the deployment `watch`, which compares the champion with RPB by them."


def solve(
    instance: Annotated[
        Path, Argument(metavar="FILE", help="A .mps, .lp, .nl or other file that SCIP reads, or .gz.")
    ],
    rule: Annotated[str, Option(metavar="REF", help=_RULE)] = AUTO,
    versus: Annotated[str | None, Option(metavar="REF", help=_VERSUS)] = None,
    time_limit: Annotated[float | None, Option(metavar="S", show_default="no limit", help=_LIMIT)] = None,
    solution: Annotated[Path | None, Option(metavar="FILE", show_default="nowhere", help=_SOLUTION)] = None,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of SCIP's randomisation.")] = 0,
    solver: Annotated[str, Option(metavar="default|paper|FILE.set", help=_SOLVER)] = "default",
    record: Annotated[bool, Option("--record", help=_RECORD)] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Do not print SCIP's log.")] = False,
    set_param: SetParam = None,
) -> None:
    """Solve an instance with a rule for branching; prints SCIP's log, then a summary."""
    from bife_core.base.files import check_outputs
    from bife_core.solver.methods.attach import solve as solve_with
    from bife_core.solver.methods.base import BUILTIN_METHODS
    from bife_core.solver.methods.references import load_method
    from bife_core.solver.scip.reader import read_model
    from bife_core.solver.scip.solve import SolveSettings

    params = dict(map(assignment, set_param or ()))
    chosen = {"time_limit_s": time_limit, "seed": seed, "solver": solver, "guard": True, "params": params}
    settings, registry = SolveSettings.checked(chosen), backend().registry
    if solution is not None:
        check_outputs([solution], [instance, rule, versus, solver])
    if rule == AUTO:
        rule, reason = registry().rule_for(read_model(instance), settings.under)
        say(f"{rule} branches. {reason}")
    methods = [load_method(reference) for reference in (rule, versus) if reference is not None]
    if versus is not None and methods[0].identity == methods[1].identity:
        say(f"{full_name(methods[1].name)} is what it would be compared with: it is solved once.")
        methods, versus = methods[:1], None
    for reference in (rule, versus):
        if reference is not None and reference.startswith("models:"):
            from bife_core.registry.choosing import other_settings

            version = registry().registered(reference)
            if differing := other_settings(version, settings.under, reference):
                say(f"note: {differing}.")
    results: list[SolveResult] = []
    try:
        for method in methods:
            if not results or results[0].status != "userinterrupt":
                sys.stdout.flush()  # SCIP writes past Python's buffer
                to, shown = (None, False) if results else (solution, not quiet)
                results.append(solve_with(instance, method, settings=settings, show_log=shown, solution=to))
    finally:  # whatever becomes of the second solve, the first is done
        if results:
            say()
            _show(methods, results)
    if solution is not None and results[0].primal_bound is None:
        say(f"note: {solution} is not written, for no best solution was found.")
    if record and results[-1].status != "userinterrupt":
        from bife_core.run.stages.runtime import Runtime
        from bife_core.run.stages.watch import ChampionWatch

        if rule in BUILTIN_METHODS:
            say("note: Nothing is recorded, for no rule branched.")
        elif not ChampionWatch(methods[0], settings.under, Runtime()).record(instance, results):
            say("note: Nothing is recorded, for the instance has served before.")
    conclude(instance.name, results)


def _bounds(result: SolveResult) -> str:
    """Say how far an unfinished solve got."""
    return f"best objective {number(result.primal_bound, 10)}, dual bound {number(result.dual_bound, 10)}"


def _show(methods: list[Method], results: list[SolveResult]) -> None:
    """Print the solves, one a column, and the ratio of the first to the second where there is one."""
    from bife_core.solver.scip.cost import TICK_S

    rows = {
        "status": [result.status for result in results],
        "objective": [number(result.primal_bound, 10) for result in results],
        "dual bound": [number(result.dual_bound, 10) for result in results],
        "nodes": [str(result.nodes) for result in results],
        "LP iterations": [str(result.lp_iterations) for result in results],
        "CPU s": [f"{result.cpu_s:.2f}" for result in results],
    }
    of_rules = {"branchings": "{0.calls}", "fallbacks": "{0.fallbacks}", "in rule, s": "{0.callback_s:.4f}"}
    if any(getattr(method, "budget", None) is not None for method in methods):
        of_rules["within budget"] = "{0.within_budget}"
    for name, text in of_rules.items():
        rows[name] = [text.format(result) if result.rule_sha else "-" for result in results]
    names = ["", *(full_name(result.method) for result in results)]
    if len(results) == 2:
        names.append("ratio")
        for label, name in (("nodes", "nodes"), ("LP iterations", "lp_iterations"), ("CPU s", "cpu_s")):
            first, second = (getattr(result, name) for result in results)
            short = name == "cpu_s" and max(first, second) <= TICK_S
            rows[label].append("-" if short or not second else f"{first / second:.3f}")
    table = [names, *([label, *cells] for label, cells in rows.items())]
    widths = [max(map(len, column)) for column in zip_longest(*table, fillvalue="")]
    for label, *cells in table:  # rich would take as long to import as a tenth of all this
        right = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=False))
        say("  ".join((label.ljust(widths[0]), *right)).rstrip())


def conclude(name: str, results: list[SolveResult]) -> None:
    """End the command as the solves ended.

    It is a `CommandEnd` if methods proved different things, or the first neither proved an optimum nor reached the gap.
    """
    from bife_core.solver.scip.solve import cautions, disagree

    first, last = results[0], results[-1]
    for sentence in (*(result.start for result in results if result.start), *cautions(results)):
        say(f"note: {sentence}")
    if last.status == "userinterrupt":
        sentence = f"Interrupted after {last.nodes} nodes under {last.method}; {_bounds(last)}."
        raise CommandEnd(sentence, ExitCode.INTERRUPTED)
    if len(results) == 2 and disagree(*results):
        ends = [f"{end.method} ended {end.status} with {number(end.primal_bound, 10)}" for end in results]
        sentence = f"{' but '.join(ends)}: one of them is wrong, please report this with the instance."
        raise CommandEnd(sentence, ExitCode.DISAGREEMENT)
    if first.status in WITHOUT_OPTIMUM:
        raise CommandEnd(f"{name} {WITHOUT_OPTIMUM[first.status]}.", ExitCode.NO_OPTIMUM)
    if not first.finished:
        sentence = (
            f"SCIP stopped at a limit ({first.status}) before it had proven an optimum; {_bounds(first)}."
        )
        raise CommandEnd(sentence, ExitCode.LIMIT)
    if first.violation is not None:
        raise CommandEnd(
            "No optimum is proven: the best solution is not feasible, see above.", ExitCode.LIMIT
        )

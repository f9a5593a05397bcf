"""`bife solve`: one model, a rule in charge, and perhaps another method to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from flows.cli.completion import AUTO, auto_or_rule_references, methods
from flows.cli.consoles import full_name, number, say, show_table, standard_output
from flows.cli.options import assignment
from flows.cli.outcome import WITHOUT_OPTIMUM, CommandEnd, ExitCode, Interrupted

if TYPE_CHECKING:
    from rich.console import Console

    from bife_core.methods.base import Method
    from bife_core.scip.solving import SolveResult, SolveSettings

HAND_OVERS = {
    "no usable score": "undecided",
    "rule raised": "rule_errors",
    "out of time": "overtime",
    "no features": "featureless",
}
"""Rows of the table for branchings the rule left to SCIP, and the fields of `SolveResult` they show."""


_EPSILON: Final = 1e-9
"""What SCIP takes for 0."""


def solve(
    model: Annotated[Path, typer.Argument(help="A .mps, .lp or .cip file, plain or gzipped.")],
    rule: Annotated[
        str,
        typer.Option(
            metavar="REF",
            autocompletion=auto_or_rule_references,
            help="Who branches: a Python file, a reference rule (`bife rules list`), a JSON file of a scorer, "
            "models:/NAME@ALIAS, or auto: the champion that was made for models like this one, if there is one.",
        ),
    ] = AUTO,
    versus: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            autocompletion=methods,
            help="Solve again with this one and compare: relpscost (RPB) or another built-in of SCIP, or a rule.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            show_default="no limit",
            help="CPU seconds each solve may take, on SCIP's clock: the system's own work for it is not counted.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of SCIP's randomisation.")] = 0,
    solver: Annotated[
        str,
        typer.Option(
            metavar="paper|default|FILE.set",
            help="How SCIP is set up: cuts at the root and no restarts, as it comes, or by a settings file.",
        ),
    ] = "paper",
    guard: Annotated[
        bool,
        typer.Option(
            "--guard/--no-guard",
            help="Let RPB take over where the rule gives no finite score or takes a tenth of the time.",
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print SCIP's log.")] = False,
    set_param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A SCIP parameter, such as limits/gap=0.01; may be repeated."
        ),
    ] = None,
) -> None:
    """Solve a model with a rule in charge of branching; prints SCIP's log, then a summary."""
    from bife_core.benchmarks.screening import screened
    from bife_core.methods.loading import load_method
    from bife_core.methods.scorer import Scorer

    settings = solve_settings(time_limit, seed, solver, set_param or [], guard=guard)
    facts, read = screened(model)
    console = standard_output()
    if rule == AUTO:
        from tasks.registry import rule_for

        choice = rule_for(read)
        rule = choice.reference
        say(console, f"{rule} branches. {choice.reason}")
    del read  # solves read the file themselves, and a large model takes memory
    first, other = load_method(rule), None if versus is None else load_method(versus)
    if isinstance(first, Scorer) and not first.address:
        say(console, f"note: {first.name} is not compiled: it is called from Python, which is slow.")
    if facts.n_integer == 0:
        what = "has no integer variables: SCIP branches on constraints and asks no rule"
        say(console, f"note: {model.name} {what}.")
    if facts.doubt is not None:
        say(console, f"note: {facts.doubt}")
    results = [solved(model, first, settings, show_log=not quiet)]
    try:
        if other is not None:
            results.append(solved(model, other, settings, show_log=False))
    finally:  # whatever becomes of the second solve, the first is done
        console.print()
        show_results(console, results)
    conclude(model.name, results)


def solve_settings(
    time_limit_s: float | None, seed: int, solver: str, assignments: list[str], *, guard: bool
) -> SolveSettings:
    """Return the settings the options name.

    Raises
    ------
    typer.BadParameter
        If an assignment is no assignment.
    ConfigError
        If a value does not fit.
    """
    from pydantic import ValidationError

    from bife_core.errors import ConfigError
    from bife_core.scip.solver import SolverConfig
    from bife_core.scip.solving import SolveSettings
    from bife_core.values import describe

    params = dict(map(assignment, assignments))
    given = {"time_limit_s": time_limit_s, "seed": seed, "guard": guard, "params": params}
    try:
        return SolveSettings.by(SolverConfig.model_validate(solver), **given)
    except ValidationError as error:
        raise ConfigError(describe(error)) from error


def solved(model: Path, who: Method, settings: SolveSettings, *, show_log: bool) -> SolveResult:
    """Solve once.

    Raises
    ------
    Interrupted
        If Ctrl-C stopped SCIP.
    """
    import sys

    from bife_core.methods.using import solve

    sys.stdout.flush()  # SCIP writes past Python's buffer
    result = solve(model, who, settings=settings, show_log=show_log)
    if result.status == "userinterrupt":
        raise Interrupted(
            f"Interrupted after {result.nodes} nodes under {result.method}; {standing(result)}."
        )
    return result


def standing(result: SolveResult) -> str:
    """Say how far an unfinished solve got."""
    if result.primal_bound is None:
        return f"no solution was found, dual bound {number(result.dual_bound, 10)}"
    gap = "unknown" if result.dual_bound is None else gap_between(result.primal_bound, result.dual_bound)
    return f"best objective {number(result.primal_bound, 10)}, gap {gap}"


def gap_between(primal: float | None, dual: float | None) -> str:
    """Return the gap as the log of SCIP has it, by the bound nearer to 0; a dash where a bound is not known."""
    if primal is None or dual is None:
        return "-"
    if abs(primal - dual) <= _EPSILON:
        return f"{0:.2%}"
    least = min(abs(primal), abs(dual))
    return "infinite" if least <= _EPSILON or primal * dual < 0 else f"{abs(primal - dual) / least:.2%}"


def show_results(console: Console, results: list[SolveResult]) -> None:
    """Print the solves, one a column, and the ratio of the first to the second where there is one."""

    def of_rules(cell: str) -> list[str]:
        return [cell.format(one) if one.rule_sha else "-" for one in results]

    rows = {
        "status": [one.status for one in results],
        "objective": [number(one.primal_bound, 10) for one in results],
        "gap": [gap_between(one.primal_bound, one.dual_bound) for one in results],
        "nodes": [str(one.nodes) for one in results],
        "LP iterations": [str(one.lp_iterations) for one in results],
        "CPU s": [f"{one.cpu_s:.2f}" for one in results],
        "rule asked": of_rules("{0.calls} times"),
        "in rule, s": of_rules("{0.callback_s:.4f}"),
    }
    for label, name in HAND_OVERS.items():
        if any(getattr(one, name) for one in results):
            rows[label] = of_rules(f"{{0.{name}}} times")
    names = ["", *(full_name(one.method) for one in results)]
    if len(results) == 2:
        first, second = results
        names.append("ratio")
        for label, name in (("nodes", "nodes"), ("LP iterations", "lp_iterations"), ("CPU s", "cpu_s")):
            base = getattr(second, name)
            rows[label].append(f"{getattr(first, name) / base:.3f}" if base else "-")
    show_table(console, names, [(label, *cells) for label, cells in rows.items()])


def conclude(name: str, results: list[SolveResult]) -> None:
    """End the command as the solves ended.

    Raises
    ------
    CommandEnd
        If methods proved different things, or the first solve neither proved an optimum nor reached the gap asked for.
    """
    from bife_core.agreement import disagree

    first = results[0]
    if len(results) == 2 and disagree(*results):
        other = results[1]
        raise CommandEnd(
            f"{first.method} ended {first.status} with {number(first.primal_bound, 10)} but {other.method} ended "
            f"{other.status} with {number(other.primal_bound, 10)}: one of them is wrong, please report this "
            "with the model.",
            ExitCode.DISAGREEMENT,
        )
    if first.status in WITHOUT_OPTIMUM:
        raise CommandEnd(f"{name} {WITHOUT_OPTIMUM[first.status]}.", ExitCode.NO_OPTIMUM)
    if first.status == "gaplimit":
        say(standard_output(), f"The gap that was asked for was reached; {standing(first)}.")
    elif not first.proven:
        raise CommandEnd(
            f"SCIP stopped at a limit ({first.status}) before it had proven an optimum; {standing(first)}.",
            ExitCode.LIMIT,
        )

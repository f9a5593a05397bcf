"""`bife solve`: one model, a rule in charge, and perhaps another brancher to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.completion import branchers, rule_references
from flows.cli.consoles import full_name, number, plain_table, standard_output
from flows.cli.options import assignment
from flows.cli.outcome import WITHOUT_OPTIMUM, CommandEnd, ExitCode, Interrupted

if TYPE_CHECKING:
    from rich.table import Table

    from bife_core.rules import CompiledRule
    from bife_core.scip.solving import SolveResult, SolveSettings

HAND_OVERS = {
    "no usable score": "undecided",
    "rule raised": "rule_errors",
    "out of time": "overtime",
    "no features": "featureless",
}
"""Rows of the table for branchings the rule left to SCIP, and the fields of `SolveResult` they show."""


def solve(
    model: Annotated[Path, typer.Argument(help="A .mps, .lp or .cip file, plain or gzipped.")],
    rule: Annotated[
        str,
        typer.Option(
            metavar="REF",
            autocompletion=rule_references,
            help="Who branches: a Python file, a reference rule (`bife rules list`), or models:/NAME@ALIAS.",
        ),
    ],
    versus: Annotated[
        str | None,
        typer.Option(
            metavar="BRANCHER",
            autocompletion=branchers,
            help="Solve again with this one and compare: relpscost (RPB) or another SCIP brancher, or a rule.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="S", show_default="no limit", help="CPU seconds each solve may take."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of SCIP's randomisation.")] = 0,
    cuts: Annotated[
        str, typer.Option(metavar="root|default", help="Where cutting planes are separated.")
    ] = "root",
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
    from bife_core.benchmarks import screen
    from flows.cli.rules import brancher

    settings = solve_settings(time_limit, seed, cuts, set_param or [], guard=guard)
    facts = screen(model)
    first, other = brancher(rule), None if versus is None else brancher(versus)
    console = standard_output()
    if facts.n_integer == 0:
        console.print(
            f"note: {model.name} has no integer variables: SCIP branches on constraints and asks no rule."
        )
    results = [solved(model, first, settings, show_log=not quiet)]
    if other is not None:
        results.append(solved(model, other, settings, show_log=False))
    console.print()
    console.print(result_table(results))
    conclude(model.name, results)


def solve_settings(
    time_limit_s: float | None, seed: int, cuts: str, assignments: list[str], *, guard: bool
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
    from bife_core.presets import describe
    from bife_core.scip.guard import as_guard
    from bife_core.scip.solving import SolveSettings

    params: dict[str, Any] = dict(map(assignment, assignments))
    where: Literal["root", "default"] = cuts  # type: ignore[assignment]  # the model checks it
    try:
        return SolveSettings(
            time_limit_s=time_limit_s, seed=seed, cuts=where, guard=as_guard(guard), params=params
        )
    except ValidationError as error:
        raise ConfigError(describe(error)) from error


def solved(model: Path, who: str | CompiledRule, settings: SolveSettings, *, show_log: bool) -> SolveResult:
    """Solve once.

    Raises
    ------
    Interrupted
        If Ctrl-C stopped SCIP.
    """
    import sys

    from bife_core.scip.solving import solve

    sys.stdout.flush()  # SCIP writes past Python's buffer
    result = solve(model, who, settings=settings, show_log=show_log)
    if result.status == "userinterrupt":
        raise Interrupted(f"Interrupted after {result.nodes} nodes; {standing(result)}.")
    return result


def standing(result: SolveResult) -> str:
    """Say how far an unfinished solve got."""
    if result.primal_bound is None:
        return f"no solution was found, dual bound {number(result.dual_bound, 10)}"
    gap = "unknown" if result.gap is None else f"{result.gap:.2%}"
    return f"best objective {number(result.primal_bound, 10)}, gap {gap}"


def result_table(results: list[SolveResult]) -> Table:
    """Return the solves, one a column, and the ratio of the first to the second where there is one."""
    compared = len(results) == 2
    names = [full_name(result.brancher) for result in results]
    table = plain_table("", *names, *(("ratio",) if compared else ()))
    table.add_row("status", *(result.status for result in results))
    table.add_row("objective", *(number(result.primal_bound, 10) for result in results))
    table.add_row("gap", *("-" if result.gap is None else f"{result.gap:.2%}" for result in results))
    for label, values, shown in (
        ("nodes", [float(result.nodes) for result in results], "{:.0f}"),
        ("LP iterations", [float(result.lp_iterations) for result in results], "{:.0f}"),
        ("CPU s", [result.cpu_s for result in results], "{:.2f}"),
    ):
        ratio = [f"{values[0] / values[1]:.3f}" if values[1] else "-"] if compared else []
        table.add_row(label, *(shown.format(value) for value in values), *ratio)
    table.add_row("rule asked", *(f"{r.calls} times" if r.rule_sha else "-" for r in results))
    table.add_row("in rule, s", *(f"{r.callback_s:.4f}" if r.rule_sha else "-" for r in results))
    for label, name in HAND_OVERS.items():
        if any(getattr(result, name) for result in results):
            table.add_row(label, *(f"{getattr(r, name)} times" if r.rule_sha else "-" for r in results))
    return table


def conclude(name: str, results: list[SolveResult]) -> None:
    """End the command as the solves ended.

    Raises
    ------
    CommandEnd
        If branchers proved different things, or the first solve proved no optimum.
    """
    from bife_core.agreement import disagree

    first = results[0]
    if len(results) == 2 and disagree(*results):
        other = results[1]
        raise CommandEnd(
            f"{first.brancher} ended {first.status} with {number(first.primal_bound, 10)} but {other.brancher} ended "
            f"{other.status} with {number(other.primal_bound, 10)}: one of them is wrong, please report this "
            "with the model.",
            ExitCode.DISAGREEMENT,
        )
    if first.status in WITHOUT_OPTIMUM:
        raise CommandEnd(f"{name} {WITHOUT_OPTIMUM[first.status]}.", ExitCode.NO_OPTIMUM)
    if not first.finished:
        raise CommandEnd(
            f"SCIP stopped at a limit ({first.status}) before it had proven an optimum; {standing(first)}.",
            ExitCode.LIMIT,
        )

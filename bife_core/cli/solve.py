"""`bife solve`: one instance, a rule for branching, and perhaps another method to compare with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from bife_core.cli.backend import backend
from bife_core.cli.consoles import full_name, number, say, show_table
from bife_core.cli.options import assignment
from bife_core.cli.outcome import WITHOUT_OPTIMUM, CommandEnd, ExitCode

if TYPE_CHECKING:
    from bife_core.solver.methods.base import Method
    from bife_core.solver.scip.solve import SolveResult

SetParam: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A SCIP parameter, such as limits/gap=0.01; may be repeated."),
]

AUTO: Final = "auto"
"""Leaves the choice of a rule to the registry."""


def solve(
    instance: Annotated[Path, typer.Argument(help="A .mps, .lp, .cip or .opb file, plain or gzipped.")],
    rule: Annotated[
        str,
        typer.Option(
            metavar="REF",
            help="What branches: a Python file, a reference rule (`bife rules list`), a JSON file of a scorer or of a "
            "configuration, a settings file (.set), models:/NAME@ALIAS, a built-in of SCIP, or auto: the champion made "
            "for instances like this one under the same settings of SCIP, or RPB, SCIP's default. RULE,budget=SHARE "
            "gives any rule one: RPB branches until its strong branching has taken that share of all LP iterations, "
            "and after that no more with ,once behind it.",
        ),
    ] = AUTO,
    versus: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Solve again with this method and compare, such as relpscost (RPB).",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="S", show_default="no limit", help="CPU seconds per solve, on SCIP's clock."),
    ] = None,
    solution: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="nowhere",
            help="Where to write the best solution, as SCIP does (.sol).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of SCIP's randomisation.")] = 0,
    solver: Annotated[
        str,
        typer.Option(
            metavar="default|paper|FILE.set",
            help="SCIP's settings: its defaults, the paper's (cuts at the root, no restarts), or those of a file.",
        ),
    ] = "default",
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Keep the solves for the deployment `watch`, which compares the champion with RPB by them.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print SCIP's log.")] = False,
    set_param: SetParam = None,
) -> None:
    """Solve an instance with a rule for branching; prints SCIP's log, then a summary."""
    from bife_core.base.files import check_outputs
    from bife_core.solver.methods.base import BUILTIN_METHODS
    from bife_core.solver.methods.loading import load_method
    from bife_core.solver.methods.using import solve as solve_with
    from bife_core.solver.scip.reading import read_model
    from bife_core.solver.scip.solve import SolveSettings

    params = dict(map(assignment, set_param or ()))
    given = {"time_limit_s": time_limit, "seed": seed, "solver": solver, "guard": True, "params": params}
    settings = SolveSettings.checked(given)
    if solution is not None:
        check_outputs([solution], [instance, rule, versus, solver])
    model = read_model(instance)
    if rule == AUTO:
        rule, reason = backend().registry().rule_for(model, settings.under)
        say(f"{rule} branches. {reason}")
    del model  # solves read the file themselves, and a large one takes memory
    methods = [load_method(reference) for reference in (rule, versus) if reference is not None]
    if versus is not None and methods[0].identity == methods[1].identity:
        say(f"{full_name(methods[1].name)} is what it would be compared with: it is solved once.")
        methods, versus = methods[:1], None
    for reference in (rule, versus):
        if reference is not None and reference.startswith("models:"):
            from bife_core.registry.choosing import other_settings

            if differing := other_settings(
                backend().registry().registered(reference), settings.under, reference
            ):
                say(f"note: {differing}.")
    results: list[SolveResult] = []
    try:
        for method in methods:
            if not results or results[0].status != "userinterrupt":
                sys.stdout.flush()  # SCIP writes past Python's buffer
                first = not results
                to = solution if first else None
                results.append(
                    solve_with(instance, method, settings=settings, show_log=first and not quiet, solution=to)
                )
    finally:  # whatever becomes of the second solve, the first is done
        if results:
            say()
            _show(methods, results)
    if solution is not None and results[0].primal_bound is None:
        say(f"note: {solution} is not written, for no best solution was found.")
    if record and results[-1].status != "userinterrupt":
        from bife_core.run.stages.runtime import Runtime
        from bife_core.run.stages.watching import ChampionWatch

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

    of_rules = {"branchings": "{0.calls}", "fallbacks": "{0.fallbacks}", "in rule, s": "{0.callback_s:.4f}"}
    if any(getattr(method, "budget", None) is not None for method in methods):
        of_rules["within budget"] = "{0.within_budget}"
    rows = {
        "status": [one.status for one in results],
        "objective": [number(one.primal_bound, 10) for one in results],
        "dual bound": [number(one.dual_bound, 10) for one in results],
        "nodes": [str(one.nodes) for one in results],
        "LP iterations": [str(one.lp_iterations) for one in results],
        "CPU s": [f"{one.cpu_s:.2f}" for one in results],
        **{
            name: [text.format(one) if one.rule_sha else "-" for one in results]
            for name, text in of_rules.items()
        },
    }
    names = ["", *(full_name(one.method) for one in results)]
    if len(results) == 2:
        names.append("ratio")
        for label, name in (("nodes", "nodes"), ("LP iterations", "lp_iterations"), ("CPU s", "cpu_s")):
            own, base = (getattr(one, name) for one in results)
            short = name == "cpu_s" and max(own, base) <= TICK_S
            rows[label].append("-" if short or not base else f"{own / base:.3f}")
    empty = [""] * len(names)
    show_table(names, [[label, *cells, *empty][: len(names)] for label, cells in rows.items()])


def conclude(name: str, results: list[SolveResult]) -> None:
    """End the command as the solves ended.

    It is a `CommandEnd` if methods proved different things, or the first neither proved an optimum nor reached the gap.
    """
    from bife_core.solver.scip.solve import cautions, disagree

    first, last = results[0], results[-1]
    for sentence in cautions(results):
        say(f"note: {sentence}")
    if last.status == "userinterrupt":
        sentence = f"Interrupted after {last.nodes} nodes under {last.method}; {_bounds(last)}."
        raise CommandEnd(sentence, ExitCode.INTERRUPTED)
    if len(results) == 2 and disagree(*results):
        ends = [f"{one.method} ended {one.status} with {number(one.primal_bound, 10)}" for one in results]
        raise CommandEnd(
            f"{' but '.join(ends)}: one of them is wrong, please report this with the instance.",
            ExitCode.DISAGREEMENT,
        )
    if first.status in WITHOUT_OPTIMUM:
        raise CommandEnd(f"{name} {WITHOUT_OPTIMUM[first.status]}.", ExitCode.NO_OPTIMUM)
    if not first.finished:
        raise CommandEnd(
            f"SCIP stopped at a limit ({first.status}) before it had proven an optimum; {_bounds(first)}.",
            ExitCode.LIMIT,
        )
    if first.violation is not None:
        raise CommandEnd("No optimum is proven: the best solution misses a row, see above.", ExitCode.LIMIT)

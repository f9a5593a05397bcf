"""`bife series`: instances that come one after the other, each solved with what the earlier ones taught."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument, Option

from bife_core.base.errors import InstanceError, InterruptedSolveError, SolverError
from bife_core.cli.backend import backend
from bife_core.cli.consoles import number, say, show_table
from bife_core.cli.options import assignment
from bife_core.cli.outcome import CommandEnd, ExitCode
from bife_core.cli.solve import SetParam

_RULE: Final = "A further configuration to try, such as tuned settings (.set or .json); may be repeated."
_REUSE: Final = "Start from the solutions of earlier instances."
_SOLUTIONS: Final = "Where to write the best solutions, as INSTANCE.sol."
_SOLVER: Final = "SCIP's settings, of which others are tried."


def series(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the series; another call with it goes on.")],
    instances: Annotated[
        list[Path],
        Argument(metavar="FILE...|DIR", help="Instances in order; those of a directory by their names."),
    ],
    time_limit: Annotated[float, Option(metavar="S", help="CPU seconds per solve, on SCIP's clock; needed.")],
    rule: Annotated[list[str] | None, Option(metavar="REF", help=_RULE)] = None,
    reuse: Annotated[bool, Option("--reuse/--no-reuse", help=_REUSE)] = True,
    solutions: Annotated[Path | None, Option(metavar="DIR", show_default="nowhere", help=_SOLUTIONS)] = None,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of SCIP and of all draws.")] = 0,
    solver: Annotated[str, Option(metavar="default|paper|FILE.set", help=_SOLVER)] = "default",
    set_param: SetParam = None,
) -> None:
    """Solve a series of instances in order: from earlier solutions, with the configuration that did best so far."""
    from bife_core.base.files import check_outputs
    from bife_core.instances.folder import instance_files
    from bife_core.solver.scip.reader import read_model
    from bife_core.solver.scip.solutions import write_solution
    from bife_core.solver.scip.solve import SolveSettings
    from bife_core.tuning.series.series import Series

    params = dict(map(assignment, set_param or ()))
    chosen: dict[str, Any] = {"time_limit_s": time_limit, "seed": seed, "solver": solver, "params": params}
    if not name or Path(name).is_file():
        wrong = f"{name!r} is {'a file' if name else 'empty'}"
        raise CommandEnd(f"NAME is what the series is called, and comes before the instances; {wrong}.")
    files = [file for path in instances for file in (instance_files(path) if path.is_dir() else [path])]
    places = {file.resolve() for file in files}
    if solutions is not None and len({file.name for file in places}) < len(places):
        raise CommandEnd("Several instances have the same name, so that --solutions would write one file.")
    written = {} if solutions is None else {file: solutions / f"{file.name}.sol" for file in files}
    check_outputs(written.values(), [*files, *(rule or ()), solver])
    rules, under = list(rule or ()), SolveSettings.checked(chosen).under
    for file in files:
        with suppress(InstanceError):  # which is reported when its turn comes
            rules.append(backend().registry().rule_for(read_model(file), under)[0])
            break
    opened = Series(name, rules=rules, reuse=reuse, **chosen)
    failed: list[str] = []
    for file in files:
        try:
            solved = opened.solve(file, say)
            if file in written:
                write_solution(written[file], opened.solution(solved), solved.result.primal_bound)
        except InterruptedSolveError as error:
            raise CommandEnd(str(error), ExitCode.INTERRUPTED) from error
        except (InstanceError, SolverError) as error:
            say(str(error))
            failed.append(file.name)
            if file in written:  # it may have had a solution before it was changed
                write_solution(written[file], None, None)
            continue
        result = solved.result
        say(
            f"  {result.status} after {result.cpu_s:.2f} CPU s, objective {number(result.primal_bound, 10)}, "
            f"dual bound {number(result.dual_bound, 10)}, cost {solved.cost:.3f}"
        )
        if result.caution is not None:
            say(f"  {result.caution}")
    say()
    costs = {arm: [solve.cost for solve in opened.solves if solve.arm == arm] for arm in opened.arms}
    rows = [[arm, str(len(spent)), number(sum(spent) / len(spent))] for arm, spent in costs.items() if spent]
    show_table(["configuration", "solves", "mean cost"], rows)
    if failed:
        raise CommandEnd(f"Not solved: {', '.join(failed)}; the reasons stand above.")

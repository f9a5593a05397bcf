"""`bife score`: what a search would learn of a rule, for a person or a coding agent that writes one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bife_core.base.wording import interval_text
from bife_core.cli.backend import backend
from bife_core.cli.consoles import number, say, show_facts, show_heading, show_table
from bife_core.cli.options import resolve, with_options
from bife_core.cli.running import GO_ON, ending_at_once

if TYPE_CHECKING:
    from bife_core.run.stages.scoring import RuleScore


@with_options
def score(
    *,
    file: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            exists=True,
            dir_okay=False,
            help="Python files of rules; settings files of SCIP or JSON files of other methods.",
        ),
    ] = None,
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Print what a model is told that writes rules for these instances."),
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Print the rules of the study with their scores, best first.")
    ] = False,
    no_fit: Annotated[
        bool, typer.Option("--no-fit", help="Score rules with the numbers they have, fitting none.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    **options: Any,
) -> None:
    """Score rules that you wrote as a search would: check, F_LF, and F_HF in a race; all of it stays in one study."""
    if [bool(file), brief, listed].count(True) != 1:
        raise typer.BadParameter("give files to score, or --list, or --brief.")
    config = resolve(options)
    from bife_core.run.stages import scoring
    from bife_core.run.stages.runtime import Runtime
    from bife_core.run.study.journal import stop_journals
    from bife_core.solver.methods.loading import read_method

    runner = backend()
    methods = [(path.name, read_method(path)) for path in file or ()]
    rules = [(name, one.text or one.model_dump_json()) for name, one in methods]
    with ending_at_once(lambda: None, partial(stop_journals, GO_ON)):
        if brief:
            typer.echo(scoring.brief(config, runner.runtime()))
            return
        if listed:
            _list(scoring.scored_before(config, Runtime()), as_json)
            return
        for one in scoring.score(config, runner.runtime(), rules, not no_fit):
            if as_json:
                typer.echo(one.model_dump_json())
            else:
                _show(one)


def _list(found: list[RuleScore], as_json: bool) -> None:
    if not found:
        nothing = "No rule was scored with these settings, or their decisions are not all recorded"
        typer.echo(f"{nothing}; `bife score FILE` does both.", err=True)
    elif as_json:
        for one in found:
            typer.echo(one.model_dump_json(exclude_unset=True))
    else:
        columns = ("rule", "sample", "F_HF", "F_LF", "over RPB's", "out")
        show_table(columns, [_row(one) for one in found], numbers=False)
        say(f"{_used(found[0])}.")


def _row(one: RuleScore) -> tuple[str, ...]:
    # A ratio on some of the instances is not to be compared with others.
    ratio = None if one.f_hf is None else one.ratio
    values = ("" if value is None else number(value) for value in (one.f_hf, one.f_lf, ratio))
    alike = f"chooses like {one.duplicate_of}" if one.duplicate_of else ""
    return one.name, one.sample, *values, one.failure or one.eliminated or alike


def _used(one: RuleScore) -> str:
    limit = "" if one.solver_limit_s is None else f" of {number(one.solver_limit_s)}"
    return f"{number(one.solver_s)}{limit} CPU s in the solver, recording decisions and RPB included"


def _show(one: RuleScore) -> None:
    from bife_core.base.stats import CONFIDENCE

    out = one.failure or one.eliminated
    show_heading(f"{one.name} ({one.sample}{', scored before' * one.again})")
    facts = [("out", out)] if out else []
    facts += [("chooses like", one.duplicate_of)] if one.duplicate_of else []
    known = {"F_LF": one.f_lf, "regret": one.regret, "F_HF": one.f_hf}
    facts += [(name, number(value)) for name, value in known.items() if value is not None]
    if one.ratio is not None:
        interval = interval_text(one.ci_low, one.ci_high, confidence=CONFIDENCE)
        facts.append(("cost over RPB's", f"{number(one.ratio)}, {interval}"))
    if one.undecided:
        facts.append(("not told from", f"{', '.join(one.undecided)} (paired test)"))
    if one.best is not None and one.best_f_hf is not None:
        facts.append(("best so far", f"{one.best}, F_HF {number(one.best_f_hf)}"))
    facts += [("numbers", "fitted to the decisions")] if one.fitted else []
    facts += [("file", one.file)] if one.file else []
    facts.append(("study", f"{one.rules} rules, {_used(one)}"))
    show_facts(facts)
    for text in filter(None, (one.table, *one.choices)):
        say()
        say(text)

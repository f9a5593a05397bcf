"""`bife score`: what a search would learn of a rule, for a person or a coding agent that writes one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer import Argument, Option

from bife_core.base.wording import interval_text
from bife_core.cli.backend import backend
from bife_core.cli.consoles import number, say, show_facts, show_heading, show_table
from bife_core.cli.options import resolve, with_options
from bife_core.cli.running import GO_ON, ending_at_once

if TYPE_CHECKING:
    from bife_core.run.stages.score import RuleScore

_FILE: Final = "Python files of rules; settings files of SCIP or JSON files of other methods."
_BRIEF: Final = "Print what a language model is told before it writes a rule for these instances."
_LIST: Final = "Print the rules of the study with their scores, best first."
_NO_FIT: Final = "Score rules with the numbers they have, fitting none."


@with_options
def score(
    *,
    file: Annotated[
        list[Path] | None, Argument(metavar="FILE...", exists=True, dir_okay=False, help=_FILE)
    ] = None,
    brief: Annotated[bool, Option("--brief", help=_BRIEF)] = False,
    listed: Annotated[bool, Option("--list", help=_LIST)] = False,
    no_fit: Annotated[bool, Option("--no-fit", help=_NO_FIT)] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line.")] = False,
    **options: Any,
) -> None:
    """Score rules that you wrote as a search would: check, F_LF, and F_HF in a race; all of it stays in one study."""
    if [bool(file), brief, listed].count(True) != 1:
        raise typer.BadParameter("give files to score, or --list, or --brief.")
    config = resolve(options)
    from bife_core.run.stages import score as scoring
    from bife_core.run.stages.runtime import Runtime
    from bife_core.run.study.journal import stop_journals
    from bife_core.solver.methods.references import read_method

    runner = backend()
    methods = [(path.name, read_method(path)) for path in file or ()]
    rules = [(name, method.text or method.model_dump_json()) for name, method in methods]
    with ending_at_once(lambda: None, partial(stop_journals, GO_ON)):
        if brief:
            typer.echo(scoring.brief(config, runner.runtime()))
            return
        if listed:
            _list(scoring.scored_before(config, Runtime()), as_json)
            return
        for scored in scoring.score(config, runner.runtime(), rules, not no_fit):
            if as_json:
                typer.echo(scored.model_dump_json())
            else:
                _show(scored)


def _list(scores: list[RuleScore], as_json: bool) -> None:
    if not scores:
        nothing = "No rule was scored with these settings, or their decisions are not all recorded"
        typer.echo(f"{nothing}; `bife score FILE` does both.", err=True)
    elif as_json:
        for scored in scores:
            typer.echo(scored.model_dump_json(exclude_unset=True))
    else:
        columns = ("rule", "sample", "F_HF", "F_LF", "over RPB's", "out")
        show_table(columns, list(map(_row, scores)), numbers=False)
        say(f"{_used(scores[0])}.")


def _row(scored: RuleScore) -> tuple[str, ...]:
    # A ratio on some of the instances is not to be compared with others.
    ratio = None if scored.f_hf is None else scored.ratio
    values = ("" if value is None else number(value) for value in (scored.f_hf, scored.f_lf, ratio))
    alike = f"chooses like {scored.duplicate_of}" if scored.duplicate_of else ""
    return scored.name, scored.sample, *values, scored.failure or scored.eliminated or alike


def _used(scored: RuleScore) -> str:
    limit = "" if scored.solver_limit_s is None else f" of {number(scored.solver_limit_s)}"
    return f"{number(scored.solver_s)}{limit} CPU s in the solver, recording decisions and RPB included"


def _show(scored: RuleScore) -> None:
    from bife_core.base.stats import CONFIDENCE

    out = scored.failure or scored.eliminated
    show_heading(f"{scored.name} ({scored.sample}{', scored before' * scored.again})")
    facts = [("out", out)] if out else []
    facts += [("chooses like", scored.duplicate_of)] if scored.duplicate_of else []
    measures = {"F_LF": scored.f_lf, "regret": scored.regret, "F_HF": scored.f_hf}
    facts += [(name, number(value)) for name, value in measures.items() if value is not None]
    if scored.ratio is not None:
        interval = interval_text(scored.ci_low, scored.ci_high, confidence=CONFIDENCE)
        facts.append(("cost over RPB's", f"{number(scored.ratio)}, {interval}"))
    if scored.undecided:
        facts.append(("not told from", f"{', '.join(scored.undecided)} (paired test)"))
    if scored.best is not None and scored.best_f_hf is not None:
        facts.append(("best so far", f"{scored.best}, F_HF {number(scored.best_f_hf)}"))
    facts += [("numbers", "fitted to the decisions")] if scored.fitted else []
    facts += [("file", scored.file)] if scored.file else []
    facts.append(("study", f"{scored.rules} rules, {_used(scored)}"))
    show_facts(facts)
    for text in filter(None, (scored.table, *scored.choices)):
        say()
        say(text)

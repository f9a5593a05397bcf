"""`bife rules` and `bife export`: rules that come with BiFE or were registered, shown or written for SCIP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from bife_core.cli.backend import backend
from bife_core.cli.consoles import (
    number,
    say,
    show_code,
    show_facts,
    show_heading,
    show_table,
    standard_output,
)
from bife_core.cli.outcome import ReportingGroup

app = typer.Typer(cls=ReportingGroup, help="List and show branching rules.", no_args_is_help=True)

_RULE = Argument(
    metavar="REF",
    help="A Python file, a reference rule, a JSON file of a configuration, or models:/NAME@ALIAS.",
)
_FORMAT = "Write parameters alone: JSON of real types (dict), OR-Tools' string, MathOpt's typed fields."
_NAME = Argument(metavar="NAME", help="Registered model, such as bife-combinatorial_auction.")


@app.command("list")
def list_rules() -> None:
    """List reference rules and registered ones."""
    from bife_core.language.rules import REFERENCE_RULES

    rules = [(rule.name, rule.summary, rule.family or "") for rule in REFERENCE_RULES.values()]
    show_table(("reference rule", "what it does", "reference of"), rules, numbers=False)
    say()
    tags = {"metric": "metric", "ratio": "ratio", "ci_low": "from", "ci_high": "to"}
    tags |= {"baseline": "against", "solver": "under"}
    versions = backend().registry().versions()
    rows = [(rule.reference, rule.standing, *(_short(rule.tags, name) for name in tags)) for rule in versions]
    if rows:
        show_table(("registered rule", "aliases", *tags.values()), rows)
    else:
        say("No rule has been registered yet; `bife demo` and `bife run` do.")


@app.command("show")
def show(reference: Annotated[str, _RULE]) -> None:
    """Show a rule: source, features it reads, size, origin and hash; of a configuration first its settings."""
    from bife_core.language.features import FEATURES
    from bife_core.language.rules import REFERENCE_RULES, complexity
    from bife_core.solver.methods.configuration import Configuration
    from bife_core.solver.methods.references import load_method, rule_method
    from bife_core.solver.methods.scorer import RuleMethod

    method = load_method(reference)
    rule = method.branching if isinstance(method, Configuration) else rule_method(method)
    show_code(method.shown)
    say()
    facts = [("hash", method.identity)]
    if isinstance(method, Configuration) and method.chosen.startswith("#"):
        facts.append(("settings", f"{len(method.params)} parameters, which `bife export {reference}` writes"))
    if isinstance(rule, RuleMethod):
        size = complexity(rule.source)
        facts.append(("size", ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in size.items())))
        if rule.budget is not None:
            facts.append(("budget", f"{rule.budget} of all LP iterations for RPB's strong branching"))
    if reference in REFERENCE_RULES:
        facts.append(("origin", REFERENCE_RULES[reference].origin))
    if reference.startswith("models:"):
        version = backend().registry().registered(reference)
        facts.append(("version", f"{version.version} {version.standing}"))
        facts += [(name.replace("_", " "), _short(version.tags, name)) for name in sorted(version.tags)]
    show_facts(facts)
    if isinstance(rule, RuleMethod):
        show_heading("Features it reads")
        read = [FEATURES[index] for index in sorted(rule.features)]
        show_facts([(f"{item.index:>2}  {item.name}", item.meaning) for item in read])


@app.command("rollback")
def rollback(
    name: Annotated[str, _NAME], reason: Annotated[str, Option(help="Why; kept in the registry.")]
) -> None:
    """Take a champion out of use, in your login name; the one that it replaced, if any, is champion again."""
    with standard_output().status("Starting ..."):
        from bife_core.solver.machine import user

        change = backend().registry().roll_back(name, user(), reason)
    say(f"{change.sentence}.")


def export(
    rule: Annotated[str, _RULE],
    output: Annotated[Path, Option(metavar="FILE", help="C file to write.")] = Path("rule.c"),
    form: Annotated[Literal["c", "dict", "ortools", "mathopt"], Option("--format", help=_FORMAT)] = "c",
    compiled: Annotated[bool, Option("--compile", help="Make SCIP's command line with the rule.")] = False,
) -> None:
    """Write a rule as a branching-rule plugin of SCIP, one C file; of a configuration also its settings file."""
    from bife_core.base.files import check_outputs, write_whole
    from bife_core.solver.export.plugin import compile_program, export_c
    from bife_core.solver.methods.configuration import Configuration
    from bife_core.solver.methods.references import load_method

    method = load_method(rule)
    configuration = method if isinstance(method, Configuration) else Configuration(branching=method)
    settings, program = output.with_suffix(".set"), output.with_suffix("")
    in_settings = configuration.by_scip and not (configuration.on_demand or configuration.first)
    written = {settings: configuration.settings_of(rule)} if configuration.settings else {}
    if form != "c":
        if compiled or not written:
            raise typer.BadParameter("--format writes parameters, and a rule alone has none.")
        ending = f".{form}.txt" if form == "ortools" else f".{form}.json"
        written = {output.with_suffix(ending): configuration.written_for(form)}
    elif output.suffix != ".c" or Path(rule).resolve() == settings.resolve():
        raise typer.BadParameter(f"{output.name} is no C file, or {settings.name} would be written over.")
    elif compiled and in_settings:
        raise typer.BadParameter("One of SCIP's rules branches, so any `scip -s FILE.set` does.")
    elif not in_settings:
        written[output] = export_c(rule)
    output.parent.stat()  # no folder is made
    check_outputs([*written, *[program] * compiled], [rule])
    for path, text in written.items():
        write_whole(path, text)
        say(f"Wrote {path}.")
    say("How to use it: docs/how-to/other-languages.md.")
    if lacks := configuration.beside_c if form == "c" else configuration.beside_settings:
        has = f"which bife solve MODEL --rule {rule} has"
        say(f"note: It lacks {' and '.join(lacks)}, {has}. What is left may be slower than SCIP's defaults.")
    if compiled:
        say(f"Compiled {program}, SCIP's command line with what was found: {compile_program(output)}")


def _short(tags: dict[str, str], name: str) -> str:
    text = tags.get(name, "-")
    try:
        return number(float(text)) if "." in text else text
    except ValueError:
        return text

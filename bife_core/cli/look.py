"""`bife report`, `bife config`, `bife calls`, `bife plugins`: results and settings, looked at or written again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer import Argument, Option

from bife_core.base.wording import counted
from bife_core.cli.backend import backend
from bife_core.cli.consoles import say, show_facts, show_table, standard_output
from bife_core.cli.options import resolve, with_options
from bife_core.cli.outcome import CommandEnd
from bife_core.store.home import RUN_ID, evaluation_at, project_home

REQUEST_ID: Final = re.compile(r"bife-[\w.~%-]+\.\d+(?!\.?\w)", re.ASCII)
"""What BiFE calls its requests, in a file of whatever format."""

_EVALUATIONS: Final = "Evaluations: ids of their tracked runs, or their folders. Several make one page."
_TO: Final = "Where to write page, tables and figures."
_EXPORT: Final = "A provider's export that holds the header X-Client-Request-Id."


def report(
    references: Annotated[
        list[str] | None,
        Argument(metavar="[REF]...", show_default="the newest evaluation", help=_EVALUATIONS),
    ] = None,
    to: Annotated[Path | None, Option(metavar="DIR", show_default="beside the solves", help=_TO)] = None,
    figures: Annotated[bool, Option("--figures", help="Write all figures too, as PNG, SVG and PDF.")] = False,
) -> None:
    """Write the report of evaluations again: page, Markdown and LaTeX tables, and say where they are."""
    if not references and not project_home().evaluations():
        raise CommandEnd("No evaluation has been made yet; `bife evaluate --rule REF` makes one.")
    for reference in references or ():
        if not RUN_ID.fullmatch(reference):
            evaluation_at(Path(reference))
    with standard_output().status("Drawing ..."):
        from bife_core.run.show.plots import save
        from bife_core.run.stages.evaluation_files import PAGE, TABLES, load_report, write_report
        from bife_core.run.stages.runtime import Runtime

        tracked = any(map(RUN_ID.fullmatch, references or ()))
        loaded, directory = load_report(references or (), backend().runtime() if tracked else Runtime())
        folder = (to or directory).absolute()
        drawn = write_report(folder, loaded)
        for figure in drawn if figures else ():
            save(figure.figure, folder / "figures", figure.name)
    say(loaded.conclusion)
    files = {"page": PAGE} | {f"table ({Path(name).suffix[1:]})": name for name in TABLES}
    show_facts([(label, str(folder / name)) for label, name in files.items()])


@with_options
def config(
    *,
    as_json: Annotated[bool, Option("--json", help="Print JSON, to keep as a file for --config.")] = False,
    **options: Any,
) -> None:
    """Print every setting with its value and meaning, as the given options resolve it."""
    from bife_core.run.settings import described, settings_of

    resolved = resolve(options)
    if as_json:
        typer.echo(json.dumps(settings_of(resolved), indent=2))
        return
    rows = [(name, json.dumps(value), meaning) for name, value, meaning in described(resolved)]
    show_table(("setting", "value", "meaning"), rows, numbers=False)


def calls(
    export: Annotated[Path | None, Argument(metavar="[FILE]", show_default="none", help=_EXPORT)] = None,
) -> None:
    """List what calls to a model API each search made, and compare them with a provider's export."""
    from bife_core.search.generators.account import Account, Spending, request_id

    store, rows, made = project_home().store, [], dict[str, str]()
    for study in store.studies():
        if of_study := Account(store, study.key).calls():
            spent = Spending.of(of_study)
            counts = (spent.calls, spent.answered, spent.unknown, spent.tokens)
            rows.append((study.key, *map(str, counts), spent.price().lstrip("$")))
            made |= {request_id(study.key, call): call.status for call in of_study}
    if rows:
        show_table(("search", "calls", "answered", "bill unknown", "tokens", "USD"), rows)
    else:
        say("No search has called a model API yet.")
    if export is None:
        return
    listed = set(REQUEST_ID.findall(export.read_text(encoding="utf-8", errors="replace")))
    if not listed:
        raise CommandEnd(f"{export} was expected to hold ids such as bife-SEARCH.g00-c00.1 and holds none.")
    answered = {name for name, status in made.items() if status == "ok"}
    say(f"{counted(len(listed & made.keys()), 'call')} of {len(made)} are in {export}.")
    if missing := sorted(answered - listed):
        say(f"Answered, but not in it: {', '.join(missing)}")
    if foreign := sorted(listed - made.keys()):
        raise CommandEnd(f"Not in the store, though the provider has them: {', '.join(foreign)}")


def plugins() -> None:
    """List plugins, from families and searches to trackers, and the package each comes from."""
    from bife_core.cli.backend import BACKENDS
    from bife_core.instances.config import FAMILIES
    from bife_core.language.components import COMPONENTS
    from bife_core.run.stages.tracker import TRACKERS
    from bife_core.search import SEARCHES
    from bife_core.search.generators.config import GENERATORS
    from bife_core.solver.methods.base import METHODS
    from bife_core.solver.methods.references import READERS

    kinds = (FAMILIES, SEARCHES, GENERATORS, COMPONENTS, METHODS, READERS, TRACKERS, BACKENDS)
    rows = [(kind.kind, name, package) for kind in kinds for name, package in kind.listed()]
    show_table(("kind", "name", "package"), rows, numbers=False)

"""`bife rules`: the rules that come with BiFE and those that were registered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.completion import rule_references
from flows.cli.consoles import number, say, show_code, show_facts, show_heading, show_table, standard_output

if TYPE_CHECKING:
    from tasks.registry import RegisteredRule

app = typer.Typer(help="List and show branching rules.", no_args_is_help=True)


@app.command("list")
def list_rules() -> None:
    """List reference rules and registered ones."""
    from bife_core.evaluation.metrics import METRICS
    from bife_core.rules import REFERENCE_RULES

    console = standard_output()
    known = [(rule.name, rule.summary, rule.benchmark or "") for rule in REFERENCE_RULES.values()]
    show_table(console, ("reference rule", "what it does", "reference of"), known, numbers=False)
    console.print()
    registered = registered_rules()
    if not registered:
        console.print("No rule has been registered yet; `bife demo` and `bife run` do.")
        return
    rows = []
    for version in registered:
        tags = version.tags
        interval = f"{_short(tags, 'ci_low')} to {_short(tags, 'ci_high')}" if "ci_low" in tags else "-"
        words = METRICS[version.metric].words if "ratio" in tags else "-"
        measured = (words, _short(tags, "ratio"), interval, tags.get("baseline", "-"))
        rows.append((version.reference, " ".join(version.aliases), *measured))
    show_table(console, ("registered rule", "aliases", "judged by", "ratio", "interval", "against"), rows)


@app.command("show")
def show(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            autocompletion=rule_references,
            help="A Python file, a reference rule, or models:/NAME@ALIAS.",
        ),
    ],
    source: Annotated[
        bool, typer.Option("--source", help="Print the source alone, to start a rule of your own from.")
    ] = False,
) -> None:
    """Show a rule: source, features it reads, size, origin and hash."""
    from bife_core.features import FEATURES
    from bife_core.methods.loading import load_rule
    from bife_core.rules import REFERENCE_RULES, complexity

    rule = load_rule(reference)
    if source:
        typer.echo(rule.source.rstrip("\n"))
        return
    console = standard_output()
    show_code(console, rule.source)
    console.print()
    size = complexity(rule.source).to_dict()
    known = REFERENCE_RULES.get(reference)
    facts = [
        *([("origin", known.origin)] if known is not None else ()),
        *([("reference of", known.benchmark)] if known is not None and known.benchmark else ()),
        ("size", ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in size.items())),
        ("hash", rule.sha),
        *_kept(reference),
    ]
    show_facts(console, facts)
    show_heading(console, "Features it reads")
    read = [FEATURES[index] for index in sorted(rule.features)]
    show_facts(console, [(f"{item.index:>2}  {item.name}", item.meaning) for item in read])


@app.command("rollback")
def rollback(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Registered model, such as bife-combinatorial_auction.")
    ],
    reason: Annotated[str, typer.Option(help="Why; kept in the registry.")],
    who: Annotated[
        str | None, typer.Option(show_default="your login name", help="Who decides; kept in the registry.")
    ] = None,
) -> None:
    """Make the former champion of a registered model champion again."""
    console = standard_output()
    with console.status("Starting ..."):
        from tasks.registry import roll_back
        from tasks.tracking.provenance import user

    change = roll_back.fn(name, who or user(), reason)
    say(console, f"Version {change.version} of {name} is champion again.")


def registered_rules() -> list[RegisteredRule]:
    """Return what the registry holds, without making a store where there is none.

    Raises
    ------
    TrackingError
        If the registry cannot be reached.
    """
    address = os.environ.get("MLFLOW_REGISTRY_URI") or os.environ["MLFLOW_TRACKING_URI"]
    if address.startswith("sqlite:///") and not Path(address.removeprefix("sqlite:///")).exists():
        return []
    from tasks.registry import list_rules

    return list_rules()


def _kept(reference: str) -> list[tuple[str, str]]:
    """Return what the registry keeps beside a registered rule, labelled; nothing for any other."""
    if not reference.startswith("models:"):
        return []
    from tasks.registry import registered

    found = registered(reference)
    tags = [
        (name.replace("_", " "), _short(found.tags, name)) for name in sorted(found.tags) if name != "sha"
    ]
    return [("version", " ".join((str(found.version), *found.aliases))), *tags]


def _short(tags: dict[str, str], name: str) -> str:
    text = tags.get(name, "-")
    try:
        return number(float(text)) if "." in text else text
    except ValueError:
        return text

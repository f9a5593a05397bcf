"""The options the stages share, and the configuration they make."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from typer import Option

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig

Command = TypeVar("Command", bound=Callable[..., Any])
Text = str | None
Groups = Annotated[
    Text,
    Option(
        metavar="REGEX",
        help="Which of them depend on each other, by their paths: those with the same match of this regular "
        "expression, or of its first capture group.",
    ),
]


def resolve(
    *,
    preset: Annotated[
        Literal["smoke", "quick", "paper"] | None,
        Option(
            help="What is left out: a budget of seconds, for tests; minutes; or the paper's.",
            show_default="quick",
        ),
    ] = None,
    instances: Annotated[
        Text,
        Option(
            metavar="FAMILY|DIR",
            help="Family of generated instances, or folder of your own .mps, .lp, .cip or .opb files.",
            show_default="combinatorial_auction",
        ),
    ] = None,
    size: Annotated[
        Text, Option(help="Size of generated instances: tiny, test or transfer.", show_default="the preset's")
    ] = None,
    groups: Groups = None,
    solver: Annotated[
        Text,
        Option(
            metavar="default|paper|FILE.set",
            help="SCIP's settings in all stages: its own, the paper's (cuts at the root, no restarts), or a file's.",
            show_default="the preset's",
        ),
    ] = None,
    search: Annotated[
        Text,
        Option(
            help="How rules are searched for: bife, symbolic, random, or a plugin's search (docs/searches.md).",
            show_default="the preset's, or bife with --generator",
        ),
    ] = None,
    samples: Annotated[
        int | None, Option(min=1, help="Rules to sample in all.", show_default="the preset's")
    ] = None,
    seed: Annotated[
        int | None,
        Option(
            min=0,
            help="Seed of the search; expert samples and instances stay the same.",
            show_default="0",
        ),
    ] = None,
    generator: Annotated[
        Text,
        Option(
            metavar="offline|openai|replay|NAME",
            help="What writes the rules: a grammar, a model behind an OpenAI-compatible API, recorded answers, or a "
            "plugin.",
        ),
    ] = None,
    model: Annotated[Text, Option(help="Name of the API's model, instead of BIFE_LLM_MODEL.")] = None,
    about: Annotated[
        Text,
        Option(help="What the instances are, in words for the model; a folder's name is not sent to it."),
    ] = None,
    usd: Annotated[float | None, Option(min=0, help="US dollars that model calls may cost.")] = None,
    hours: Annotated[
        float | None, Option(min=0, help="Wall-clock hours that the search may run, over all its starts.")
    ] = None,
    workers: Annotated[
        int | None, Option(min=1, help="Solver processes, one pinned per core; all cores by default.")
    ] = None,
    approval: Annotated[
        Literal["gate", "person"] | None,
        Option(help="Who makes a registered rule champion: the numbers alone, or a person after them."),
    ] = None,
    config: Annotated[
        Path | None,
        Option(metavar="FILE", help="YAML, TOML or JSON file of settings, as `bife config --json` prints."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any setting `bife config` lists, its value as JSON or plain text; may be repeated and wins.",
        ),
    ] = None,
) -> PipelineConfig:
    """Return the configuration that options name: first a file's settings, then options, then --set.

    A setting that does not exist and a value that does not fit are a `ConfigError`.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    from bife_core.settings import NAMES, configuration, read_settings

    file, assigned = given.pop("config", None), given.pop("settings", ())
    # The same command goes on where it stopped, so it draws no seed.
    chosen = {"seed": 0} | (read_settings(file) if file is not None else {}) | given
    for name, value in map(assignment, assigned):
        if name in ("preset", "instances", *NAMES):
            chosen[name] = value
        else:
            chosen["advanced"] = {**(chosen.get("advanced") or {}), name: value}
    return configuration(chosen)


def with_configuration(command: Command) -> Command:
    """Give a command the options of `resolve`; it gets their outcome as its argument `config`."""

    def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
        # The configuration's module is not imported for help; its type is of no use to typer.
        hints = get_type_hints(function, include_extras=True, localns={"PipelineConfig": object})
        signature = inspect.signature(function).parameters
        return {name: one.replace(annotation=hints[name]) for name, one in signature.items()}

    shared = parameters(resolve)
    every = {name: one for name, one in parameters(command).items() if name != "config"} | shared

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> Any:
        options = {name: arguments.pop(name) for name in shared}
        return command(config=resolve(**options), **arguments)

    wrapped.__signature__ = inspect.Signature(list(every.values()))  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: one.annotation for name, one in every.items()}
    del wrapped.__wrapped__
    return wrapped  # type: ignore[return-value]


def assignment(text: str) -> tuple[str, Any]:
    """Split ``name=value``, or raise `typer.BadParameter`; a value that is no JSON is taken as text.

    Examples
    --------
    >>> assignment("samples=20"), assignment("size=tiny"), assignment("evaluation.seeds=[0,1]")
    (('samples', 20), ('size', 'tiny'), ('evaluation.seeds', [0, 1]))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} is not of the form name=value.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()

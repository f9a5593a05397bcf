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
    benchmark: Annotated[
        Text, Option(help="Family of generated instances.", show_default="combinatorial_auction")
    ] = None,
    size: Annotated[
        Text, Option(help="Size of generated instances: tiny, test or transfer.", show_default="the preset's")
    ] = None,
    instances: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="Folder of your own .mps, .lp, .cip or .opb instances, instead of a family."
        ),
    ] = None,
    groups: Groups = None,
    search: Annotated[
        Text,
        Option(
            help="How rules are searched for: bife, symbolic, random, or a plugin's search (docs/searches.md).",
            show_default="the preset's, or bife with --generator",
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
    seed: Annotated[
        int | None, Option(min=0, help="Seed of the search; expert samples and instances stay the same.")
    ] = None,
    preset: Annotated[
        Literal["smoke", "quick", "paper"],
        Option(help="Budget to start from: seconds, for tests; minutes; or the paper's."),
    ] = "quick",
    solver: Annotated[
        Text,
        Option(
            metavar="default|paper|FILE.set",
            help="SCIP's settings in all stages: its own, the paper's (cuts at the root, no restarts), or a file's.",
            show_default="the preset's",
        ),
    ] = None,
    workers: Annotated[
        int | None, Option(min=1, help="Solver processes, one pinned per core; all cores by default.")
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="YAML, TOML or JSON file of settings, as `bife config --json` prints; it wins over --preset.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="SECTION.KEY=VALUE",
            help="Any setting `bife config` lists, its value as JSON or plain text; may be repeated and wins.",
        ),
    ] = None,
) -> PipelineConfig:
    """Return the configuration that options name: preset, then file, options, --set.

    The preset is that of the family that file, options or --set name. Options that contradict each other are a
    `typer.BadParameter`, a setting that does not exist and a value that does not fit a `ConfigError`.
    """
    from bife_core.presets import preset as named, with_overrides
    from bife_core.settings_file import read_settings

    overrides = read_settings(config) if config is not None else {}
    if instances is not None:
        if benchmark is not None or size is not None:
            raise typer.BadParameter("Give --instances, or --benchmark and --size, but not both.")
        overrides |= {"instances.benchmark": "folder", "instances.folder": instances}
    elif benchmark is not None:
        overrides |= {"instances.benchmark": benchmark, "instances.folder": None, "instances.groups": None}
    options = {
        "instances.groups": groups,
        "instances.size": size,
        "search.method": search,
        "search.seed": seed,
        "generator.kind": generator,
        "runner.workers": workers,
        "solver": solver,
    }
    overrides |= {name: value for name, value in options.items() if value is not None}
    overrides |= dict(map(assignment, settings or ()))
    if "generator.kind" in overrides:
        overrides.setdefault("search.method", "bife")  # the search that uses a generator
    return with_overrides(named(preset, overrides.get("instances.benchmark")), overrides)


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
    >>> assignment("search.samples=20"), assignment("instances.size=tiny"), assignment("evaluation.seeds=[0,1]")
    (('search.samples', 20), ('instances.size', 'tiny'), ('evaluation.seeds', [0, 1]))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} is not of the form name=value.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()

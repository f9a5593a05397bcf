"""The options the stages share, and the configuration they make."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig

Command = TypeVar("Command", bound=Callable[..., Any])

PRESETS = {"smoke": "seconds, for tests", "quick": "minutes", "paper": "the paper's budget"}
PROTOCOLS = {
    "quick": "20 instances, 2 seeds, 300 s",
    "paper": "20 instances of two sizes, 5 seeds, 1,000 s",
    "custom": "as preset and settings say",
}
GENERATORS = {
    "offline": "a grammar, no model needed",
    "openai": "a model behind an OpenAI-compatible API",
    "replay": "recorded answers",
}
_WHAT = "Models"
_HOW = "Search"
_SETTINGS = "Settings"


def _presets() -> list[tuple[str, str]]:
    return list(PRESETS.items())


def _protocols() -> list[tuple[str, str]]:
    return list(PROTOCOLS.items())


def _generators() -> list[tuple[str, str]]:
    from bife_core.generators.config import GENERATORS as KNOWN

    return [*GENERATORS.items(), *((name, "a plugin") for name in KNOWN.foreign)]


def _searches() -> list[str]:
    from bife_core.search import SEARCHES

    return list(SEARCHES)


def _benchmarks() -> list[str]:
    from bife_core.benchmarks.config import FAMILIES

    return list(FAMILIES)


PresetOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(PRESETS),
        autocompletion=_presets,
        rich_help_panel=_SETTINGS,
        help="Budget to start from: "
        + "; ".join(f"{name}: {about}" for name, about in PRESETS.items())
        + ".",
    ),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(PROTOCOLS),
        autocompletion=_protocols,
        rich_help_panel=_SETTINGS,
        show_default="custom",
        help="How rules are evaluated: "
        + "; ".join(f"{name}: {about}" for name, about in PROTOCOLS.items())
        + ".",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        rich_help_panel=_SETTINGS,
        show_default="all cores",
        help="Solver processes, one pinned per core.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        rich_help_panel=_SETTINGS,
        help="Any setting `bife config` lists, its value as JSON or plain text; may be repeated and wins.",
    ),
]


def resolve(
    benchmark: Annotated[
        str | None,
        typer.Option(
            autocompletion=_benchmarks,
            rich_help_panel=_WHAT,
            show_default="combinatorial_auction",
            help="Family of generated models.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHAT,
            show_default="the preset's",
            help="Size of the generated models: tiny, test or transfer.",
        ),
    ] = None,
    instances: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=_WHAT,
            help="Folder of your own .mps, .lp or .cip models, instead of a family; "
            "or the word ecole, to have the family drawn by Ecole.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="bife|ecole",
            rich_help_panel=_HOW,
            show_default="bife",
            help="Who extracts the features of recorded decisions; ecole needs the optional package.",
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=_searches,
            rich_help_panel=_HOW,
            show_default="bife",
            help="How rules are searched for: bife, eoh, reevo, llm4branch, ... (docs/searches.md).",
        ),
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(GENERATORS),
            autocompletion=_generators,
            rich_help_panel=_HOW,
            help="Who writes the rules: " + "; ".join(f"{k}: {v}" for k, v in GENERATORS.items()) + ".",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_HOW, show_default="BIFE_LLM_MODEL", help="Model of --generator openai."
        ),
    ] = None,
    replay_from: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=_HOW, help="Recorded answers of --generator replay."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            rich_help_panel=_HOW,
            show_default="0",
            help="Seed of the search; decisions and instances stay the same.",
        ),
    ] = None,
    preset: PresetOption = "quick",
    protocol: ProtocolOption = None,
    workers: WorkersOption = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_SETTINGS,
            help="JSON file of settings, such as `bife config --json` prints; it wins over --preset.",
        ),
    ] = None,
    settings: SetOption = None,
) -> PipelineConfig:
    """Return the configuration the options name: preset, then protocol, file, options, --set.

    Raises
    ------
    typer.BadParameter
        If options contradict each other.
    ConfigError
        If a setting does not exist or a value does not fit.
    """
    from bife_core.config import protocol as named_protocol
    from bife_core.presets import preset as named
    from bife_core.presets import with_overrides

    overrides: dict[str, Any] = {}
    if config is not None:
        overrides |= dict(_flat(_read_json(config)))
    if instances == Path("ecole") and not instances.is_dir():
        overrides["instances.drawn_by"] = "ecole"
        instances = None
    if instances is not None:
        if benchmark is not None or size is not None:
            raise typer.BadParameter(
                "--instances takes the place of --benchmark and --size: give one or the other."
            )
        overrides |= {"instances.benchmark": "folder", "instances.folder": instances}
    elif benchmark is not None:
        overrides |= {"instances.benchmark": benchmark, "instances.folder": None}
    if replay_from is not None and generator is None:
        generator = "replay"
    given = {
        "instances.size": size,
        "collection.features": features,
        "search.method": search,
        "generator.kind": generator,
        "generator.model": model,
        "generator.replay_from": replay_from,
        "search.seed": seed,
        "workers": workers,
    }
    overrides |= {key: value for key, value in given.items() if value is not None}
    overrides |= dict(map(assignment, settings or ()))
    begun = named(preset)  # type: ignore[arg-type]
    if protocol is not None and protocol != "custom":
        begun = begun.model_copy(update={"evaluation": named_protocol(protocol)})  # type: ignore[arg-type]
        overrides = _without_sizes_of_a_folder(overrides)
    resolved = with_overrides(begun, overrides)
    kind = resolved.generator.kind
    if model is not None and kind != "openai":
        raise typer.BadParameter(f"--model goes with --generator openai, not with {kind}.")
    if replay_from is not None and kind != "replay":
        raise typer.BadParameter(f"--replay-from goes with --generator replay, not with {kind}.")
    return resolved


def _without_sizes_of_a_folder(overrides: dict[str, Any]) -> dict[str, Any]:
    """Return overrides under which a protocol made for families evaluates a user's models as they are."""
    alone = overrides.get("instances.folder") is not None or "instances.size" in overrides
    return {"evaluation.sizes": ()} | overrides if alone else overrides


def with_configuration(command: Command) -> Command:
    """Give a command all options of `resolve`; it gets the outcome as its keyword argument `config`."""
    shared = _parameters(resolve)
    own = [parameter for parameter in _parameters(command) if parameter.name != "config"]

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        options = {parameter.name: given.pop(parameter.name) for parameter in shared}
        return command(config=resolve(**options), **given)

    parameters = [*own, *shared]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del wrapped.__wrapped__
    return wrapped  # type: ignore[return-value]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a function's parameters, by keyword, their annotations as objects."""
    # The return type is read by type checkers alone; its module is not imported here.
    hints = get_type_hints(function, include_extras=True, localns={"PipelineConfig": object})
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in inspect.signature(function).parameters.values()
    ]


def assignment(text: str) -> tuple[str, Any]:
    """Split ``name=value``; a value that is no JSON is taken as text.

    Examples
    --------
    >>> assignment("search.samples=20"), assignment("instances.size=tiny"), assignment("evaluation.seeds=[0,1]")
    (('search.samples', 20), ('instances.size', 'tiny'), ('evaluation.seeds', [0, 1]))

    Raises
    ------
    typer.BadParameter
        If there is no name or no equals sign.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} is not of the form name=value.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()


def _read_json(path: Path) -> Mapping[str, Any]:
    from bife_core.errors import ConfigError

    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON file: {error}.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold one JSON object of settings, found {type(data).__name__}.")
    return data


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value

"""The options the stages share, and the configuration they make."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_type_hints

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


def _generators() -> list[tuple[str, str]]:
    from bife_core.generators.config import GENERATORS as KNOWN

    return [*GENERATORS.items(), *((name, "a plugin") for name in KNOWN.foreign)]


def _searches() -> list[str]:
    from bife_core.search import SEARCHES

    return list(SEARCHES)


def _benchmarks() -> list[str]:
    from bife_core.benchmarks.config import FAMILIES

    return list(FAMILIES)


def _option(
    kind: Any,
    panel: str,
    meaning: str,
    shown: str | None = None,
    *,
    name: str | None = None,
    choices: Mapping[str, str] | None = None,
    default: Any = None,
    **more: Any,
) -> tuple[Any, Any]:
    """Return an option's annotation and default; what is `shown` as default is what None comes to."""
    if choices is not None:
        offered = list(choices.items())
        more = {"metavar": "|".join(choices), "autocompletion": lambda: offered} | more
        meaning = f"{meaning}: {'; '.join(f'{choice}: {about}' for choice, about in offered)}."
    more |= {"show_default": shown} if shown is not None else {}
    names = [name] if name is not None else []
    return Annotated[kind, typer.Option(*names, rich_help_panel=panel, help=meaning, **more)], default


_WHAT, _HOW, _SETTINGS = "Models", "Search", "Settings"
_Text, _File, _Count = str | None, Path | None, int | None

OPTIONS: Final = {
    "benchmark": _option(
        _Text, _WHAT, "Family of generated models.", "combinatorial_auction", autocompletion=_benchmarks
    ),
    "size": _option(_Text, _WHAT, "Size of the generated models: tiny, test or transfer.", "the preset's"),
    "instances": _option(
        _File,
        _WHAT,
        "Folder of your own .mps, .lp or .cip models, instead of a family; or the word ecole, to have the family "
        "drawn by Ecole.",
        metavar="DIR",
    ),
    "search": _option(
        _Text,
        _HOW,
        "How rules are searched for: bife, symbolic, random, or a search of another package (docs/searches.md).",
        "the preset's, or bife with --generator",
        metavar="NAME",
        autocompletion=_searches,
    ),
    "generator": _option(_Text, _HOW, "Who writes the rules", choices=GENERATORS, autocompletion=_generators),
    "model": _option(_Text, _HOW, "Model of --generator openai.", "BIFE_LLM_MODEL"),
    "replay_from": _option(_File, _HOW, "Recorded answers of --generator replay.", metavar="DIR"),
    "seed": _option(_Count, _HOW, "Seed of the search; decisions and instances stay the same.", "0", min=0),
    "preset": _option(str, _SETTINGS, "Budget to start from", choices=PRESETS, default="quick"),
    "solver": _option(
        _Text,
        _SETTINGS,
        "How SCIP is set up: as in the paper (cuts at the root, no restarts), by its defaults, or by a settings file.",
        "paper",
        metavar="paper|default|FILE.set",
    ),
    "protocol": _option(_Text, _SETTINGS, "How rules are evaluated", "custom", choices=PROTOCOLS),
    "workers": _option(_Count, _SETTINGS, "Solver processes, one pinned per core.", "all cores", min=1),
    "config": _option(
        _File,
        _SETTINGS,
        "YAML, TOML or JSON file of settings, such as `bife config --json` prints; it wins over --preset.",
        metavar="FILE",
    ),
    "settings": _option(
        list[str] | None,
        _SETTINGS,
        "Any setting `bife config` lists, its value as JSON or plain text; may be repeated and wins.",
        name="--set",
        metavar="SECTION.KEY=VALUE",
    ),
}
"""What all stages can be told, by the name of the parameter."""

_SETTING_OF: Final = {
    "size": "instances.size",
    "search": "search.method",
    "generator": "generator.kind",
    "model": "generator.model",
    "replay_from": "generator.replay_from",
    "seed": "search.seed",
    "workers": "runner.workers",
}
"""Options that stand for one setting each."""


def resolve(**given: Any) -> PipelineConfig:
    """Return the configuration that `OPTIONS` name: preset, then protocol, file, options, --set.

    Preset and protocol are those of the family that file, options or --set name.

    Raises
    ------
    typer.BadParameter
        If options contradict each other.
    ConfigError
        If a setting does not exist or a value does not fit.
    """
    from bife_core.presets import evaluation_protocol, preset, with_overrides
    from bife_core.settings_file import read_settings

    chosen = {name: value for name, value in given.items() if value is not None}
    overrides = read_settings(chosen["config"]) if "config" in chosen else {}
    folder = chosen.get("instances")
    if folder == Path("ecole") and not folder.is_dir():
        overrides["instances.drawn_by"] = "ecole"
        folder = None
    if folder is not None:
        if chosen.keys() & {"benchmark", "size"}:
            raise typer.BadParameter(
                "--instances takes the place of --benchmark and --size: give one or the other."
            )
        overrides |= {"instances.benchmark": "folder", "instances.folder": folder}
    elif "benchmark" in chosen:
        overrides |= {"instances.benchmark": chosen["benchmark"], "instances.folder": None}
    if "replay_from" in chosen:
        chosen.setdefault("generator", "replay")
    overrides |= {key: chosen[name] for name, key in _SETTING_OF.items() if name in chosen}
    if "solver" in chosen:
        overrides |= {f"{stage}.solver": chosen["solver"] for stage in ("collection", "high", "evaluation")}
    overrides |= dict(map(assignment, chosen.get("settings", ())))
    if "generator.kind" in overrides:
        # Who says who writes the rules wants a search that has them written.
        overrides.setdefault("search.method", "bife")
    family = overrides.get("instances.benchmark")
    begun = preset(chosen.get("preset", "quick"), family)
    protocol = chosen.get("protocol", "custom")
    if protocol != "custom":
        begun = begun.model_copy(update={"evaluation": evaluation_protocol(protocol, family)})
        if overrides.get("instances.folder") is not None or "instances.size" in overrides:
            # A protocol is made for families; a user's models are evaluated as they are.
            overrides = {"evaluation.sizes": ()} | overrides
    resolved = with_overrides(begun, overrides)
    for name, kind in (("model", "openai"), ("replay_from", "replay")):
        found = resolved.generator.kind
        if name in chosen and found != kind:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"--{option} goes with --generator {kind}, not with {found}.")
    return resolved


def with_configuration(*names: str) -> Callable[[Command], Command]:
    """Give a command the options of those names, or all; it gets the outcome as its keyword argument `config`."""
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in OPTIONS.items()
        if name in (names or OPTIONS)
    ]

    def decorate(command: Command) -> Command:
        # The configuration is read by type checkers alone; its module is not imported here.
        hints = get_type_hints(command, include_extras=True, localns={"PipelineConfig": object})
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name != "config"
        ]

        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            options = {parameter.name: given.pop(parameter.name) for parameter in shared}
            return command(config=resolve(**options), **given)

        parameters = [*own, *shared]
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del wrapped.__wrapped__
        return wrapped  # type: ignore[return-value]

    return decorate


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

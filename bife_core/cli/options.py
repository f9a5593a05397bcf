"""The options the stages share, and the configuration they make."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer
from typer import Option

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig

Command = TypeVar("Command", bound=Callable[..., Any])
Groups = Annotated[
    str | None,
    Option(
        metavar="REGEX",
        help="Which of them depend on each other, by their paths: those with the same match of this regular "
        "expression, or of its first capture group.",
    ),
]


def _option(kind: Any, about: str, default: str | None = None, **more: Any) -> Any:
    """Return the annotation of an option, with what is shown as its default."""
    return Annotated[kind | None, Option(help=about, show_default=default or True, **more)]


OPTIONS: Final[dict[str, Any]] = {
    "preset": _option(
        Literal["smoke", "quick", "paper"],
        "What is left out: a budget of seconds, for tests; minutes; or the paper's.",
        "quick",
    ),
    "instances": _option(
        str,
        "Family of generated instances, or folder of your own .mps, .lp, .cip or .opb files.",
        "combinatorial_auction",
        metavar="FAMILY|DIR",
    ),
    "size": _option(str, "Size of generated instances: tiny, test or transfer.", "the preset's"),
    "groups": Groups,
    "solver": _option(
        str,
        "SCIP's settings in all stages: its own, the paper's (cuts at the root, no restarts), or a file's.",
        "the preset's",
        metavar="default|paper|FILE.set",
    ),
    "search": _option(
        str,
        "How rules are searched for: bife, symbolic, random, or a plugin's search (docs/searches.md).",
        "the preset's, or bife with --generator",
    ),
    "samples": _option(int, "Rules to sample in all.", "the preset's", min=1),
    "seed": _option(int, "Seed of the search; expert samples and instances stay the same.", "0", min=0),
    "generator": _option(
        str,
        "What writes the rules: a grammar, a model behind an OpenAI-compatible API, recorded answers, or a plugin.",
        metavar="offline|openai|replay|NAME",
    ),
    "model": _option(str, "Name of the API's model, instead of BIFE_LLM_MODEL."),
    "about": _option(
        str, "What the instances are, in words for the model; a folder's name is not sent to it."
    ),
    "usd": _option(float, "US dollars that model calls may cost.", min=0),
    "hours": _option(float, "Wall-clock hours that the search may run, over all its starts.", min=0),
    "workers": _option(int, "Solver processes, one pinned per core; all cores by default.", min=1),
    "approval": _option(
        Literal["gate", "person"],
        "Who makes a registered rule champion: the numbers alone, or a person after them.",
    ),
    "config": _option(
        Path, "YAML, TOML or JSON file of settings, as `bife config --json` prints.", metavar="FILE"
    ),
    "settings": Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any setting `bife config` lists, its value as JSON or plain text; may be repeated and wins.",
        ),
    ],
}
"""Annotation of each shared option by its name; most are called as `bife_core.settings` has them."""


def resolve(defaults: Mapping[str, Any] | None = None, **options: Any) -> PipelineConfig:
    """Return the configuration that options name: first `defaults`, a file's settings, then options, then --set.

    A setting that does not exist and a value that does not fit are a `ConfigError`.
    """
    from bife_core.settings import NAMES, configuration, read_settings

    given = {name: value for name, value in options.items() if value is not None}
    file, assigned = given.pop("config", None), given.pop("settings", ())
    # The same command goes on where it stopped, so it draws no seed.
    chosen = {"seed": 0, **(defaults or {})} | (read_settings(file) if file is not None else {}) | given
    for name, value in map(assignment, assigned):
        if name in ("preset", "instances", *NAMES):
            chosen[name] = value
        else:
            chosen["advanced"] = {**(chosen.get("advanced") or {}), name: value}
    return configuration(chosen)


def with_configuration(command: Command, **defaults: Any) -> Command:
    """Give a command the shared options; it gets what they `resolve` to, with `defaults`, as its argument `config`."""
    # The configuration's module is not imported for help; its type is of no use to typer.
    own = inspect.signature(command, eval_str=True, locals={"PipelineConfig": object}).parameters
    every = [parameter for name, parameter in own.items() if name != "config"]
    every += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> Any:
        options = {name: arguments.pop(name) for name in OPTIONS}
        return command(config=resolve(defaults, **options), **arguments)

    wrapped.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in every}
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

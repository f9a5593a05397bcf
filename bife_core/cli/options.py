"""The options the stages share, and the configuration they make."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer
from typer import Option
from typer.core import TyperCommand

from bife_core.base.files import check_outputs, write_whole

if TYPE_CHECKING:
    from bife_core.run.config import PipelineConfig
    from bife_core.solver.methods.configuration import Configuration


_CONFIG: Final = "YAML, TOML or JSON file of settings, as `bife config --json` prints."
_SETTINGS: Final = "Any setting `bife config` lists, as JSON or plain text; may be repeated and wins."


def _option(kind: Any, metavar: str | None = None, *flags: str, **more: Any) -> Any:
    return Annotated[kind | None, Option(*flags, metavar=metavar, show_default=False, **more)]


OPTIONS: Final[dict[str, Any]] = {
    "preset": _option(Literal["smoke", "quick", "paper"]),
    "instances": _option(str, "FAMILY|DIR"),
    "size": _option(str, "NAME"),
    "groups": _option(str, "REGEX"),
    "solver": _option(str, "default|paper|FILE.set"),
    "search": _option(str, "NAME"),
    "samples": _option(int, "N", min=1),
    "seed": _option(int, "N", min=0, help="Seed of all draws of the search. Default: 0."),
    "generator": _option(str, "offline|openai|replay|NAME"),
    "model": _option(str, "NAME"),
    "about": _option(str, "TEXT"),
    "usd": _option(float, "USD", min=0),
    "hours": _option(float, "H", min=0),
    "workers": _option(int, "N", min=1),
    "approval": _option(Literal["gate", "person"]),
    "config": _option(Path, "FILE", help=_CONFIG),
    "settings": _option(list[str], "NAME=VALUE", "--set", help=_SETTINGS),
}
"""Annotation of each shared option by its name; those without a help are settings, see `Command`."""


def _of_configuration(output: Path) -> Path:
    if output.suffix not in (".json", ".set"):
        raise typer.BadParameter(f"{output.name}: files of a configuration end in .json or .set.")
    return output


_HELP = "Where the best go: .json, or .set for SCIP, with a .json beside it where a .set cannot hold all."
Output: TypeAlias = Annotated[Path, Option(metavar="FILE", callback=_of_configuration, help=_HELP)]
"""The file of a configuration that a command writes, see `keep`."""


class Command(TyperCommand):
    """A command whose help says of an option that is a setting what a form says of it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # as typer calls it
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        settings: list[Any] = [each for each in self.params if each.name in OPTIONS]
        if any(each.help is None for each in settings):
            from bife_core.run.settings import form

            fields = form()["properties"]
            for each in settings:
                each.help = each.help or fields[each.name]["description"]
        super().format_help(ctx, formatter)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options in place of its `options`, which it has to `resolve`."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    options = [each for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in options}
    return command


def resolve(options: Mapping[str, Any], **defaults: Any) -> PipelineConfig:
    """Return the configuration that options name: first `defaults`, a file's settings, then options, then --set."""
    from bife_core.run.settings import NAMES, configuration, read_settings

    chosen = {name: value for name, value in options.items() if value is not None}
    file, assigned = chosen.pop("config", None), chosen.pop("settings", ())
    # The same command goes on where it stopped, so it draws no seed.
    settings = {"seed": 0, **defaults, **(read_settings(file) if file is not None else {}), **chosen}
    for name, value in map(assignment, assigned):
        if name in ("preset", "instances", *NAMES):
            settings[name] = value
        else:
            settings["advanced"] = {**(settings.get("advanced") or {}), name: value}
    return configuration(settings)


def check_kept(output: Path, folder: Path | None, *read: object) -> None:
    """Raise what `keep` would, or a `ConfigError` if it wrote over an instance of a folder or what else is `read`."""
    from bife_core.instances.folder import instance_files

    instances = () if folder is None else instance_files(folder)
    check_outputs([output, output.with_suffix(".json")], (*read, *instances))


def keep(configuration: Configuration, output: Path) -> str:
    """Write the files of a configuration, and say how they are used."""
    files = configuration.files(output)
    for path, text in files.items():
        write_whole(path, text)
    first = next(iter(files))
    lacks = " and ".join(configuration.beside_settings)
    further = f"; {output} is its settings without {lacks}" if len(files) > 1 else ""
    shell = f", or scip -s {output}" if first.suffix == ".set" else further
    return f"At once: bife solve MODEL --rule {first}{shell}."


def assignment(text: str) -> tuple[str, Any]:
    """Split ``name=value``, or raise `typer.BadParameter`; a value that is no JSON is taken as text.

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

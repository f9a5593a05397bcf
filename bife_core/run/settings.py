"""Settings as people give them, under one name each on the command line, in a form and in a file.

The few that most runs change stand by themselves, the others below `advanced`, in the sections of `PipelineConfig`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import yaml
from pydantic import BeforeValidator, WithJsonSchema

from bife_core.base.errors import ConfigError
from bife_core.base.files import can_be_path
from bife_core.instances.config import FAMILIES
from bife_core.run.config import PipelineConfig
from bife_core.run.presets import PresetName, preset, with_overrides

NAMES: Final = {
    "size": "instances.size",
    "groups": "instances.groups",
    "solver": "solver",
    "search": "search.algorithm",
    "samples": "search.samples",
    "seed": "search.seed",
    "generator": "generator.kind",
    "model": "generator.model",
    "about": "generator.about",
    "usd": "budget.usd",
    "hours": "budget.hours",
    "workers": "runner.workers",
    "approval": "approval",
}
"""Name of a setting that stands by itself -> where it is in `PipelineConfig`; `preset` and `instances` come first."""

_PRESET: Final = (
    "The scale, and what is left out below: a minute, for tests (smoke), minutes (quick), or days, as published "
    "(paper). Default: quick."
)
_YAML: Final = ("YAML", yaml.safe_load)
_READERS: Final = {".toml": ("TOML", tomllib.loads), ".yaml": _YAML, ".yml": _YAML}
"""Format and reader of a file by its suffix; any other file is JSON."""


def configuration(settings: Mapping[str, Any]) -> PipelineConfig:
    """Return the configuration that settings name; what they leave out, or set to None, is their preset's.

    Without a `seed` each run draws one. A `generator` is used by the search `bife`, unless they name another,
    and fewer `samples` than the preset's initial ones are all initial.
    """
    named = {name: value for name, value in settings.items() if value is not None}
    name, instances, advanced = named.pop("preset", "quick"), named.pop("instances", None), {}
    if not isinstance(nested := named.pop("advanced", {}), Mapping):
        raise ConfigError(f"'advanced' holds settings by name; found {type(nested).__name__}.")
    short_of = {dotted: short for short, dotted in NAMES.items()}
    for dotted, value in flat(nested):
        if dotted in short_of:
            raise ConfigError(f"'advanced' has no {dotted!r}: it stands by itself, as {short_of[dotted]!r}.")
        advanced[dotted] = value
    if unknown := named.keys() - NAMES.keys():
        raise ConfigError(f"There is no setting {min(unknown)!r}; `bife config` lists them all.")
    overrides = {"search.seed": None} | {NAMES[short]: value for short, value in named.items()}
    if instances is not None:
        overrides |= _instances(str(instances))
    if "generator" in named:
        overrides.setdefault("search.algorithm", "bife")
    start = preset(name, overrides.get("instances.benchmark"))
    if isinstance(samples := named.get("samples"), int):
        overrides["search.initial"] = min(start.search.initial, max(samples, 1))
    try:
        return with_overrides(start, overrides | advanced)
    except ConfigError as error:
        text = str(error)
        for dotted, short in short_of.items():
            text = text.replace(f"{dotted}: ", f"{short}: ")
        raise ConfigError(text) from error


def _instances(name: str) -> dict[str, Any]:
    if name in FAMILIES:
        return {"instances.benchmark": name}
    if not can_be_path(name) or not Path(name).is_dir():
        families, where = ", ".join(FAMILIES), "" if name.startswith("/") else f" in {Path.cwd()}"
        raise ConfigError(f"instances: {name} is no folder{where}, and no family; families are {families}.")
    return {"instances.benchmark": "folder", "instances.folder": name}


def settings_of(config: PipelineConfig) -> dict[str, Any]:
    """Return all settings of a configuration as JSON has them, the inverse of `configuration`."""
    advanced = config.model_dump(mode="json")
    family, folder = (advanced["instances"].pop(part) for part in ("benchmark", "folder"))
    settings: dict[str, Any] = {"instances": folder or family}
    for name, dotted in NAMES.items():
        section, _, key = dotted.partition(".")
        if name != "solver":
            settings[name] = advanced[section].pop(key) if key else advanced.pop(section)
        elif config.solver.name in ("default", "paper"):  # a file is known by what it sets
            settings[name] = advanced[section].pop("name")
    return settings | {"advanced": {name: section for name, section in advanced.items() if section}}


def described(config: PipelineConfig) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value (as JSON has it) and meaning of each setting."""
    settings, fields = settings_of(config), form()["properties"]
    advanced, sections = settings.pop("advanced"), fields["advanced"]["anyOf"][1]["properties"]
    for name, value in settings.items():
        yield name, value, fields[name]["description"]
    for section, values in advanced.items():
        for name, value in values.items():
            yield f"{section}.{name}", value, sections[section]["properties"][name]["description"]


def form() -> dict[str, Any]:
    """Return the JSON schema of all settings in a form's order, without defaults: a form would send them."""
    schema = PipelineConfig.model_json_schema()
    parts = {
        name: schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        for name, part in schema["properties"].items()
    }
    starts = {each: settings_of(configuration({"preset": each})) for each in get_args(PresetName)}
    instances = (
        "What is solved: a family of generated instances, or a folder of your own .mps, .lp, .nl or other files. "
        f"Default: {starts['quick']['instances']}."
    )
    fields: dict[str, Any] = {
        "preset": {"description": _PRESET, "type": "string", "enum": [*starts]},
        "instances": _choice(instances, ("Family", [*FAMILIES]), "Folder"),
    }
    for name, dotted in NAMES.items():
        section, _, key = dotted.partition(".")
        field = parts[section]["properties"].pop(key) if key else parts[section]
        about = f"{schema['properties'][section].get('description', field['description'])} "
        about += _default({each: start[name] for each, start in starts.items()})
        if name == "solver":
            fields[name] = _choice(about, ("By name", ["default", "paper"]), "File")
        else:
            kind, *_ = field.pop("anyOf", [{}])  # the other one is null, which a form has by leaving it out
            fields[name] = field | kind | {"description": about}
    sections = {name: part for name, part in parts.items() if part.get("properties")}
    for name in ("benchmark", "folder"):
        del sections["instances"]["properties"][name]
    for section, part in sections.items():
        for name, field in part["properties"].items():
            of_preset = {each: start["advanced"].get(section, {}).get(name) for each, start in starts.items()}
            field["description"] = f"{field['description']} {_default(of_preset)}"
    first = {name: part["description"].partition("\n")[0] for name, part in sections.items()}
    groups = {name: _group(name, part["properties"], first[name]) for name, part in sections.items()}
    fields["advanced"] = {
        "description": "Any other setting; what is left out is the preset's.",
        # Of a type without a value Prefect's form says that, and nothing else.
        "anyOf": [_group("As the preset", {}), _group("Own", groups)],
    }
    return _group("Settings", fields, "What is solved, and how; what is left out is the preset's.")


def _choice(about: str, listed: tuple[str, list[str]], other: str) -> dict[str, Any]:
    """Return the schema of a text that is chosen from a list, or written by hand."""
    title, names = listed
    ways = [{"title": title, "type": "string", "enum": names}, {"title": other, "type": "string"}]
    return {"description": about, "anyOf": ways}


def _default(of_preset: Mapping[str, Any]) -> str:
    """Say what a setting is where it is left out, from its value in each preset."""
    of_value: dict[str, list[str]] = {}
    for name, value in of_preset.items():
        text = (
            "none" if value in (None, "", [], {}) else value if isinstance(value, str) else json.dumps(value)
        )
        of_value.setdefault(text, []).append(name)
    if len(of_value) > 1:
        listed = (f"{value} ({', '.join(names)})" for value, names in of_value.items())
        return f"Default: {', '.join(listed)}."
    return f"Default: {next(iter(of_value))}."


def _group(title: str, fields: Mapping[str, dict[str, Any]], about: str = "") -> dict[str, Any]:
    ordered = {}
    for position, (name, field) in enumerate(fields.items()):
        switch = {"enum": [True, False]} if field.get("type") == "boolean" else {}  # no box: two states
        kept = {about: value for about, value in field.items() if about != "default"}
        ordered[name] = kept | switch | {"title": name, "position": position}
    group = {"title": title, "type": "object", "properties": ordered, "additionalProperties": False}
    return group | ({"description": about} if about else {})


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file by name, unchecked; raise `ConfigError` if it cannot be read."""
    kind, parse = _READERS.get(path.suffix.lower(), ("JSON", json.loads))
    try:
        data = parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is no {kind} file: {' '.join(str(error).split())}.") from error
    if isinstance(data, dict):
        return data
    expected = f"settings by name, as one {kind} mapping"
    raise ConfigError(f"{path} must hold {expected}; found {type(data).__name__}.")


def flat(data: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name of each setting in sections, and its value."""
    for key, value in data.items():
        # SCIP's own parameters, and a search's options, are one setting each, whatever is in it.
        if isinstance(value, Mapping) and key not in ("params", "options"):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


Settings = Annotated[
    PipelineConfig,
    BeforeValidator(lambda value: configuration(value) if isinstance(value, Mapping) else value),
    WithJsonSchema(form()),
]
"""The parameter of a flow: a configuration, or the settings that a form, a schedule or a program sends."""

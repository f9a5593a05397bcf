"""Files of settings: YAML, TOML or JSON, read into the dotted keys `bife_core.presets.with_overrides` takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from bife_core.errors import ConfigError

_READERS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    ".toml": ("TOML", tomllib.loads),
    ".yaml": ("YAML", yaml.safe_load),
    ".yml": ("YAML", yaml.safe_load),
}
"""What a file is called and read with, by its suffix; any other file is JSON."""


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a file by their dotted keys; whether they exist is not looked at.

    A `ConfigError` says that it cannot be read, is not what its suffix says, or holds more than settings by name.
    """
    kind, parse = _READERS.get(path.suffix.lower(), ("JSON", json.loads))
    try:
        data = parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is no {kind} file: {' '.join(str(error).split())}.") from error
    if not isinstance(data, dict):
        found = type(data).__name__
        raise ConfigError(f"{path} must hold settings by name, as one {kind} mapping; found {found}.")
    return dict(_flat(data))


def _flat(data: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        # SCIP's own parameters are one setting, whatever is in it.
        if isinstance(value, dict) and key != "params":
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value

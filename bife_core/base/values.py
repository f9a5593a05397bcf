"""Base class of settings, requests and results, and their digests, parameters and errors."""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bife_core.base.errors import ConfigError

Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""


class Value(BaseModel):
    """A value: immutable, compared by its fields, and strict about their names."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    def fingerprint(self) -> str:
        """Return a hash of the resolved values, equal for equal values."""
        return digest_of(self.model_dump(mode="json"))[:16]

    @classmethod
    def form(cls) -> dict[str, str]:
        """Return the types of the fields, part of a store's keys, without modules (a class may move) and addresses."""
        types = {name: str(field.annotation) for name, field in cls.model_fields.items()}
        return {name: re.sub(r"(?:\w+\.)+(?=\w)| at 0x[0-9a-f]+", "", text) for name, text in types.items()}

    @classmethod
    def checked(cls, fields: Mapping[str, Any]) -> Self:
        """Return the value with these fields; raise `ConfigError` if they do not fit."""
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise ConfigError(describe(error)) from error


def digest_of(facts: Any) -> str:
    """Return a hash of what serialises to JSON, whatever the order of its names."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def as_params(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names, the params of a run.

    >>> as_params({"high": {"cost": "time"}, "seeds": [0, 1]})
    {'high.cost': 'time', 'seeds': '0 1'}
    """
    params: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            params |= as_params(value, f"{prefix}{name}.")
        else:
            params[prefix + name] = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return params


def describe(error: Exception) -> str:
    """Turn a pydantic error into a sentence: which setting, what was expected, what was found."""
    if not isinstance(error, ValidationError):
        return str(error)
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"]) or "configuration"
        # An error of several fields names them itself.
        value = "" if isinstance(item["input"], dict) else f" (found {reprlib.repr(item['input'])})"
        lines.append(f"{where}: {item['msg'].removeprefix('Value error, ')}{value}")
    return f"{'; '.join(lines)}."

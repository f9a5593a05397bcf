"""The base of everything that crosses a boundary: settings, requests, results."""

from __future__ import annotations

import hashlib
import json
import reprlib
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


def _title(name: str, _: Any) -> str:
    """Return what a form calls a field: ``time_limit_s`` is "Time limit (s)"."""
    words = name.removesuffix("_s").replace("_", " ")
    return words[:1].upper() + words[1:] + (" (s)" if name.endswith("_s") else "")


class Value(BaseModel):
    """A value: immutable, compared by its fields, and strict about their names."""

    model_config = ConfigDict(frozen=True, extra="forbid", field_title_generator=_title)

    def fingerprint(self) -> str:
        """Return a hash of the resolved values, equal for equal values."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe(error: Exception) -> str:
    """Turn a pydantic error into sentences: which setting, what was expected, what was found. Others tell it."""
    if not isinstance(error, ValidationError):
        return str(error)
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"]) or "configuration"
        found = reprlib.repr(item.get("input"))
        lines.append(f"{where}: {item['msg']} (found {found})")
    return f"{'; '.join(lines)}."

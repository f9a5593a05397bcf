"""Calls to a model API on disk, each written before its answer is read, so that none is paid twice."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, ValidationError

from bife_core.config import Settings
from bife_core.errors import GeneratorError
from bife_core.generators.base import Attempt, Message


class Call(Settings):
    """One call as it went out and what came back.

    Attributes
    ----------
    key, number : str, int
        The request's key and the how-many-th call it was for that key, from 1.
    prompt_digest, prompt_version : str
        Hash of `messages`, and of the prompt files they were made from.
    answer : str or None
        Text of the model's message; None where the call failed.
    finish_reason : str or None
        Why the model stopped, in the server's word; "length" means the answer was cut off.
    response : Any
        The whole reply: its JSON value, or its text where it was no JSON.
    """

    schema_version: Literal[1] = 1
    key: str
    number: int = Field(ge=1)
    model: str
    base_url: str
    temperature: float | None = None
    prompt_digest: str
    prompt_version: str
    messages: tuple[Message, ...]
    started_unix_s: float
    seconds: float
    status: Literal["ok", "error"]
    http_status: int | None = None
    error: str | None = None
    answer: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    response: Any = None

    def attempt(self, *, recorded: bool) -> Attempt:
        """Return the call as an `Attempt`; `recorded` says that it was read back, not sent."""
        return Attempt(
            started_unix_s=self.started_unix_s,
            seconds=self.seconds,
            status=self.status,
            error=self.error,
            http_status=self.http_status,
            answer=self.answer,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=self.cost_usd,
            recorded=recorded,
        )


class CallStore:
    """A directory with the file ``<key>.<number>.json`` for every call; keys are percent-encoded.

    Failed calls are kept for the record and are never taken for answers. Threads and processes may share a
    directory as long as no two of them work on the same key.

    Parameters
    ----------
    directory : Path
        Where the files lie; made when the first call is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def calls(self, key: str | None = None) -> list[Call]:
        """Return the calls for `key`, or for all keys, ordered by key and number.

        Raises
        ------
        GeneratorError
            If a file is not a recorded call.
        """
        prefix = "*" if key is None else _file_stem(key)
        found = [_read(path) for path in sorted(self.directory.glob(f"{prefix}.*.json"))]
        return sorted(found, key=lambda call: (call.key, call.number))

    def next_number(self, key: str) -> int:
        """Return the number the next call for `key` will have."""
        return max((call.number for call in self.calls(key)), default=0) + 1

    def write(self, call: Call) -> Path:
        """Write `call` so that its file is either complete or absent, whatever happens meanwhile."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{_file_stem(call.key)}.{call.number:03d}.json"
        text = json.dumps(call.model_dump(mode="json"), indent=1, ensure_ascii=False)
        with tempfile.NamedTemporaryFile(
            dir=self.directory, prefix=".", suffix=".part", delete=False
        ) as part:
            # A model may answer with half a surrogate pair, which UTF-8 cannot hold.
            part.write(text.encode("utf-8", "replace"))
            part.flush()
            os.fsync(part.fileno())
        Path(part.name).replace(path)
        return path

    def answer(self, key: str, prompt_digest: str, *, model: str, temperature: float | None) -> Call | None:
        """Return the latest answer to exactly this request, or None if it was never answered."""
        for call in reversed(self.calls(key)):
            if (
                call.status == "ok"
                and call.prompt_digest == prompt_digest
                and call.model == model
                and call.temperature == temperature
            ):
                return call
        return None


def _file_stem(key: str) -> str:
    return quote(key, safe="").replace(".", "%2E")


def _read(path: Path) -> Call:
    try:
        return Call.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise GeneratorError(
            f"{path} was expected to be a recorded model call and cannot be read as one ({_brief(error)}); "
            "move it away to have the call made again."
        ) from error


def _brief(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc']) or 'file'}: {first['msg']}"
    return str(error)

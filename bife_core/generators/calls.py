"""Calls to a model API on disk: each is a file before it goes out, and its answer is there before it is read.

The files are the ledger. Whatever kills a process, a call that went out is one file, with its tokens and its price
once its answer arrived, and nothing has to be reconciled with them.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, ValidationError

from bife_core.errors import GeneratorError
from bife_core.files import write_new, write_whole
from bife_core.generators.base import Attempt, Message, Outcome
from bife_core.values import describe

INTERRUPTED = "The process ended before the answer came; whether it was billed is not known."
"""What is said of a call that went out and of which nothing more is known."""


class Call(Outcome):
    """One call as it went out and what came back.

    Attributes
    ----------
    key, number : str, int
        The request's key and the how-many-th call it was for that key, from 1.
    operator, generation, parents
        What was asked for, for a reader who has nothing but the file; `parents` are ids.
    prompt_digest, prompt_version : str
        Hash of `messages`, and of the prompt files they were made from.
    status : str
        "sent" until something came back or nothing more can come.
    answer : str or None
        Text of the model's message; None where the call failed.
    finish_reason : str or None
        Why the model stopped, in the server's word; a word for anything but an end means the answer was cut off.
    tokens_estimated : bool
        Whether the server reported no tokens, so that the numbers are guesses from the length of what went out and
        came in.
    response : Any
        The whole reply: its JSON value, or its text where it was no JSON or broke off.
    """

    schema_version: Literal[1] = 1
    key: str
    number: int = Field(ge=1)
    operator: str = ""
    generation: int = 0
    parents: tuple[str, ...] = ()
    model: str
    base_url: str
    temperature: float | None = None
    prompt_digest: str
    prompt_version: str
    messages: tuple[Message, ...]
    status: Literal["sent", "ok", "error"]
    finish_reason: str | None = None
    tokens_estimated: bool = False
    response: Any = None

    @property
    def unknown(self) -> bool:
        """Whether nobody knows what was billed: no whole reply came, or has come yet."""
        return self.status == "sent" or (self.status == "error" and self.tokens_estimated)

    def attempt(self, *, recorded: bool) -> Attempt:
        """Return the call as an `Attempt`; `recorded` says that it was read back, not sent."""
        told = {name: getattr(self, name) for name in Outcome.model_fields}
        if self.status == "sent":
            told["error"] = INTERRUPTED
        status = "ok" if self.status == "ok" else "error"
        return Attempt(**told, status=status, asked=len(self.messages), recorded=recorded)


class CallStore:
    """A directory with the file ``<key>.<number>.json`` for every call; keys are percent-encoded.

    Failed calls are kept for the record and are never taken for answers. Threads and processes may share a
    directory: a number is given once.

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
        found = [read_call(path) for path in sorted(self.directory.glob(f"{prefix}.*.json"))]
        return sorted(found, key=lambda call: (call.key, call.number))

    def begin(self, call: Call) -> Call:
        """Write `call` before it goes out, under the first number its key has free, and return it with that."""
        taken = max((known.number for known in self.calls(call.key)), default=0)
        while True:
            taken += 1
            numbered = call.model_copy(update={"number": taken, "status": "sent"})
            if self._write(numbered, new=True):
                return numbered

    def write(self, call: Call) -> Path:
        """Write `call` so that its file is either complete or as it was, whatever happens meanwhile."""
        self._write(call)
        return self._path(call)

    def answer(self, key: str, prompt_digest: str, *, model: str, temperature: float | None) -> Call | None:
        """Return the latest answer to exactly this request, or None if it was never answered."""
        wanted = ("ok", prompt_digest, model, temperature)
        for call in reversed(self.calls(key)):
            if (call.status, call.prompt_digest, call.model, call.temperature) == wanted:
                return call
        return None

    def _path(self, call: Call) -> Path:
        return self.directory / f"{_file_stem(call.key)}.{call.number:03d}.json"

    def _write(self, call: Call, *, new: bool = False) -> bool:
        """Write the file of a call, unless it is to be `new` and is there; return whether it was written."""
        text = json.dumps(call.model_dump(mode="json"), indent=1, ensure_ascii=False)
        # A model may answer with half a surrogate pair, which UTF-8 cannot hold.
        content = text.encode("utf-8", "replace")
        try:
            if not new:
                write_whole(self._path(call), content)
            elif not write_new(self._path(call), content):
                return False
        except OSError as error:
            # Not left to those who try again on disk trouble: another try would be another paid call.
            raise GeneratorError(
                f"Calls to the model API cannot be written to {self.directory} ({error.strerror or error}); "
                "no call is made that cannot be kept. Make room or set BIFE_HOME, and run again."
            ) from error
        self._sync()
        return True

    def _sync(self) -> None:
        """Have the names on disk too, so that a power cut does not lose a call; Windows knows no such thing."""
        with suppress(OSError):
            descriptor = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def read_call(path: Path) -> Call:
    """Read the file of a call.

    Raises
    ------
    GeneratorError
        If it is none.
    """
    try:
        return Call.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        why = describe(error).rstrip(".")
        raise GeneratorError(
            f"{path} was expected to be a recorded model call and cannot be read as one ({why}); "
            "move it away to have the call made again."
        ) from error


def _file_stem(key: str) -> str:
    return quote(key, safe="").replace(".", "%2E")

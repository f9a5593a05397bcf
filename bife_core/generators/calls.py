"""Calls to a model API in the store: each is a row before it goes out, and its answer is there before it is parsed.

The rows are the ledger. Whatever kills a process, a call that went out is one row, with its tokens and its price once
its answer arrived. Recorded answers of an earlier run may also be read from a directory of JSON files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from bife_core.errors import GeneratorError
from bife_core.generators.base import Attempt, Message, Outcome
from bife_core.store import DATABASE, Store, StoredCall, StoreError
from bife_core.values import describe

INTERRUPTED = "The process ended before the answer came; whether it was billed is not known."
"""What is said of a call that went out and of which nothing more is known."""


class Call(Outcome):
    """One call as it went out and what came back.

    Attributes
    ----------
    key, number : str, int
        The request's key and the how-many-th call it was for that key, from 1.
    kind, operator, generation, parents
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
    kind: Literal["sample", "reflection"] = "sample"
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
    """The calls of one study.

    Failed calls are kept for the record and are never taken for answers. Threads may share it.

    Parameters
    ----------
    store : Store
        Where they are kept.
    study : str
        Key of the study.
    """

    def __init__(self, store: Store, study: str) -> None:
        self.store = store
        self.study = study

    def calls(self, key: str | None = None) -> list[Call]:
        """Return the calls for `key`, or for all keys, ordered by key and number."""
        return [_stored_call(row) for row in self.store.calls(self.study, key)]

    def begin(self, call: Call) -> Call:
        """Store `call` before it goes out, under the first number its key has free, and return it with that.

        Raises
        ------
        GeneratorError
            If it cannot be stored.
        """
        sent = call.model_copy(update={"status": "sent"})
        try:
            number = self.store.begin_call(self.study, call.key, sent.model_dump(mode="json"))
        except StoreError as error:
            raise self._lost(error) from error
        return sent.model_copy(update={"number": number})

    def finish(self, call: Call) -> None:
        """Store what came of a call that `begin` returned.

        Raises
        ------
        GeneratorError
            If it cannot be stored.
        """
        try:
            self.store.finish_call(self.study, call.key, call.number, call.model_dump(mode="json"))
        except StoreError as error:
            raise self._lost(error) from error

    def answer(self, key: str, prompt_digest: str, *, model: str, temperature: float | None) -> Call | None:
        """Return the latest answer to exactly this request, or None if it was never answered."""
        wanted = ("ok", prompt_digest, model, temperature)
        for call in reversed(self.calls(key)):
            if (call.status, call.prompt_digest, call.model, call.temperature) == wanted:
                return call
        return None

    def _lost(self, error: StoreError) -> GeneratorError:
        # Not left to retries for disk trouble: another try would be another billed call.
        return GeneratorError(f"No call is made to the model API that cannot be kept. {error}")


def recorded_calls(directory: Path) -> list[Call]:
    """Return the calls in the store of a folder, or in its JSON files, one each, ordered by key and number.

    Raises
    ------
    GeneratorError
        If a file is not a recorded call.
    """
    if (directory / DATABASE).is_file():
        return [_stored_call(row) for row in Store(directory).calls()]
    found = [_read_call(path) for path in sorted(directory.glob("*.json"))]
    return sorted(found, key=lambda call: (call.key, call.number))


def _stored_call(row: StoredCall) -> Call:
    return Call.model_validate(row.body | {"number": row.number})


def _read_call(path: Path) -> Call:
    try:
        return Call.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        why = describe(error).rstrip(".")
        raise GeneratorError(
            f"{path} was expected to be a recorded model call and cannot be read as one ({why}); move it away."
        ) from error

"""What every rule generator takes and gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Protocol, runtime_checkable

from bife_core.errors import BifeError, GeneratorError
from bife_core.generators.prompt_context import PromptContext
from bife_core.search.types import WrittenRequest
from bife_core.values import Value


class Message(Value):
    """One chat message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Attempt(Value):
    """What one call for a draft took and brought.

    `status` is "sent" until something came back; `answer` is the text of the model's message, None where the call
    failed. `cost_usd` is what it cost, exactly, or None where no prices were set. `asked` says how many of the draft's
    messages it sent, None for all: a second answer is asked for in a longer conversation. A `recorded` one was read
    from the store, and neither sent nor billed again.
    """

    started_unix_s: float
    seconds: float = 0.0
    status: Literal["sent", "ok", "error"]
    error: str | None = None
    http_status: int | None = None
    answer: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal | None = None
    asked: int | None = None
    recorded: bool = False


class Draft(Value):
    """What a generator gave: a rule's source with the thought behind it, a text, or the reason there is none.

    A reflection has a `text` and no source. `seconds` are wall seconds of writing, CPU seconds of a fit. `unanswered`
    is "refused" when the service did not accept the request, "outage" when it gave no answer: then the failure speaks
    of the service and not of a rule.
    """

    key: str
    generator: str
    model: str
    messages: tuple[Message, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    thought: str | None = None
    source: str | None = None
    text: str | None = None
    failure: str | None = None
    seconds: float = 0.0
    unanswered: Literal["outage", "refused"] | None = None


class NoDraftError(BifeError):
    """A request has no answer now; what it means for the search the kinds of this error say.

    `draft` is what was tried, with its calls, so that they can still be traced.
    """

    def __init__(self, reason: str, draft: Draft | None = None) -> None:
        super().__init__(reason)
        self.draft = draft


class DraftingStoppedError(NoDraftError, GeneratorError):
    """No further rule can be written until a person changes something."""


class Generator(Protocol):
    """Writes rules.

    One with a true attribute `needs_context` is given the whole context, which takes reading decisions and instances;
    others get the benchmark's name.
    """

    name: str

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule, or one reflection.

        The request's `id` is unique within a run, and its `seed` is that of all draws. A `GeneratorError` says that no
        further request can succeed either, for instance because the key was refused; as a `DraftingStoppedError` it
        carries what was tried.
        """
        ...


@runtime_checkable
class Repairing(Protocol):
    """A generator that writes a rule again, given what is wrong with the first."""

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Write the rule once more; None where there is nothing to repair.

        `rejected` is what `generate` gave, and `reason` why it is no valid rule, as a sentence.
        """
        ...

"""What every rule generator takes and gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Protocol

from pydantic import Field

from bife_core.values import Value

EohOperator = Literal["i1", "e1", "e2", "m1", "m2"]
"""EoH's prompt operators: initialise, two crossovers, two mutations."""

ReevoOperator = Literal["improve_seed", "reflective_crossover", "elitist_mutation"]
"""ReEvo's: improve the seed rule, cross two rules with a hint, mutate the best rule with what was learnt so far."""

Operator = Literal[EohOperator, ReevoOperator, "skeleton"]
"""All that write a rule; `skeleton` is LLM4Branch's, a rule with named parameters."""

Reflection = Literal["short_term_reflection", "long_term_reflection"]
"""ReEvo's operators that write a text: a hint from two rules, and a lesson from many hints."""


class Parent(Value):
    """A rule shown to the generator."""

    id: str
    source: str
    thought: str | None = None
    f_lf: float | None = None
    f_hf: float | None = None


class DraftRequest(Value):
    """One rule to be written, or one reflection.

    Attributes
    ----------
    key : str
        Name of the call, unique within a run; a recorded answer is found under it again.
    hints : tuple of str
        Reflections to be followed, or to be joined to one.
    seed : int
        Seed of all draws of a generator that draws.
    benchmark : str
        What is being solved, for the prompt.
    """

    key: str
    operator: Operator | Reflection
    parents: tuple[Parent, ...] = ()
    hints: tuple[str, ...] = ()
    seed: int
    benchmark: str


class Message(Value):
    """One chat message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Outcome(Value):
    """What a call to something outside took and brought; `cost_usd` is exact, or None where no prices were set."""

    started_unix_s: float
    seconds: float = 0.0
    error: str | None = None
    http_status: int | None = None
    answer: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal | None = None


class Attempt(Outcome):
    """One call that went out for a draft, successful or not."""

    status: Literal["ok", "error"]
    recorded: bool = Field(False, description="Read back from disk: neither sent nor paid again.")


class Draft(Value):
    """What a generator gave: a rule's source with the thought behind it, a text, or the reason there is none.

    Attributes
    ----------
    skeleton : str or None
        What the operator `skeleton` wrote; `source` is the rule it is at its initial parameters.
    text : str or None
        What a reflection wrote; it has no source.
    unanswered : str or None
        "outage" when nobody answered however often it was tried, "refused" when the request was not accepted:
        then the failure tells of the service and not of a rule, and the same request may fare better later.
    """

    key: str
    generator: str
    model: str
    messages: tuple[Message, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    thought: str | None = None
    source: str | None = None
    skeleton: str | None = None
    text: str | None = None
    failure: str | None = None
    seconds: float = Field(0.0, description="Wall seconds the writing took, waits between calls included.")
    unanswered: Literal["outage", "refused"] | None = None


class Generator(Protocol):
    """Writes rules."""

    name: str

    def generate(self, request: DraftRequest) -> Draft:
        """Write one rule.

        Raises
        ------
        GeneratorError
            When no further request can succeed either, for instance because the key was refused.
        """
        ...

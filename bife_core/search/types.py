"""What a search asks for and what it is told: plain values that serialise to JSON."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from bife_core.config import Operator, Settings


class Candidate(Settings):
    """One sampled rule and all that is known of it.

    Attributes
    ----------
    id : str
        Generation and position, such as ``g03-c05``; unique within a search.
    sha : str or None
        Hash of the rule's normalised syntax tree; None when the sample gave no rule.
    f_lf, f_hf : float or None
        Low and high fidelity, higher is better; None while unknown.
    failure : str or None
        Why the candidate is out, as one sentence; None for a valid rule.
    """

    id: str
    generation: int
    operator: Operator
    parents: tuple[str, ...] = ()
    sha: str | None = None
    source: str | None = None
    thought: str | None = None
    f_lf: float | None = None
    f_hf: float | None = None
    failure: str | None = None

    @property
    def valid(self) -> bool:
        """Whether the rule ran on every decision."""
        return self.failure is None and self.f_lf is not None


class SampleRequest(Settings):
    """Write a rule with `operator` from `parents`, then score it with F_LF."""

    kind: Literal["sample"] = "sample"
    id: str
    generation: int
    operator: Operator
    parents: tuple[Candidate, ...] = ()
    seed: int


class SolveRequest(Settings):
    """Score the rule of `candidate` with F_HF."""

    kind: Literal["solve"] = "solve"
    id: str
    candidate: Candidate


Request = SampleRequest | SolveRequest


class SampleAnswer(Settings):
    """What became of a `SampleRequest`: a rule with its F_LF, or the reason there is none."""

    kind: Literal["sample"] = "sample"
    id: str
    sha: str | None = None
    source: str | None = None
    thought: str | None = None
    f_lf: float | None = None
    failure: str | None = None


class SolveAnswer(Settings):
    """What became of a `SolveRequest`: F_HF, or the reason there is none."""

    kind: Literal["solve"] = "solve"
    id: str
    f_hf: float | None = None
    failure: str | None = None


Answer = SampleAnswer | SolveAnswer


@runtime_checkable
class Search(Protocol):
    """A search is a value: no I/O, no clock, its own random generator.

    Drive it with ``while requests := search.ask(): search.tell(answers_to(requests))``. Answers must come for all
    requests of one `ask` and in their order, so that the history alone rebuilds the search.
    """

    def ask(self) -> tuple[Request, ...]:
        """Return the next requests, all independent of one another; empty when the search is over."""
        ...

    def tell(self, answers: tuple[Answer, ...]) -> None:
        """Take the answers to the requests of the last `ask`."""
        ...

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates so far, in the order they were sampled."""
        ...

    @property
    def best(self) -> Candidate | None:
        """The rule the search would return now, or None while no rule has been solved with."""
        ...

"""The journal of a search: all it was told, from which it is rebuilt exactly."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from bife_core.errors import BifeError
from bife_core.search.answers import settle
from bife_core.search.config import SearchConfig
from bife_core.search.opening import open_search
from bife_core.search.summary import ReportingSearch
from bife_core.search.types import Answer
from bife_core.values import Value, describe


class HistoryError(BifeError):
    """A history of a search cannot be read, or belongs to another search."""


class History(Value):
    """What a search was told, in order; serialises to JSON.

    Attributes
    ----------
    version : int
        Of the format.
    config : SearchConfig
        What the search was made from, its method included.
    answers : tuple of tuple of Answer
        One tuple per `tell`.

    Examples
    --------
    >>> from bife_core.search import SampleAnswer
    >>> config = SearchConfig(samples=1, initial=1)
    >>> history = History(config=config).extended((SampleAnswer(id="g00-c00", failure="no code"),))
    >>> replay(config, History.from_json(history.to_json())).samples[0].failure
    'no code'
    """

    version: Literal[2] = 2
    config: SearchConfig
    answers: tuple[tuple[Annotated[Answer, Field(discriminator="kind")], ...], ...] = ()

    def extended(self, answers: tuple[Answer, ...]) -> History:
        """Return the history with the answers of one more `tell`, settled so that JSON can hold them."""
        settled = tuple(settle(answer) for answer in answers)
        return self.model_copy(update={"answers": (*self.answers, settled)})

    def to_json(self) -> str:
        """Return the history as JSON text."""
        return self.model_dump_json(indent=1)

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read a history.

        Raises
        ------
        HistoryError
            If `text` is not the whole JSON of a history.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise HistoryError(f"This is not the history of a search: {describe(error)}.") from error


def replay(config: SearchConfig, history: History) -> ReportingSearch:
    """Rebuild the search that was told `history`; its next `ask` is the one the original would have made.

    Raises
    ------
    HistoryError
        If the history was made with another configuration, or does not fit what the search asks.
    """
    if history.config != config:
        ours, theirs = config.model_dump(), history.config.model_dump()
        changed = ", ".join(
            f"{key} {theirs[key]!r} -> {ours[key]!r}" for key in ours if ours[key] != theirs[key]
        )
        raise HistoryError(f"The history is of a search configured otherwise ({changed}); start a new one.")
    search = open_search(config)
    for number, answers in enumerate(history.answers):
        search.ask()
        try:
            search.tell(answers)
        except ValueError as error:
            raise HistoryError(f"Step {number} of the history does not fit the search: {error}") from error
    return search

"""The sections `generator` and `budget` of the configuration, and the generators they may name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from bife_core.base.plugins import Plugins
from bife_core.base.values import Positive, Value
from bife_core.search.generators.base import Generator

GENERATORS: Final[Plugins[Callable[..., Generator]]] = Plugins(
    "generator",
    "bife.generators",
    {
        "offline": "bife_core.search.generators.offline:OfflineGenerator",
        "openai": "bife_core.search.generators.openai_compatible:OpenAIGenerator",
        "replay": "bife_core.search.generators.replay:ReplayGenerator",
    },
    callable,
    "a function of a `GeneratorConfig` and an `Account`, or a class made from them",
)
"""Maker of every generator, by the `kind` of its configuration.

One may say more: `identity`, a function of the configuration, what answers depend on beside it; and `key_variable`, the
variable of the environment with a key, which flows may keep as a secret.
"""

Prompts = Literal["paper", "informed"]


class GeneratorConfig(Value):
    """Who writes the rules. Addresses and keys of a model API come from the environment, never from here."""

    kind: Annotated[str, AfterValidator(GENERATORS.required)] = Field(
        "offline",
        description="What writes the rules: a grammar (offline), an OpenAI-compatible API (openai), recorded answers "
        "(replay), or a plugin.",
        json_schema_extra=GENERATORS.offer,
    )
    model: str | None = Field(
        None,
        description="Name of the API's model, or of several with commas between; none reads BIFE_LLM_MODEL.",
    )
    about: str | None = Field(
        None,
        description="What the instances are, in words for the model: a folder's name is not sent.",
    )
    temperature: float | None = Field(None, ge=0, le=2, description="Temperature; None is the API's own.")
    reasoning_effort: str | None = Field(
        None, description="How much the model thinks, such as 'low' or 'high'; None is the API's own."
    )
    max_completion_tokens: int | None = Field(
        None, ge=1, description="Tokens of an answer at most, its reasoning included; None is the API's own."
    )
    prompts: Prompts = Field(
        "informed",
        description="What a prompt has: the paper's plain wording, or scores of parents, magnitudes of features, "
        "the instances in numbers and earlier attempts as well, and why an answer is no valid rule.",
    )
    replay_from: Path | None = Field(None, description="Directory of recorded answers when kind='replay'.")

    @model_validator(mode="after")
    def _replay_has_answers(self) -> GeneratorConfig:
        if self.kind == "replay" and self.replay_from is None:
            raise ValueError("kind='replay' needs 'replay_from', a directory of recorded answers")
        return self


class BudgetConfig(Value):
    """What a search may spend. The limit reached first ends it with the best rule so far; None is no limit.

    No limit is part of a search's identity: raise it and run again, and the search goes on where it stopped.
    What earlier runs of the same search spent counts.
    """

    calls: int | None = Field(None, ge=1, description="Calls to the model API, failed ones included.")
    tokens: int | None = Field(None, ge=1, description="Tokens of prompts and answers together.")
    usd: Positive | None = Field(
        None, description="US dollars that model calls may cost; needs BIFE_LLM_PRICE_IN and _OUT."
    )
    hours: Positive | None = Field(
        None, description="Wall-clock hours that the search may run, over all its starts."
    )
    solver_s: Positive | None = Field(
        None, description="CPU seconds of solves, those of expert samples included."
    )

"""The section `search` of the configuration, and the searches it may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from bife_core.base.errors import ConfigError
from bife_core.base.plugins import Plugins
from bife_core.base.values import Value
from bife_core.language.components import BRANCHING, COMPONENTS

SEARCHES: Final[Plugins[Callable[..., Any]]] = Plugins(
    "search",
    "bife.searches",
    {
        "bife": "bife_core.search.bife:BifeSearch",
        "symbolic": "bife_core.search.symbolic.search:SymbolicSearch",
        "random": "bife_core.search.bife:RandomSearch",
        "bife_without_f_lf": "bife_core.search.bife:HighOnlySearch",
        "given": "bife_core.search.bife:GivenSearch",
    },
    callable,
    "a class that is made from a `SearchConfig`",
)
"""Name of a search (`SearchConfig.algorithm`) -> how it is made from its configuration."""


class SearchConfig(Value):
    """Which search, and its settings: those all searches share, those of BiFE, and a search's own as `options`.

    BiFE's are Algorithm 1 of the paper, with every gap it leaves as a field, and what keeps its threshold from locking.
    """

    algorithm: Annotated[str, AfterValidator(SEARCHES.required)] = Field(
        "bife", description="How rules are searched for.", json_schema_extra=SEARCHES.offer
    )
    component: Annotated[str, AfterValidator(COMPONENTS.required)] = Field(
        BRANCHING.name,
        description="What rules are searched for: branching, or what a package adds, such as the choice of cuts.",
        json_schema_extra=COMPONENTS.offer,
    )
    choose: bool = Field(
        True,
        description="Whether a run searches for starts where no rule helps, and samples fewer rules where these can "
        "change little of the time; not where component or samples are set.",
    )
    samples: int = Field(100, ge=1, description="Rules to sample in all.")
    initial: int = Field(16, ge=1, description="Rules sampled for the initial population.")
    population: int = Field(
        8, ge=1, description="Rules that survive a generation (N), and elites beyond them, up to `elite_cap`."
    )
    elite_fraction: float = Field(0.5, gt=0, le=1, description="alpha: share of N that founds the elite.")
    elite_cap: int | None = Field(
        8, ge=1, description="Elites kept at most, even where they are more than N; None keeps all."
    )
    threshold_share: float | None = Field(
        0.1,
        gt=0,
        le=1,
        description="tau is never above the F_LF this share of all valid samples reaches; None: no such bound.",
    )
    unlike_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the rules that the second parent of a crossover is drawn from: those that choose least "
        "like the first in the recorded decisions; 1 is all.",
    )
    seed: int | None = Field(
        0,
        ge=0,
        description="Seed of all draws of the search; none draws one from the time a run was scheduled for, so that "
        "each run of a schedule searches anew.",
    )
    first_rules: tuple[str, ...] = Field(
        (),
        description="Sources of rules that are scored with the initial ones and use up no budget; a run takes "
        "'champion' for the registered one, and 'archive' for the best of earlier searches of the home, whatever their "
        "family.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Settings of the chosen search alone, by name."
    )

    @property
    def drawn(self) -> int:
        """The seed; raises `ConfigError` if it is null, for which only a run of a stage has a number."""
        if self.seed is None:
            raise ConfigError(
                "search.seed is null: only a run of a stage may leave it so, which takes the seed from the time it was "
                "scheduled for; set a number."
            )
        return self.seed

    @model_validator(mode="after")
    def _initial_fits(self) -> SearchConfig:
        if self.initial > self.samples:
            raise ValueError(f"initial ({self.initial}) cannot exceed samples ({self.samples})")
        return self

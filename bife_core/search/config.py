"""The section `search` of the configuration, and the searches it may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from bife_core.errors import ConfigError
from bife_core.plugins import Plugins
from bife_core.scip.cost import Cost
from bife_core.search.types import EohOperator, Search
from bife_core.values import Value

SEARCHES: Final[Plugins[Callable[..., Any]]] = Plugins(
    "search",
    "bife.searches",
    {
        "bife": "bife_core.search.bife:BifeSearch",
        "symbolic": "bife_core.search.symbolic:SymbolicSearch",
        "random": "bife_core.search.random:RandomSearch",
        "bife_without_f_lf": "bife_core.search.high_only:HighOnlySearch",
        "eoh": "bife_core.search.eoh:EohSearch",
        "reevo": "bife_core.search.reevo:ReevoSearch",
        "llm4branch": "bife_core.search.llm4branch:Llm4BranchSearch",
    },
    callable,
    "a class that is made from a `SearchConfig`",
)
"""Name of a search (`SearchConfig.method`) -> how it is made from its configuration."""


LEAST_TERMS: Final = 2
"""Factors of the smallest rules that are fitted."""


class SymbolicConfig(Value):
    """How rules are fitted to the recorded decisions: by the search 'symbolic'."""

    terms: int = Field(6, ge=LEAST_TERMS, description="Factors a fitted rule may have.")
    children: int = Field(300, ge=1, description="Formulas bred before a rule is chosen.")
    lines: int = Field(
        4,
        ge=1,
        description="Lines of descent that the initial rules of 'symbolic' begin, each without the kind of feature "
        "(pseudocosts, fractionality, ...) that those before it begin with; beyond the kinds there are, they repeat.",
    )


class ReevoConfig(Value):
    """What ReEvo is told beyond the settings all searches share."""

    mutation_rate: float = Field(
        0.5, ge=0, le=1, description="Mutants of the best rule in each generation, as a share of N."
    )
    count_reflections: bool = Field(False, description="Whether a reflection uses up budget as a rule does.")


class Llm4BranchConfig(Value):
    """What LLM4Branch is told beyond the budget of samples; the defaults are the paper's for auctions."""

    training_instances: int = Field(4, ge=1, description="Instances for screening and tuning.")
    screening_limit_s: float = Field(60.0, gt=0, description="CPU seconds a screening solve may take.")
    screening_cost: Cost | None = Field(
        "time", description="What screening compares with RPB's; null is what F_HF is measured in."
    )
    screening_speedup: float = Field(
        0.5, ge=0, description="Speed-up over RPB a program must have on each training instance to be tuned."
    )
    tuning_calls: int = Field(100, ge=0, description="Parameter settings tried for each program.")
    tuning_initial: int = Field(
        10, ge=1, description="Of these, settings drawn before a model proposes them."
    )
    tuning_instances: int = Field(2, ge=1, description="Training instances solved for each setting.")
    tuning_limit_s: float = Field(10.0, gt=0, description="CPU seconds a tuning solve may take.")
    islands: int = Field(8, ge=1, description="Populations that evolve side by side.")
    programs: int = Field(120, ge=1, description="Programs kept over all islands.")
    archive: int = Field(20, ge=1, description="Best programs of all islands, which parents are taken from.")
    bins: int = Field(
        10, ge=1, description="Cells of an island's grid of unlike programs, along each of its two axes."
    )
    elite_ratio: float = Field(0.2, ge=0, le=1, description="Share of an island that may inspire.")
    exploitation: float = Field(0.7, ge=0, le=1, description="Chance that a parent is of the archive.")
    exploration: float = Field(0.2, ge=0, le=1, description="Chance that a parent is any of its island.")
    inspirations: int = Field(3, ge=0, description="Programs shown beside the parent.")
    migration_interval: int = Field(50, ge=1, description="Generations between two migrations.")
    migration_rate: float = Field(
        0.1, ge=0, le=1, description="Share of an island that migrates to the next."
    )

    @model_validator(mode="after")
    def _shares_and_instances_fit(self) -> Llm4BranchConfig:
        if self.exploitation + self.exploration > 1:
            raise ValueError("exploitation and exploration cannot exceed 1 together")
        if self.tuning_instances > self.training_instances:
            raise ValueError(
                f"tuning_instances ({self.tuning_instances}) cannot exceed "
                f"training_instances ({self.training_instances})"
            )
        return self


class SearchConfig(Value):
    """Which search, and its settings: those all searches share, those of BiFE, and a section for each rival.

    BiFE's are Algorithm 1 of the paper, with every gap it leaves as a field, and what keeps its threshold from locking.
    """

    method: str = Field(
        "bife", description="Registered name of the search.", json_schema_extra=SEARCHES.offer
    )
    samples: int = Field(100, ge=1, description="Rules to sample in all.")
    initial: int = Field(16, ge=1, description="Rules sampled for the initial population.")
    population: int = Field(
        8, ge=1, description="Rules that survive a generation (N), and elites beyond them, up to `elite_cap`."
    )
    operators: tuple[EohOperator, ...] = Field(
        ("e1", "e2", "m1", "m2"), min_length=1, description="Operators applied in each generation, in order."
    )
    crossover_parents: int = Field(2, ge=2, description="Parents a crossover reads.")
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
    duplicates: Literal["skip", "solve"] = Field(
        "skip",
        description="Whether a rule earns solves that chose in all recorded decisions like one that was solved with.",
    )
    seed: int | None = Field(
        0,
        ge=0,
        description="Seed of all draws of the search; null draws one from the time a run was scheduled for, so that "
        "each run of a schedule searches anew.",
    )
    start_from_champion: bool = Field(
        False, description="Whether the registered champion is among the first rules a search goes on from."
    )
    first_rules: tuple[str, ...] = Field(
        (), description="Sources of rules that are scored with the initial ones; they use up no budget."
    )
    symbolic: SymbolicConfig = Field(SymbolicConfig(), description="How rules are fitted by 'symbolic'.")
    reevo: ReevoConfig = Field(ReevoConfig(), description="Further settings of the method 'reevo'.")
    llm4branch: Llm4BranchConfig = Field(
        Llm4BranchConfig(), description="Further settings of the method 'llm4branch'."
    )

    @field_validator("method")
    @classmethod
    def _is_known(cls, method: str) -> str:
        return SEARCHES.known(method)

    def in_use(self) -> dict[str, Any]:
        """Return the settings the search reads, as JSON: all but the sections of other searches."""
        # The champion, where one is wished for, is among the first rules by the time a search begins.
        unused = {"reevo", "llm4branch", "start_from_champion"} - {self.method} | (
            set() if self.fits else {"symbolic"}
        )
        return self.model_dump(mode="json", exclude=unused | (set() if self.first_rules else {"first_rules"}))

    @property
    def fits(self) -> bool:
        """Whether any of its rules are fitted to decisions."""
        return self.method == "symbolic"

    @property
    def drawn(self) -> int:
        """The seed, which must be known by now.

        Raises
        ------
        ConfigError
            If it is null.
        """
        if self.seed is None:
            raise ConfigError(
                "search.seed is null, and nobody has drawn a seed: a flow takes it from the time it was scheduled "
                "for; elsewhere set a number."
            )
        return self.seed

    @model_validator(mode="after")
    def _initial_fits(self) -> SearchConfig:
        if self.initial > self.samples:
            raise ValueError(f"initial ({self.initial}) cannot exceed samples ({self.samples})")
        if self.method == "llm4branch" and (self.start_from_champion or self.first_rules):
            raise ValueError("llm4branch begins with a program of its own, not with other rules")
        return self


def open_search(config: SearchConfig) -> Search:
    """Return a new search of the configured method.

    Raises
    ------
    ConfigError
        If no search has that name, or the package that offers it is broken.
    """
    search: Search = SEARCHES.find(config.method)(config)
    return search

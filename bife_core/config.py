"""Configuration as data: one set of models is the command line's options, the Prefect form and the MLflow params.

Every field has a default and a description; unknown keys are errors. The nine gaps the BiFE paper leaves open are
fields of `SearchConfig`, `LowFidelityConfig` and `HighFidelityConfig`; `docs/paper.md` discusses each default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from bife_core.errors import ConfigError
from bife_core.values import Value

Cost = Literal["time", "nodes", "lp_iterations", "gap", "primal_dual_integral"]
"""What one solve costs: CPU seconds, nodes, LP iterations, final gap or primal-dual integral; lower is better."""

EohOperator = Literal["i1", "e1", "e2", "m1", "m2"]
"""EoH's prompt operators: initialise, two crossovers, two mutations."""

ReevoOperator = Literal["improve_seed", "reflective_crossover", "elitist_mutation"]
"""ReEvo's: improve the seed rule, cross two rules with a hint, mutate the best rule with what was learnt so far."""

Operator = Literal[EohOperator, ReevoOperator, "skeleton"]
"""All that write a rule; `skeleton` is LLM4Branch's, a rule with named parameters."""

Reflection = Literal["short_term_reflection", "long_term_reflection"]
"""ReEvo's operators that write a text: a hint from two rules, and a lesson from many hints."""

ProtocolName = Literal["paper", "quick", "custom"]
"""Named evaluation protocols; `custom` is whatever preset, file and options say."""


def _offer_families(schema: dict[str, Any]) -> None:
    from bife_core.benchmarks import FAMILIES  # which import this module

    schema["enum"] = [*FAMILIES, "folder"]


def _offer_sizes(schema: dict[str, Any]) -> None:
    from bife_core.benchmarks import FAMILIES

    schema["enum"] = list(dict.fromkeys(size for family in FAMILIES.values() for size in family.sizes))


def _offer_branchers(schema: dict[str, Any]) -> None:
    from bife_core.scip.solving import BUILTIN_BRANCHERS

    schema["enum"] = list(BUILTIN_BRANCHERS)


class InstancesConfig(Value):
    """Which models are solved."""

    benchmark: str = Field(
        "combinatorial_auction",
        description="Registered family, or 'folder'.",
        json_schema_extra=_offer_families,
    )
    size: str = Field(
        "test",
        description="A size the family names, such as 'test' or 'transfer'.",
        json_schema_extra=_offer_sizes,
    )
    folder: Path | None = Field(
        None, description="Directory of .mps/.lp/.cip models when benchmark='folder'."
    )
    seed: int = Field(0, ge=0, description="Seed all instances and the split of a folder are derived from.")
    drawn_by: Literal["bife", "ecole"] = Field(
        "bife", description="Whose generators draw a family's models; 'ecole' needs the optional package."
    )

    @model_validator(mode="after")
    def _folder_goes_with_folder(self) -> InstancesConfig:
        if (self.benchmark == "folder") != (self.folder is not None):
            raise ValueError("'folder' and benchmark='folder' go together: give both or neither")
        if self.folder is not None and self.drawn_by != "bife":
            raise ValueError("drawn_by='ecole' goes with a family, not with a folder of models")
        return self

    @property
    def label(self) -> str:
        """Short name used in run names and for the registered model."""
        return self.folder.resolve().name if self.folder is not None else self.benchmark


class CollectionConfig(Value):
    """How strong-branching decisions are recorded."""

    decisions: int = Field(1000, ge=1, description="Decisions to record in all.")
    max_instances: int = Field(200, ge=1, description="Design instances that may be solved for them.")
    decisions_per_instance: int | None = Field(
        None, ge=1, description="Decisions taken from one instance at most; None takes all it gives."
    )
    expert_probability: float = Field(
        1.0, gt=0, le=1, description="Chance that a node is given to the expert; others follow pseudocosts."
    )
    time_limit_s: float = Field(600.0, gt=0, description="CPU seconds spent on one instance at most.")
    seed: int = Field(0, ge=0, description="Seed of the choice of expert nodes and of the solver.")
    features: Literal["bife", "ecole"] = Field(
        "bife", description="Who extracts the features that are recorded; 'ecole' needs the optional package."
    )


class LowFidelityConfig(Value):
    """F_LF: agreement with the recorded decisions."""

    ties: Literal["any", "first"] = Field(
        "any", description="'any' credits every candidate with the best expert score, 'first' only the first."
    )
    time_limit_s: float = Field(30.0, gt=0, description="Wall seconds before a rule is stopped and rejected.")


class HighFidelityConfig(Value):
    """F_HF: minus the mean cost of solving the design instances."""

    instances: int = Field(20, ge=1, description="Design instances to solve.")
    cost: Cost = Field("time", description="What a solve costs.")
    mean: Literal["arithmetic", "geometric"] = Field("arithmetic", description="How costs are averaged.")
    time_limit_s: float = Field(60.0, gt=0, description="CPU seconds one solve may take.")
    seed: int = Field(0, ge=0, description="SCIP's randomisation seed.")


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


def _list_searches(schema: dict[str, Any]) -> None:
    from bife_core.search.registry import SEARCHES

    schema["enum"] = list(SEARCHES)


class SearchConfig(Value):
    """Which search, and its settings: those all searches share, those of BiFE, and a section for each rival.

    BiFE's are Algorithm 1 of the paper, with every gap it leaves as a field.
    """

    method: str = Field(
        "bife", description="Registered name of the search.", json_schema_extra=_list_searches
    )
    samples: int = Field(100, ge=1, description="Rules to sample in all.")
    initial: int = Field(16, ge=1, description="Rules sampled for the initial population.")
    population: int = Field(8, ge=1, description="Rules that survive a generation (N).")
    operators: tuple[EohOperator, ...] = Field(
        ("e1", "e2", "m1", "m2"), min_length=1, description="Operators applied in each generation, in order."
    )
    crossover_parents: int = Field(2, ge=2, description="Parents a crossover reads.")
    elite_fraction: float = Field(0.5, gt=0, le=1, description="alpha: share of N that founds the elite.")
    elite_cap: int | None = Field(
        None, ge=1, description="Elites kept at most; None keeps all, and the population may outgrow N."
    )
    admission: Literal["at_least", "above"] = Field(
        "at_least", description="Whether F_LF must reach tau or exceed it to earn solves."
    )
    survivors: Literal["new", "population"] = Field(
        "new", description="Who fills the places elites leave: only new rules, or all that were alive."
    )
    rank_base: Literal[0, 1] = Field(0, description="Rank of the best parent in p(r) ~ 1 / (r + N).")
    count_failures: bool = Field(True, description="Whether a sample that gave no valid rule uses up budget.")
    seed: int = Field(0, ge=0, description="Seed of all draws of the search.")
    reevo: ReevoConfig = Field(ReevoConfig(), description="Further settings of the method 'reevo'.")
    llm4branch: Llm4BranchConfig = Field(
        Llm4BranchConfig(), description="Further settings of the method 'llm4branch'."
    )

    @field_validator("method")
    @classmethod
    def _is_registered(cls, method: str) -> str:
        from bife_core.search.registry import SEARCHES

        if method not in SEARCHES:
            raise ValueError(f"There is no search {method!r}; choose one of {', '.join(sorted(SEARCHES))}")
        return method

    def in_use(self) -> dict[str, Any]:
        """Return the settings the search reads, as JSON: all but the sections of other searches."""
        sections = {"reevo", "llm4branch"}
        return self.model_dump(mode="json", exclude=sections - {self.method})

    @model_validator(mode="after")
    def _initial_fits(self) -> SearchConfig:
        if self.initial > self.samples:
            raise ValueError(f"initial ({self.initial}) cannot exceed samples ({self.samples})")
        return self


class GeneratorConfig(Value):
    """Who writes the rules. Addresses and keys of a model API come from the environment, never from here."""

    kind: Literal["offline", "openai", "replay"] = Field(
        "offline", description="Offline grammar, an OpenAI-compatible API, or recorded answers."
    )
    model: str | None = Field(None, description="Model name; None reads BIFE_LLM_MODEL.")
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; None is the API's own."
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
    samples: int | None = Field(
        None, ge=1, description="Rules sampled; `search.samples` is the size of the whole search."
    )
    tokens: int | None = Field(None, ge=1, description="Tokens of prompts and answers together.")
    prompt_tokens: int | None = Field(None, ge=1, description="Tokens of prompts.")
    completion_tokens: int | None = Field(None, ge=1, description="Tokens of answers.")
    usd: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="US dollars; needs BIFE_LLM_PRICE_IN and _OUT."
    )
    hours: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Wall-clock hours the search runs, over all its starts."
    )


class ValidationConfig(Value):
    """How the final rule is chosen: the best few by F_HF are solved with again, on instances of their own.

    The greatest of many noisy F_HF flatters its rule; a second look on other instances does not.
    """

    finalists: int = Field(5, ge=1, description="Rules with the best F_HF to choose among; 1 takes the best.")
    instances: int = Field(20, ge=1, description="Validation instances, apart from design and test.")
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="SCIP seeds per instance.")


class EvaluationConfig(Value):
    """How methods are compared with a baseline on instances they never saw."""

    instances: int = Field(20, ge=1, description="Held-out test instances of each size.")
    seeds: tuple[int, ...] = Field((0, 1, 2, 3, 4), min_length=1, description="SCIP seeds per instance.")
    sizes: tuple[str, ...] = Field(
        (), description="Sizes of the family to evaluate on, in order; empty is the size of the models."
    )
    time_limit_s: float = Field(1000.0, gt=0, description="CPU seconds one solve may take.")
    baseline: str = Field(
        "relpscost",
        description="Branching the rule is compared with; relpscost is RPB.",
        json_schema_extra=_offer_branchers,
    )
    metric: Cost = Field("time", description="What methods are compared by.")
    confidence: float = Field(0.95, gt=0, lt=1, description="Level of intervals and tests.")
    warm_up_s: float = Field(
        2.0, ge=0, description="CPU seconds each solver process spends on an unmeasured solve first."
    )
    reuse_baseline: bool = Field(
        False, description="Whether earlier solves of SCIP's own branchers on this machine may be reused."
    )

    @property
    def protocol(self) -> ProtocolName:
        """Name of the protocol these settings are, whatever they were made from."""
        same = ("instances", "seeds", "sizes", "time_limit_s", "baseline", "warm_up_s")
        for name in ("paper", "quick"):
            named = protocol(name)
            if all(getattr(self, field) == getattr(named, field) for field in same):
                return name
        return "custom"


class RunnerConfig(Value):
    """Where solves and scores run, and how many at once; the rules found do not depend on it."""

    kind: Literal["thread", "process", "dask", "ray"] = Field(
        "thread",
        description="'thread' and 'process' use this machine, 'dask' and 'ray' a cluster; 'process' passes "
        "everything on as a cluster would.",
    )
    address: str | None = Field(
        None,
        description="Address of the cluster, such as tcp://head:8786 or ray://head:10001; None starts one here.",
    )

    workers: int | None = Field(
        None, ge=1, description="Solver processes, one pinned per core; None uses all cores."
    )

    @model_validator(mode="after")
    def _only_clusters_have_addresses(self) -> RunnerConfig:
        if self.address is not None and self.kind not in ("dask", "ray"):
            raise ValueError(f"an address goes with kind='dask' or kind='ray', not with {self.kind!r}")
        return self


class PipelineConfig(Value):
    """Everything one run from instances to a registered rule needs."""

    instances: InstancesConfig = InstancesConfig()
    collection: CollectionConfig = CollectionConfig()
    search: SearchConfig = SearchConfig()
    low: LowFidelityConfig = LowFidelityConfig()
    high: HighFidelityConfig = HighFidelityConfig()
    generator: GeneratorConfig = GeneratorConfig()
    validation: ValidationConfig = ValidationConfig()
    budget: BudgetConfig = BudgetConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    approval: Literal["gate", "person"] = Field(
        "gate",
        description="Who makes a registered rule champion: the statistical gate alone, or a person after it.",
    )
    runner: RunnerConfig = RunnerConfig()


def protocol(name: ProtocolName) -> EvaluationConfig:
    """Return a named evaluation protocol: `paper` as published, `quick` for a first answer in minutes to an hour.

    Raises
    ------
    ConfigError
        If no protocol has that name.
    """
    if name == "paper":
        return EvaluationConfig(sizes=("test", "transfer"))
    if name == "quick":
        return EvaluationConfig(seeds=(0, 1), sizes=("test",), time_limit_s=300.0)
    raise ConfigError(f"There is no protocol {name!r} with settings of its own; choose one of paper, quick.")

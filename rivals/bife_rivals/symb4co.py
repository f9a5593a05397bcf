"""Symb4CO: a network writes expressions, and learns from those that choose as strong branching does.

Runs of training differ by their seeds. Of each the most accurate expressions on validation samples become samples, and
all of these are evaluated in the solver, where RPB takes over at some depth (`bife_rivals.scaled_rule`). A group of
runs makes two generations: what each run returns first, and the others. What differs from the published method is in
`docs/rivals.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from bife_core.decisions.recorded import Decisions
from bife_core.search import Request, SampleRequest, sample_seed
from bife_core.search.bife import HighOnlySearch
from bife_core.values import Value
from bife_rivals.scaled_rule import Depth

_OPERATOR: Final = "train"


class TrainingOptions(Value):
    """How a run is trained; the defaults are published."""

    batch: int = Field(1024, ge=2, description="Expressions written in each step.")
    kept: int = Field(48, ge=1, description="Of those, the most accurate, which the policy is updated with.")
    steps: int = Field(3000, ge=1, description="Steps of a run at most.")
    patience: int = Field(1000, ge=1, description="Steps without a better expression after which a run ends.")
    validated: int = Field(16, ge=1, description="Expressions that are validated at a time.")
    validate_every: int = Field(10, ge=1, description="Steps between validations.")
    hidden: int = Field(128, ge=1, description="Cells of each of the two layers.")
    rate: float = Field(5e-5, gt=0, description="Step size of Adam.")
    epochs: int = Field(8, ge=1, description="Updates of the policy in each step.")
    clip: float = Field(0.2, gt=0, description="How far the ratio of probabilities is trusted.")
    entropy: float = Field(0.05, ge=0, description="Weight of the entropy of what is written.")
    entropy_decay: float = Field(0.9, gt=0, le=1, description="Factor of that weight, token by token.")
    least_length: int = Field(4, ge=1, description="Tokens of an expression at least.")
    most_length: int = Field(64, ge=4, description="Tokens of an expression at most.")
    soft_length: int = Field(20, ge=1, description="Tokens that an expression is drawn to.")

    @model_validator(mode="after")
    def _lengths_fit(self) -> Self:
        least, most = self.least_length, self.most_length
        if least >= most:
            raise ValueError(f"least_length ({least}) must be below most_length ({most})")
        return self


class Run(TrainingOptions):
    """A run as a value: its settings and its seed; equal runs on equal samples find equal expressions."""

    seed: int

    @classmethod
    def of(cls, training: dict[str, Any]) -> Run:
        """Return the run of a request."""
        return cls.model_validate({name: training[name] for name in cls.model_fields})


class Symb4CoOptions(TrainingOptions):
    """Symb4CO's own settings; the defaults are published."""

    paper: ClassVar[dict[str, Any]] = {}
    quick: ClassVar[dict[str, Any]] = {
        **{"batch": 256, "kept": 12, "steps": 150, "patience": 100, "hidden": 32, "rate": 5e-4}
    }

    preset: Literal["paper", "quick"] = Field(
        "paper", description="What is not set otherwise: as published, or a run of minutes at most."
    )
    runs: int = Field(3, ge=1, description="Runs of training, which may go on at once.")
    rules: int = Field(10, ge=1, description="Expressions of each run that are evaluated in the solver.")
    depth: Depth = 16

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return cls.paper | (cls.quick if given.get("preset") == "quick" else {}) | given


class Symb4CoSearch(HighOnlySearch):
    """Symb4CO behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = Symb4CoSearch(SearchConfig(method="symb4co", samples=30))
    >>> [(request.id, request.training["run"], request.training["rank"]) for request in search.ask()]
    [('g00-c00', 0, 0), ('g00-c01', 1, 0), ('g00-c02', 2, 0)]
    """

    low_fidelity: ClassVar[bool] = True
    origin: ClassVar[str] = "trained"
    Options: ClassVar[type[Value]] = Symb4CoOptions
    options: Symb4CoOptions

    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next."""
        if self._to_solve:
            return super().propose()
        options, remaining = self.options, self.remaining()
        if remaining <= 0:
            return ()
        self.begin_generation()
        # What each run returns first is asked for alone: other workers then find the run trained.
        group, others = divmod(self.generation, 2) if options.rules > 1 else (self.generation, 0)
        ranks = range(1, options.rules) if others else range(1)
        runs = range(group * options.runs, (group + 1) * options.runs)
        wanted = [(run, rank) for rank in ranks for run in runs][:remaining]
        asked = [self._request(position, run, rank) for position, (run, rank) in enumerate(wanted)]
        return (*asked, *self.first_rules(len(asked), _OPERATOR))

    def _request(self, position: int, run: int, rank: int) -> SampleRequest:
        options = self.options.model_dump(exclude={"preset", "runs", "rules"})
        seed = sample_seed(self.config.drawn, f"run {run}")
        return self.sample_request(
            position, _OPERATOR, training={"run": run, "rank": rank, "seed": seed, **options}
        )

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Train a run, or find it trained, and return its expression of a rank."""
        # Here, for that file imports this one.
        from bife_rivals.symb4co_training import Training, rule_of, trained

        assert decisions is not None
        run = Training(Run.of(training), Decisions.load(decisions))
        return rule_of(trained(run, folder), training["rank"], training["depth"])

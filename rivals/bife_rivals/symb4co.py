"""Symb4CO: a network writes expressions, and learns from those that choose as strong branching does.

Runs of training differ by their seeds. Of each the most accurate expressions on validation samples become samples, and
all of these are evaluated in the solver, where RPB takes over at some depth (`bife_rivals.scaled_rule`). A group of
runs makes two generations: what each run returns first, and the others. What differs from the published method is in
`docs/research/rivals.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from bife_core import Decisions
from bife_core.extend import HighOnlySearch, Request, SampleRequest, Value, sample_seed
from bife_rivals.scaled_rule import Depth
from bife_rivals.symb4co_training import Run, Training, TrainingOptions, rule_of, trained

_OPERATOR: Final = "train"


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
    def _filled(cls, options: Any) -> Any:
        if not isinstance(options, dict):
            return options
        return cls.paper | (cls.quick if options.get("preset") == "quick" else {}) | options


class Symb4CoSearch(HighOnlySearch):
    """Symb4CO behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = Symb4CoSearch(SearchConfig(algorithm="symb4co", samples=30))
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
        requests = [self._request(position, run, rank) for position, (run, rank) in enumerate(wanted)]
        return (*requests, *self.first_rules(len(requests), _OPERATOR))

    def _request(self, position: int, run: int, rank: int) -> SampleRequest:
        options = self.options.model_dump(exclude={"preset", "runs", "rules"})
        seed = sample_seed(self.config.drawn, f"run {run}")
        return self.sample_request(
            position, _OPERATOR, training={"run": run, "rank": rank, "seed": seed, **options}
        )

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Train a run, or find it trained, and return its expression of a rank."""
        assert decisions is not None
        run = Training(Run.of(training), Decisions.load(decisions))
        return rule_of(trained(run, folder), training["rank"], training["depth"])

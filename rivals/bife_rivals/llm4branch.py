"""LLM4Branch: programs with parameters, tuned with feedback from the solver, on islands.

Each generation writes one program for each island from a parent and its inspirations. A program goes through three
stages: screening, where it must not be much slower than RPB on any training instance; tuning, where Bayesian
optimisation sets its parameters by the cost of solving a few training instances; and validation, which is F_HF on the
design instances. Only programs with an F_HF live on an island. What differs from the published method is in
`docs/research/rivals.md`; besides:

- The start program, which is not tuned, uses up no budget and lives on every island.
- The published prompt has the model name parameters and bounds.
- Parents and inspirations go by F_HF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from bife_core.extend import (
    REFERENCE_RULES,
    Answered,
    BaseSearch,
    ConfigError,
    Request,
    Sample,
    SearchConfig,
    SolveRequest,
    TrialRequest,
    Value,
    rule_sha,
    sample_seed,
)
from bife_rivals import prompt
from bife_rivals.constants import Tuner, parameters, with_values
from bife_rivals.islands import Islands, Llm4BranchOptions

START_RULE: Final = "pseudocost_product"
BASELINE: Final = "rpb"
"""Id of the request for RPB's solves of the training instances."""

_LEAST_COST: Final = 1e-9


@dataclass
class _Program:
    """A program on its way through the stages."""

    sample: Sample
    island: int | None
    tuner: Tuner
    stage: Literal["screening", "tuning", "validation"] = "screening"


class Llm4BranchSearch(BaseSearch):
    """LLM4Branch behind `ask` and `tell`; a generation takes one step for each setting that is tried.

    Examples
    --------
    >>> search = Llm4BranchSearch(SearchConfig(algorithm="llm4branch"))
    >>> [(request.kind, request.id) for request in search.ask()]
    [('trial', 'rpb'), ('sample', 'g00-c00')]
    """

    low_fidelity: ClassVar[bool] = False
    Options: ClassVar[type[Value]] = Llm4BranchOptions
    options: Llm4BranchOptions

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        if config.first_rules:
            raise ConfigError("llm4branch begins with a program of its own: remove search.first_rules.")
        self.training_instances = self.options.training_instances
        self.islands = Islands(self.options, REFERENCE_RULES[START_RULE].source, self.rng)
        self._baseline: tuple[float, ...] | None = None
        self._programs: list[_Program] = []

    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next."""
        if self._programs:
            return tuple(self._stage_request(program) for program in self._programs)
        if self.generation < 0:
            self.begin_generation()
            start = self.sample_request(0, "skeleton", source=REFERENCE_RULES[START_RULE].source)
            return (self._trial(BASELINE), start)
        remaining = self.remaining()
        if remaining <= 0:
            return ()
        self.begin_generation()
        return tuple(
            self.sample_request(island, "skeleton", self.islands.draw(island), prompt=prompt("skeleton"))
            for island in range(min(self.options.islands, remaining))
        )

    def _stage_request(self, program: _Program) -> Request:
        sample = program.sample
        match program.stage:
            case "screening":
                return self._trial(f"{sample.id}.screening", sample)
            case "tuning":
                values = program.tuner.propose()
                return TrialRequest(
                    id=f"{sample.id}.t{program.tuner.tried:03d}",
                    sample=sample.id,
                    source=with_values(sample.source or "", values),
                    parameters=values,
                    instances=tuple(range(self.options.tuning_instances)),
                    time_limit_s=self.options.tuning_limit_s,
                )
            case "validation":
                return SolveRequest(id=sample.id, sample=sample)

    def _trial(self, name: str, sample: Sample | None = None) -> TrialRequest:
        """Return the request for solving all training instances with a sample, or with RPB."""
        return TrialRequest(
            id=name,
            sample=sample.id if sample is not None else None,
            source=sample.source if sample is not None else None,
            instances=tuple(range(self.options.training_instances)),
            time_limit_s=self.options.screening_limit_s,
            cost=self.options.screening_cost,
        )

    def learn(self, answers: Sequence[Answered]) -> None:
        """Take the answers to what `propose` returned."""
        if self._programs:
            moved = zip(self._programs, answers, strict=True)
            self._programs = [program for program, answer in moved if self._goes_on(program, answer)]
        else:
            for answer in answers:
                if isinstance(answer.request, TrialRequest):
                    self._baseline = _costs(answer)
            everywhere = self.generation == 0
            self._programs = [
                self._enter(sample, None if everywhere else island)
                for island, sample in enumerate(self.admit(answers))
                if sample.valid
            ]
        if not self._programs:
            if self.generation and self.generation % self.options.migration_interval == 0:
                self.islands.migrate()
            self.population = self.islands.programs  # highest F_HF first
            self.end_generation()

    def _enter(self, sample: Sample, island: int | None) -> _Program:
        tuner = Tuner(
            parameters(sample.source or ""),
            calls=self.options.tuning_calls,
            initial=self.options.tuning_initial,
            seed=sample_seed(self.config.drawn, f"{sample.id}.tuning"),
        )
        return _Program(sample, island, tuner)

    def _goes_on(self, program: _Program, answer: Answered) -> bool:
        """Take the answer to a program's stage, and return whether another stage follows."""
        if isinstance(answer.request, SolveRequest):
            self._store(program, answer.sample)
            if program.sample.f_hf is not None:
                if program.island is None:
                    self.islands.settle(program.sample)
                else:
                    self.islands.add(program.island, program.sample)
            return False
        costs = _costs(answer)
        if program.stage == "screening":
            why = answer.failure if costs is None else self._too_slow(program, costs)
            if why is not None:
                self._store(program, program.sample.model_copy(update={"failure": why}))
                return False
            program.stage = "validation" if program.tuner.done else "tuning"
            return True
        program.tuner.learn(None if costs is None else math.fsum(costs) / len(costs))
        if program.tuner.done:
            source = with_values(program.sample.source or "", program.tuner.best)
            thought = f"{program.sample.thought or ''} (Its numbers were tuned since.)".strip()
            changes = {"source": source, "sha": rule_sha(source), "thought": thought}
            self._store(program, program.sample.model_copy(update=changes))
            program.stage = "validation"
        return True

    def _too_slow(self, program: _Program, costs: tuple[float, ...]) -> str | None:
        """Return why a program is screened out: its speed-up over RPB, 1 without RPB's costs, on some instance."""
        pairs = zip(self._baseline or costs, costs, strict=True)
        speedups = [max(rpb, _LEAST_COST) / max(cost, _LEAST_COST) for rpb, cost in pairs]
        least, needed = min(speedups), self.options.screening_speedup
        if program.island is None or least >= needed:
            return None
        where = f"on training instance {speedups.index(least) + 1}"
        return f"screened out: {least:.2g} times as fast as RPB {where}, {needed:g} needed"

    def _store(self, program: _Program, sample: Sample) -> None:
        program.sample = sample
        self.update(sample)


def _costs(answer: Answered) -> tuple[float, ...] | None:
    """Return what the solves of a trial cost, or None if it failed."""
    if answer.high is None or answer.failure is not None:
        return None
    return tuple(cost for cost in answer.high.costs if cost is not None)

"""The base class of searches: a budget of samples, duplicates distinguished by hash, and `ask` and `tell`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from pydantic import ValidationError

from bife_core.base.errors import ConfigError
from bife_core.base.values import Value, describe
from bife_core.language.components import BRANCHING, COMPONENTS
from bife_core.search.config import SEARCHES, SearchConfig
from bife_core.search.population import (
    by_high_fidelity,
    by_low_fidelity,
    draw_parents,
    sample_id,
    sample_seed,
)
from bife_core.search.types import GenerationSummary, Operator, Request, Sample, SampleRequest

if TYPE_CHECKING:
    from bife_core.search.answers import Answered

OPERATORS: Final[tuple[Operator, ...]] = ("e1", "e2", "m1", "m2")
"""Operators of a generation, in order (paper, section 4.3)."""

CROSSOVER_PARENTS: Final = 2


class BaseSearch(ABC):
    """Base class of searches: a subclass writes `propose` (what to ask) and `learn` (what the answers change).

    `begin_generation` and `end_generation` enclose a generation, 0 being the initial one. `sample_request` and
    `sample_requests` make requests for rules, `admit` enters the answers and charges the budget, `update` replaces a
    sample, `choose_parents` draws by rank from `parent_pool`, `rng` draws everything else. A rule whose hash was seen
    before becomes a failure, `duplicate of <first id>`. Subclasses replace `population`, the rules alive after the last
    completed generation; `summaries` has one value for each.

    A subclass may set `Options`, the model of `config.options`, kept as `options`; `operators`, those of a generation,
    in order; and `founding`, which makes the initial rules. `low_fidelity` says whether samples are scored with F_LF,
    `high_fidelity` whether they are solved with, so that the best is that of highest F_HF. `origin` says in a word,
    such as "fitted", where rules come from if no generator is asked. With `sees_nodes` the nodes of decisions are
    recorded too. Trials speak of so many `training_instances`. A crossover may read a rule twice with
    `draws_with_replacement`, and with `crosses_niches` it reads rules that choose differently
    (`SearchConfig.unlike_share`).
    """

    Options: ClassVar[type[Value]] = Value
    operators: tuple[Operator, ...] = OPERATORS
    founding: ClassVar[Operator] = "i1"
    low_fidelity: ClassVar[bool] = True
    high_fidelity: ClassVar[bool] = True
    origin: ClassVar[str] = ""
    sees_nodes: ClassVar[bool] = False
    training_instances: int = 0
    draws_with_replacement: ClassVar[bool] = False
    crosses_niches: ClassVar[bool] = False

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.component = COMPONENTS.find(config.component)
        if self.low_fidelity and not self.component.low_fidelity:
            raise ConfigError(
                f"The search {config.algorithm!r} goes by F_LF, which is measured on nothing for the component "
                f"{config.component!r}: choose a search that goes by F_HF alone, such as bife_without_f_lf."
            )
        if self.origin and not self.component.features:
            raise ConfigError(
                f"The search {config.algorithm!r} makes formulas of features, and the component {config.component!r} "
                "has none: choose the search bife with a language model or recorded answers."
            )
        try:
            self.options: Any = self.Options.model_validate(config.options)
        except ValidationError as error:
            raise ConfigError(
                f"search.options of the search {config.algorithm!r}: {describe(error)}"
            ) from error
        # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
        self.rng = np.random.Generator(np.random.PCG64(config.drawn))
        self._samples: dict[str, Sample] = {}
        self._first_with_sha: dict[str, str] = {}
        self.generation = -1
        self._used = 0
        self._pending: tuple[Request, ...] = ()
        self.summaries: tuple[GenerationSummary, ...] = ()
        self.population: tuple[Sample, ...] = ()

    @property
    def reads_decisions(self) -> bool:
        """Whether F_LF is measured on recorded decisions."""
        return self.low_fidelity and not self.component.low

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples so far, in the order they were sampled."""
        return tuple(self._samples.values())

    @property
    def best(self) -> Sample | None:
        """The rule the search would return now, samples of the generation under way included."""
        ranked = by_high_fidelity if self.high_fidelity else by_low_fidelity
        return next(iter(ranked(self.samples)), None)

    def ask(self) -> tuple[Request, ...]:
        """Return the next requests, independent of one another; empty when the search is over."""
        if not self._pending:
            self._pending = self.propose()
        return self._pending

    def tell(self, answers: Sequence[Answered]) -> None:
        """Take the answers to the last `ask`, in order; others raise `ValueError`, and nothing changes."""
        pending, answered = self._pending, tuple(answer.request for answer in answers)
        if not pending or pending != answered:
            expected, received = (", ".join(request.id for request in some) for some in (pending, answered))
            raise ValueError(
                f"Expected answers to the last ask(), in order: {expected}; found answers to {received or 'nothing'}."
            )
        self._pending = ()
        self.learn(answers)

    @abstractmethod
    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next, all independent of one another; empty ends the search."""

    @abstractmethod
    def learn(self, answers: Sequence[Answered]) -> None:
        """Take the answers to what `propose` returned; each has what was asked for, or a `failure`."""

    def update(self, sample: Sample) -> None:
        """Replace the sample of that id."""
        self._samples[sample.id] = sample

    def remaining(self) -> int:
        """Return how many samples the budget still allows."""
        return self.config.samples - self._used

    def begin_generation(self) -> None:
        """Begin a generation."""
        self.generation += 1

    def end_generation(self) -> None:
        """End the generation under way."""
        self.summaries += (self.summary(),)

    def summary(self) -> GenerationSummary:
        """Return the summary of the generation that ends."""
        samples = self.samples
        members = [sample for sample in samples if sample.generation == self.generation]
        best_low, best_high = by_low_fidelity(samples)[:1], by_high_fidelity(samples)[:1]
        f_lf = [sample.f_lf for sample in self.population if sample.f_lf is not None]
        return GenerationSummary(
            generation=self.generation,
            samples=len(members),
            failures=sum(not sample.valid for sample in members),
            solved=sum(sample.f_hf is not None for sample in members),
            samples_total=len(samples),
            failures_total=sum(not sample.valid for sample in samples),
            best_f_lf=best_low[0].f_lf if best_low else None,
            mean_f_lf=sum(f_lf) / len(f_lf) if f_lf else None,
            best_f_hf=best_high[0].f_hf if best_high else None,
            n_alive=len(self.population),
        )

    def sample_requests(self, operators: Sequence[Operator]) -> tuple[Request, ...]:
        """Begin a generation by the operators, or an initialisation without any, as the budget allows."""
        remaining = self.remaining()
        if remaining <= 0:
            return ()
        self.begin_generation()
        requests = [
            self.sample_request(position, operator, self.choose_parents(operator))
            for position, operator in enumerate(
                (operators or (self.founding,) * self.config.initial)[:remaining]
            )
        ]
        return (*requests, *self.first_rules(len(requests), "i1"))

    def first_rules(self, position: int, operator: Operator) -> tuple[SampleRequest, ...]:
        """Return the rules the search begins with, as samples of generation 0 after `position` others."""
        baseline = self.component.baseline if self.component != BRANCHING else ""
        rules = (baseline, *self.component.first, *self.config.first_rules) if self.generation == 0 else ()
        return tuple(
            self.sample_request(number, operator, source=source)
            for number, source in enumerate(filter(None, rules), position)
        )

    def sample_request(
        self, position: int, operator: Operator, parents: tuple[Sample, ...] = (), **fields: Any
    ) -> SampleRequest:
        """Return the request for the sample at `position` of the generation under way; see `SampleRequest`."""
        name = sample_id(self.generation, position)
        return SampleRequest(
            id=name,
            generation=self.generation,
            operator=operator,
            parents=parents,
            component=self.component.name,
            seed=sample_seed(self.config.drawn, name),
            scored=self.low_fidelity,
            number=self._used + position,
            **fields,
        )

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Find a rule, in a worker process; a search whose requests have `training` defines it.

        It may keep checkpoints in `folder`. Beside what the request holds `training` has its `seed`, and the sources of
        its `parents` and of all `others`. It returns `source`, the text of a rule or of another method, and a
        `thought`, or else `failure`; also `seconds`, if it took more CPU time than this call.
        """
        raise NotImplementedError

    @property
    def parent_pool(self) -> tuple[Sample, ...]:
        """The rules that parents are drawn from, by rank; without any, a generation is another initialisation."""
        return self.population

    def choose_parents(self, operator: Operator) -> tuple[Sample, ...]:
        """Draw the parents of one of EoH's operators, by rank."""
        if operator == "i1" or not self.parent_pool:
            return ()
        return draw_parents(
            self.parent_pool,
            CROSSOVER_PARENTS if operator in ("e1", "e2") else 1,
            population=self.config.population,
            rng=self.rng,
            replacement=self.draws_with_replacement,
            unlike=self.config.unlike_share if self.crosses_niches else 1.0,
        )

    def admit(self, answers: Sequence[Answered]) -> list[Sample]:
        """Enter the samples among the answers, charge the budget, and return them in order."""
        entered = []
        for answer in answers:
            request = answer.request
            if not isinstance(request, SampleRequest):
                continue
            sample = answer.sample
            first = self._first_with_sha.setdefault(sample.sha, sample.id) if sample.sha else sample.id
            if sample.valid and first != sample.id:
                sample = sample.model_copy(update={"failure": f"duplicate of {first}"})
            self.update(sample)
            # A rule that the search itself gave was not asked of the generator.
            self._used += request.source is None
            entered.append(sample)
        return entered


def train_rule(search: str, decisions: str | None, folder: str, training: dict[str, Any]) -> dict[str, Any]:
    """Have a registered search find a rule, and time it; what a worker is asked for a request with `training`."""
    began_s = time.process_time()
    made_by: Any = SEARCHES.find(search)
    draft = made_by.train(None if decisions is None else Path(decisions), Path(folder), training)
    return {"seconds": time.process_time() - began_s, **draft}


def open_search(config: SearchConfig) -> BaseSearch:
    """Return a new search of the configured algorithm; raises `ConfigError` if there is none of that name."""
    search: BaseSearch = SEARCHES.find(config.algorithm)(config)
    return search

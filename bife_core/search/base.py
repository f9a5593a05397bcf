"""The base class of searches: a budget of samples, duplicates distinguished by hash, and `ask` and `tell`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

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
from bife_core.search.types import (
    Answer,
    GenerationSummary,
    Operator,
    Request,
    Sample,
    SampleRequest,
    SolveRequest,
    TrialRequest,
)

OPERATORS: Final[tuple[Operator, ...]] = ("e1", "e2", "m1", "m2")
"""Operators of a generation, in order (paper, section 4.3)."""

CROSSOVER_PARENTS: Final = 2

Answered = Sequence[tuple[Request, Answer]]


class BaseSearch(ABC):
    """Base class of searches: a subclass writes `propose` (what to ask) and `learn` (what the answers change).

    A `generation`, 0 being the initial one, begins with `begin_generation` and ends with `end_generation`.
    `sample_request` and `sample_requests` make requests for rules, `admit` enters the answers and charges the budget,
    `update` replaces a sample, `choose_parents` draws parents by rank from `parent_pool`, `rng` draws everything else.
    A rule whose hash was seen before becomes a failure, `duplicate of <first id>`. `population` are the rules alive
    after the last completed generation, which subclasses replace, and `summaries` has one value for each.

    What a subclass may set: `Options` is the model of `config.options`, kept as `options`; `operators` are those of a
    generation, in order, and `founding` makes the initial rules. `low_fidelity` says whether samples are scored with
    F_LF, on recorded decisions, `high_fidelity` whether they are solved with, so that the best is that of highest F_HF.
    `origin` says in a word, such as "fitted", where rules come from if no generator is asked. With `sees_nodes` the
    nodes of decisions are recorded too. `training_instances` are those that trials speak of. A crossover may read the
    same rule twice with `draws_with_replacement`, and with `crosses_niches` it reads rules that choose differently, see
    `SearchConfig.unlike_share`.
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
                f"The search {config.method!r} goes by F_LF, which is measured on nothing for the component "
                f"{config.component!r}: choose a search that goes by F_HF alone, such as bife_without_f_lf."
            )
        try:
            self.options: Any = self.Options.model_validate(config.options)
        except ValidationError as error:
            raise ConfigError(f"search.options of the search {config.method!r}: {describe(error)}") from error
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
    def samples(self) -> tuple[Sample, ...]:
        """All samples so far, in the order they were sampled."""
        return tuple(self._samples.values())

    @property
    def best(self) -> Sample | None:
        """The rule the search would return now, answers of the generation under way included."""
        ranked = by_high_fidelity if self.high_fidelity else by_low_fidelity
        return next(iter(ranked(self.samples)), None)

    def ask(self) -> tuple[Request, ...]:
        """Return the next requests, independent of one another; empty when the search is over."""
        if not self._pending:
            self._pending = self.propose()
        return self._pending

    def tell(self, answers: tuple[Answer, ...]) -> None:
        """Take the answers to the last `ask`, in order; others raise `ValueError`, and nothing changes."""
        requests = self._pending
        asked, answered = (", ".join(one.id for one in several) for several in (requests, answers))
        if not requests or asked != answered:
            raise ValueError(
                f"Expected answers to the last ask(), in order: {asked}; found answers to {answered or 'nothing'}."
            )
        self._pending = ()
        pairs = zip(requests, answers, strict=True)
        self.learn(tuple((request, _complete(request, answer)) for request, answer in pairs))

    @abstractmethod
    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next, all independent of one another; empty ends the search."""

    @abstractmethod
    def learn(self, answered: Answered) -> None:
        """Take the answers to what `propose` returned; each has what was asked for, or a failure."""

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
        own = [sample for sample in samples if sample.generation == self.generation]
        best_low, best_high = by_low_fidelity(samples)[:1], by_high_fidelity(samples)[:1]
        f_lf = [sample.f_lf for sample in self.population if sample.f_lf is not None]
        return GenerationSummary(
            generation=self.generation,
            samples=len(own),
            failures=sum(not sample.valid for sample in own),
            solved=sum(sample.f_hf is not None for sample in own),
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
        asked = [
            self.sample_request(position, operator, self.choose_parents(operator))
            for position, operator in enumerate(
                (operators or (self.founding,) * self.config.initial)[:remaining]
            )
        ]
        return (*asked, *self.first_rules(len(asked), "i1"))

    def first_rules(self, position: int, operator: Operator) -> tuple[SampleRequest, ...]:
        """Return the rules the search is to begin with, as samples of its first generation after `position` others."""
        own = (self.component.baseline,) if self.component != BRANCHING and self.component.baseline else ()
        rules = (*own, *self.config.first_rules) if self.generation == 0 else ()
        return tuple(
            self.sample_request(number, operator, source=source)
            for number, source in enumerate(rules, position)
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

        It may keep checkpoints in `folder`, the study's own. Beside what the request holds `training` has its `seed`,
        and the sources of its `parents` and of all `known` samples. It returns `source`, the text of a rule or of
        another method, and a `thought`, or else `failure`; also `seconds`, if it took more CPU time than this call.
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

    def admit(self, answered: Answered) -> list[Sample]:
        """Enter the samples among the answers, charge the budget, and return them in order."""
        entered = []
        for request, answer in answered:
            if not isinstance(request, SampleRequest):
                continue
            first = self._first_with_sha.setdefault(answer.sha, request.id) if answer.sha else request.id
            failure = answer.failure or (f"duplicate of {first}" if first != request.id else None)
            known = answer.model_dump(include={"id", "sha", "source", "thought", "behaviour", "f_lf"})
            sample = Sample(
                **known,
                generation=request.generation,
                operator=request.operator,
                parents=tuple(parent.id for parent in request.parents),
                niche=(request.training or {}).get("niche"),
                failure=failure,
            )
            self._samples[sample.id] = sample
            # A rule that the search itself gave was not asked of the generator.
            if request.source is None:
                self._used += 1
            entered.append(sample)
        return entered


def _complete(request: Request, answer: Answer) -> Answer:
    """Return the answer, as a failure if it lacks what was asked for."""
    if answer.failure is not None or answer.eliminated is not None:
        return answer
    failure = None
    match request:
        case SampleRequest(scored=True) if answer.f_lf is None:
            failure = "no F_LF was reported"
        case SolveRequest() if answer.f_hf is None:
            failure = "no F_HF was reported"
        case TrialRequest(instances=instances):
            costs = [cost for cost in answer.costs if cost is not None]
            if len(costs) != len(instances):
                failure = f"{len(costs)} costs were reported for {len(instances)} instances"
    return answer.model_copy(update={"failure": failure})


def solved_sample(sample: Sample, answer: Answer) -> Sample:
    """Return the sample with its F_HF, or with the reason why its solves gave none."""
    f_hf = answer.f_hf if answer.failure is None and answer.eliminated is None else None
    eliminated = answer.eliminated if answer.failure is None else None
    return sample.model_copy(update={"f_hf": f_hf, "eliminated": eliminated, "failure": answer.failure})


def train_rule(search: str, decisions: str | None, folder: str, training: dict[str, Any]) -> dict[str, Any]:
    """Have a registered search find a rule, and time it; what a worker is asked for a request with `training`."""
    began_s = time.process_time()
    made_by: Any = SEARCHES.find(search)
    draft = made_by.train(None if decisions is None else Path(decisions), Path(folder), training)
    return {"seconds": time.process_time() - began_s, **draft}


def open_search(config: SearchConfig) -> BaseSearch:
    """Return a new search of the configured method; raises `ConfigError` if there is none of that name."""
    search: BaseSearch = SEARCHES.find(config.method)(config)
    return search

"""Contract tests for packages that extend BiFE: call a check in a test of your own.

A check raises `AssertionError` with a sentence where the contract of `docs/developers/extending.md` is broken.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter

from bife_core.instances.base import SPLITS
from bife_core.instances.config import InstancesConfig
from bife_core.instances.generated import open_benchmark
from bife_core.language.components import BRANCHING, COMPONENTS, component_of
from bife_core.language.rules import Rejection, compile_rule
from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.search import (
    BaseSearch,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    SolveRequest,
    TrialRequest,
    open_search,
    sample_seed,
)
from bife_core.search.answers import Answered
from bife_core.search.config import SearchConfig
from bife_core.search.generators import Draft, Generator, PromptContext
from bife_core.search.generators.prompting import OPERATORS
from bife_core.solver.methods.base import AnyMethod, Method
from bife_core.solver.scip.reader import read_model

_SOURCE: Final = """
def candidate_variable_score(variable_features):
    return variable_features[18] + 0.5 * variable_features[20] + {number}.0
"""


@dataclass(frozen=True)
class World:
    """Answers drawn from the id of a request alone, with ties and shares of failures and of rules seen before."""

    seed: int
    failing: float = 0.0
    repeating: float = 0.0
    distinct: int = 6  # fidelities

    def __call__(self, request: Request) -> Answered:
        """Answer one request."""
        rng = np.random.default_rng([self.seed, sample_seed(0, request.id), request.kind == "solve"])
        fails, repeats, kind = rng.random(3)
        value = float(rng.integers(self.distinct)) / self.distinct
        failed = bool(fails < self.failing)
        if isinstance(request, ReflectionRequest):
            text = f"Favour slack, says {request.id}."
            return Answered(request=request, draft=Draft(failure="no answer") if failed else Draft(text=text))
        if isinstance(request, TrialRequest):
            costs = (math.nan,) if failed else tuple(rng.uniform(1.0, 4.0, len(request.instances)).tolist())
            killed = failed and kind >= 0.5
            return Answered(
                request=request, high=HighScore(failure="killed") if killed else HighScore(costs=costs)
            )
        if not isinstance(request, SampleRequest):  # whatever fidelity of a rule it asks for
            (score,), lost = request.parts, math.nan if kind < 0.5 else None
            reached = {request.fidelity: lost if failed else -10 * value}
            return Answered.model_validate({"request": request, score: reached})
        if failed and kind < 1 / 3:
            return Answered(request=request, low=LowScore(failure="no code"))
        low = LowScore(
            sha=f"sha{rng.integers(3)}" if repeats < self.repeating else f"sha-{request.id}",
            f_lf=None if not request.scored else math.nan if failed and kind < 2 / 3 else value,
            failure="too slow" if failed else None,
        )
        source = None if failed else _SOURCE.format(number=sample_seed(0, request.id) % 1000)
        return Answered(request=request, draft=Draft(source=source), low=low)


WORLDS: Final = (World(1), World(2, failing=0.3, repeating=0.3), World(3, failing=0.8), World(4, failing=1.0))
"""Worlds that `check_search` runs a search in: none, some, most and all of the answers fail."""


def drive(search: BaseSearch, answer: Callable[[Request], Answered]) -> tuple[tuple[Request, ...], ...]:
    """Run a search to its end, and return what it asked."""
    rounds: list[tuple[Request, ...]] = []
    while requests := search.ask():
        rounds.append(requests)
        search.tell(tuple(answer(request) for request in requests))
    return tuple(rounds)


def check_search(method: str, *, options: Mapping[str, Any] | None = None) -> None:
    """Assert that a registered search keeps to the contract, in worlds where answers tie, repeat and fail.

    The assertions say what the contract is; `options` are its `search.options`.
    """
    config = SearchConfig(algorithm=method, samples=20, initial=5, population=4, options=dict(options or {}))
    for world in WORLDS:
        _check_requests(config, world)
        search = open_search(config)
        history: list[tuple[Answered, ...]] = []
        while len(history) < 6 and (requests := search.ask()):
            history.append(tuple(map(world, requests)))
            search.tell(history[-1])
        copy = open_search(config)
        for answers in history:  # by way of JSON, as in a resumed study
            copy.ask()
            stored = (json.dumps(answer.model_dump(mode="json")) for answer in answers)
            copy.tell(tuple(Answered.model_validate(json.loads(text)) for text in stored))
        assert (copy.samples, copy.summaries) == (search.samples, search.summaries), "not rebuilt by answers"
        assert drive(copy, world) == drive(search, world), "a rebuilt search goes on otherwise"
    reseeded = config.model_copy(update={"seed": 1})
    drawn, drawn_anew = (drive(open_search(settings), World(seed=8)) for settings in (config, reseeded))
    assert drawn != drawn_anew, "another seed gives the same requests"


def _check_requests(config: SearchConfig, world: World) -> None:
    search = open_search(config)
    seen: set[tuple[str, str]] = set()
    sampled = solved = 0
    while requests := search.ask():
        assert search.ask() == requests, "ask() gives other requests before they are answered"
        for request in requests:
            assert (request.kind, request.id) not in seen, f"the id {request.id} is used twice"
            seen.add((request.kind, request.id))
            if isinstance(request, SampleRequest):
                sampled += request.source is None
                assert request.seed == sample_seed(config.drawn, request.id), "a seed is not that of its id"
                assert request.scored <= search.low_fidelity, "a score is asked for without low_fidelity"
                assert all(parent.valid for parent in request.parents), "a parent is a failure"
                without_generator = request.training is not None or request.source is not None
                assert without_generator or not search.origin, (
                    "origin says that no generator writes, and one is to"
                )
            elif isinstance(request, SolveRequest):
                solved += 1
                assert request.sample.valid, "a failure is to be solved with"
            elif isinstance(request, TrialRequest):
                places = set(range(search.training_instances))
                assert set(request.instances) <= places, "a trial is beyond the training instances"
        answers, before = tuple(world(request) for request in requests), search.samples
        for wrong in ((), answers[1:], (*answers, answers[0])):
            try:
                search.tell(wrong)
            except ValueError:
                continue
            raise AssertionError("tell() takes answers that do not fit; it must raise a ValueError")
        assert (search.ask(), search.samples) == (requests, before), "answers that do not fit change it"
        search.tell(answers)
    assert sampled == config.samples, f"{sampled} samples were asked for, not {config.samples}"
    counted = sum(summary.samples for summary in search.summaries)
    assert counted == len(search.samples), "the summaries do not count every sample"
    fidelity = "f_hf" if solved else "f_lf"
    values = [getattr(rule, fidelity) for rule in search.samples if rule.valid]
    best = max((value for value in values if value is not None), default=None)
    assert (search.best and getattr(search.best, fidelity)) == best, "best is not the best"


def check_family(name: str, size: str = "tiny") -> None:
    """Assert that a registered family makes distinct instances that SCIP reads, the same ones each time."""
    config = InstancesConfig.model_validate({"benchmark": name, "size": size})
    digests: list[list[str]] = []
    for _ in range(2):
        with TemporaryDirectory() as folder:
            benchmark = open_benchmark(config, folder)
            instances = [instance for split in SPLITS for instance in benchmark.instances(split, 2)]
            digests.append([instance.digest for instance in instances])
            for model in (read_model(instance.path) for instance in instances):
                assert model.getNBinVars() + model.getNIntVars(), "an instance has no integer variable"
    assert digests[0] == digests[1], "the same seed makes other instances the second time"
    assert len(set(digests[0])) == len(digests[0]), "two instances are the same"


def check_generator(generator: Generator) -> None:
    """Assert that a generator answers requests of all operators with drafts, the same request in the same way."""
    source = _SOURCE.format(number=1)
    parents = tuple(Sample(id=name, generation=0, operator="i1", source=source, f_lf=0.5) for name in "ab")
    context = PromptContext(benchmark="set_covering")
    for number, operator in enumerate(OPERATORS):
        of = () if operator == "i1" else parents
        request = SampleRequest(id=operator, generation=1, operator=operator, parents=of, seed=number)
        before = request.model_dump()
        draft = generator.generate(request, context)
        assert request.model_dump() == before, "it changes the request"
        assert (draft.source is None) != (draft.failure is None), (
            "a draft has a source or a failure, never both"
        )
        assert Draft.model_validate_json(draft.model_dump_json()) == draft, "a draft does not survive JSON"
        again = generator.generate(request, context)
        same = (again.source, again.failure) == (draft.source, draft.failure)
        assert same, "the same request, another rule"
    reflection = ReflectionRequest(
        id="r", generation=1, operator="why", parents=parents, prompt="Why?", seed=0
    )
    draft = generator.generate(reflection, context)
    assert (draft.text is None) != (draft.failure is None), "a reflection has a text or a failure, never both"


def check_method(method: Method) -> None:
    """Assert that a method survives JSON and pickling, and that SCIP finds the optimum of a small instance with it."""
    adapter: TypeAdapter[Method] = TypeAdapter(AnyMethod)
    for copy in (adapter.validate_json(method.model_dump_json()), pickle.loads(pickle.dumps(method))):
        assert type(copy) is type(method), "its JSON or its pickle makes another kind of method"
        assert (copy, copy.identity) == (method, method.identity), "a copy of it is another method"
    _solved(method.attach)


def check_component(name: str) -> None:
    """Assert that SCIP calls the hook of a registered component, and finds the optimum by whatever scores."""
    component = COMPONENTS.find(name)
    assert component.name == name, f"it is called {component.name!r}, and registered as {name!r}"
    features = " + ".join(f"x[{feature.index}]" for feature in component.features)
    scores = (f"({features})", f"-({features})", "np.nan", "np.inf")
    sources = [f"def {component.function}(x):\n    return {score}\n" for score in scores]
    assert component_of(sources[0]) == component, f"another component has the function {component.function}"
    if component != BRANCHING and component.baseline:
        sources.append(component.baseline)
    rules = [compile_rule(source, component=component) for source in sources]
    for rule in rules:
        assert not isinstance(rule, Rejection), f"its baseline is no rule of it: {rule.reason}"
    most, least, *_ = _solved(*(partial(component.attach, rule=rule) for rule in rules))
    assert most != least, "SCIP goes the same way by the opposite scores: the hook is not called"


def _solved(*attachments: Callable[[Any], object]) -> list[tuple[int, int]]:
    """Return nodes and LP iterations of a small instance by each attachment; assert that SCIP finds its optimum."""
    with TemporaryDirectory() as folder:
        benchmark = open_benchmark(InstancesConfig.model_validate({"size": "tiny"}), folder)
        path = benchmark.instances("design", 1)[0].path
        plain, *models = [read_model(path) for _ in (None, *attachments)]
    plain.optimize()
    optimum = plain.getObjVal()
    for attach, model in zip(attachments, models, strict=True):
        attach(model)
        model.optimize()
        objective = model.getObjVal()
        reason = f"SCIP ends with {objective:g}, not with the optimum {optimum:g}"
        assert math.isclose(objective, optimum, rel_tol=1e-6), reason
    return [(model.getNTotalNodes(), model.getNLPIterations()) for model in models]

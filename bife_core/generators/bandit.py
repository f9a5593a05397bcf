"""Which of several models writes the next rule: a bandit on improvement per dollar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from bife_core.generators.account import Call
from bife_core.search.types import Sample, SampleRequest, WrittenRequest

FIRST_TURNS: Final = 2
"""Rules that each model writes in turn before the bandit chooses."""


def choose_model(
    models: Sequence[str], request: WrittenRequest, earlier: Iterable[Sample], calls: Iterable[Call]
) -> str:
    """Return the model that writes a rule, by what each wrote `earlier` and what its calls cost.

    A rule improves if its F_HF is higher than those of its parents. How likely that is of a model is drawn from what is
    known (Thompson sampling), and divided by what one of its rules costs, in tokens where a price is missing. The draw
    depends on the request's seed and on the earlier rules alone, so that a search taken up again asks the same model.
    """
    samples = {sample.id: sample for sample in earlier}
    made = [call for call in calls if call.key in samples and call.model in models]
    written = {model: {call.key for call in made if call.model == model} for model in models}
    if min(map(len, written.values())) < FIRST_TURNS:
        turn = request.number if isinstance(request, SampleRequest) else request.seed
        return models[turn % len(models)]
    priced = all(call.cost_usd is not None for call in made)
    # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
    rng = np.random.Generator(np.random.PCG64(request.seed))

    def drawn(model: str) -> float:
        rules = written[model]
        better = sum(_improves(samples[name], samples) for name in rules)
        own = [call for call in made if call.model == model]
        costs = [call.cost_usd if priced else call.prompt_tokens + call.completion_tokens for call in own]
        spent = sum(cost for cost in costs if cost is not None)
        return float(rng.beta(1 + better, 1 + len(rules) - better)) / max(float(spent) / len(rules), 1e-9)

    return max(models, key=drawn)


def _improves(sample: Sample, samples: Mapping[str, Sample]) -> bool:
    if sample.f_hf is None:
        return False
    parents = [samples[name].f_hf for name in sample.parents if name in samples]
    return all(f_hf is None or sample.f_hf > f_hf for f_hf in parents)

"""Which of several models is asked next."""

from collections import Counter
from decimal import Decimal

import pytest

from bife_core.search import Sample, SampleRequest
from bife_core.search.generators.openai_compatible import choose_model
from tests.support.journals import call

MODELS = ("small", "large")


def history(improved, usd, written=20):
    """Return rules that each model wrote, so many of which are better than their parent, and their calls."""
    samples = [Sample(id="first", generation=0, operator="i1", f_hf=-5.0)]
    calls = []
    for model in MODELS:
        for number in range(written):
            f_hf = -1.0 if number < improved[model] else (-9.0 if number % 2 else None)
            name = f"{model}{number}"
            samples.append(Sample(id=name, generation=1, operator="m1", parents=("first",), f_hf=f_hf))
            facts = {"model": model, "status": "ok", "prompt_tokens": 100}
            calls.append(call(name, cost_usd=usd[model] and Decimal(usd[model]), **facts))
    return samples, calls


def chosen(samples, calls, models=MODELS):
    about = {"id": "x", "generation": 2, "operator": "m1"}
    asked = (SampleRequest(seed=seed, number=seed, **about) for seed in range(200))
    return Counter(choose_model(models, request, samples, calls) for request in asked)


@pytest.mark.parametrize(
    ("improved", "usd", "better"),
    [
        ({"small": 2, "large": 12}, {"small": "0.01", "large": "0.01"}, "large"),
        ({"small": 2, "large": 12}, {"small": "0.001", "large": "0.1"}, "small"),
        ({"small": 0, "large": 9}, {"small": None, "large": "0.1"}, "large"),
    ],
    ids=["of equal price the one that improves", "a dollar buys more of it", "without a price tokens count"],
)
def test_the_model_that_improves_most_for_its_price_is_asked_most(improved, usd, better):
    samples, calls = history(improved, usd)
    drawn = chosen(samples, calls)
    assert drawn[better] > 150
    assert chosen(samples, calls) == drawn, "the same history and seeds give the same models"


def test_models_take_turns_until_each_has_written_some_rules():
    assert chosen([], []) == {"small": 100, "large": 100}
    samples, calls = history({"small": 1, "large": 0}, {"small": "1", "large": "1"}, written=1)
    assert chosen(samples, calls) == {"small": 100, "large": 100}
    samples, calls = history({"small": 9, "large": 0}, {"small": "1", "large": "1"})
    assert chosen([], calls) == {"small": 100, "large": 100}, "calls of rules under way say nothing"
    assert chosen(samples, calls, ("small",)) == {"small": 200}

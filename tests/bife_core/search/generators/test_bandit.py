"""Which of several models is asked next."""

from collections import Counter
from decimal import Decimal

import pytest

from bife_core.search import Sample, SampleRequest
from bife_core.search.generators.account import Call
from bife_core.search.generators.openai_compatible import choose_model

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
            price = usd[model]
            calls.append(
                Call(
                    key=name,
                    model=model,
                    base_url="http://here/v1",
                    prompt_digest="d",
                    prompt_version="v",
                    messages=(),
                    started_unix_s=1.0,
                    status="ok",
                    prompt_tokens=100,
                    cost_usd=None if price is None else Decimal(price),
                )
            )
    return samples, calls


def chosen(samples, calls, models=MODELS):
    asked = (
        SampleRequest(id="x", generation=2, operator="m1", seed=seed, number=seed) for seed in range(200)
    )
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

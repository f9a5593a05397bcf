"""A search is rebuilt from what it was told."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bife_core.config import SearchConfig
from bife_core.errors import BifeError, ConfigError
from bife_core.search import BifeSearch, History, HistoryError, SampleAnswer, SolveAnswer, replay
from tests.support.searching import World, drive

CONFIG = SearchConfig(samples=20, initial=6, population=4)


def recorded(world: World, steps: int, config: SearchConfig = CONFIG) -> tuple[BifeSearch, History]:
    """Run some steps of a search, writing its history as a flow would."""
    search, history = BifeSearch(config), History(config=config)
    for _ in range(steps):
        if not (requests := search.ask()):
            break
        answers = tuple(world(request) for request in requests)
        search.tell(answers)
        history = history.extended(answers)
    return search, history


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    failing=st.sampled_from([0.0, 0.3, 1.0]),
    steps=st.integers(0, 12),
    count_failures=st.booleans(),
)
def test_a_replayed_search_is_and_goes_on_as_the_original(
    seed: int, failing: float, steps: int, count_failures: bool
) -> None:
    world = World(seed, failing=failing, repeating=0.2)
    config = CONFIG.model_copy(update={"count_failures": count_failures})
    search, history = recorded(world, steps, config)
    copy = replay(config, History.from_json(history.to_json()))
    assert copy.samples == search.samples
    assert copy.summaries == search.summaries
    assert copy.best == search.best
    assert drive(copy, world) == drive(search, world)
    assert copy.samples == search.samples


def test_numbers_that_json_cannot_hold_become_failures_before_they_are_written() -> None:
    answers = (
        SampleAnswer(id="g00-c00", f_lf=math.nan),
        SampleAnswer(id="g00-c01", f_lf=0.1 + 0.2),
        SolveAnswer(id="g00-c02", f_hf=-math.inf),
    )
    history = History(config=CONFIG).extended(answers)
    text = history.to_json()
    assert "NaN" not in text
    assert "Infinity" not in text
    (read,) = History.from_json(text).answers
    assert read[0].failure == "F_LF is nan, not a finite number"
    assert read[1] == answers[1]
    assert read[2].failure == "F_HF is -inf, not a finite number"


def test_extending_leaves_the_history_as_it_was() -> None:
    history = History(config=CONFIG)
    longer = history.extended((SampleAnswer(id="g00-c00"),))
    assert (len(history.answers), len(longer.answers)) == (0, 1)


def test_a_history_of_another_configuration_is_refused_with_what_changed() -> None:
    _, history = recorded(World(0), 1)
    with pytest.raises(HistoryError, match=r"population 4 -> 5, seed 0 -> 7") as error:
        replay(CONFIG.model_copy(update={"population": 5, "seed": 7}), history)
    assert isinstance(error.value, BifeError)


def test_a_history_that_does_not_fit_names_the_step() -> None:
    _, history = recorded(World(0), 3)
    first, _, *rest = history.answers
    with pytest.raises(HistoryError, match="Step 1 of the history does not fit"):
        replay(CONFIG, history.model_copy(update={"answers": (first, *rest)}))


def test_answers_after_the_end_do_not_fit() -> None:
    _, history = recorded(World(0), 100)
    longer = history.extended((SampleAnswer(id="g99-c00", f_lf=0.5),))
    with pytest.raises(HistoryError, match="nothing was asked"):
        replay(CONFIG, longer)


def test_a_history_of_an_unknown_search_is_refused() -> None:
    config = CONFIG.model_copy(update={"method": "annealing"})
    with pytest.raises(ConfigError, match="There is no search 'annealing'"):
        replay(config, History(config=config))


@pytest.mark.parametrize("damage", ["cut", "empty", "kind", "key", "version"])
def test_text_that_is_no_history_is_refused(damage: str) -> None:
    _, history = recorded(World(0), 2)
    text = history.to_json()
    data = json.loads(text)
    if damage == "cut":
        text = text[: len(text) // 2]
    elif damage == "empty":
        text = ""
    else:
        if damage == "kind":
            data["answers"][0][0]["kind"] = "guess"
        elif damage == "key":
            data["answers"][0][0]["f_mf"] = 0.5
        else:
            data["version"] = 1
        text = json.dumps(data)
    with pytest.raises(HistoryError, match="This is not the history of a search"):
        History.from_json(text)

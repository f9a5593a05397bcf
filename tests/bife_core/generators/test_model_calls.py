from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from bife_core.errors import GeneratorError
from bife_core.generators.base import Message
from bife_core.generators.calls import Call, CallStore, recorded_calls
from tests.support.stored import calls_at


def call(key: str = "g00-c00", number: int = 1, **changes: object) -> Call:
    values: dict[str, object] = {
        "key": key,
        "number": number,
        "model": "m",
        "base_url": "http://localhost/v1",
        "prompt_digest": "d",
        "prompt_version": "v",
        "messages": (Message(role="user", content="write a rule"),),
        "started_unix_s": 1.5,
        "seconds": 0.25,
        "status": "ok",
        "answer": "an answer",
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "cost_usd": Decimal("0.001"),
        "response": {"id": 1},
    }
    return Call.model_validate(values | changes)


def kept(store: CallStore, *calls: Call) -> list[Call]:
    """Make calls and finish them."""
    begun = [one.model_copy(update={"number": store.begin(one).number}) for one in calls]
    for one in begun:
        store.finish(one)
    return begun


def test_calls_come_back_as_they_were_stored_in_order(tmp_path: Path) -> None:
    store = calls_at(tmp_path)
    assert store.calls() == []
    b1, a, b2 = kept(store, call("b"), call("a"), call("b", status="error", answer=None, error="no."))
    assert store.calls() == [a, b1, b2]
    assert store.calls("b") == [b1, b2]
    assert store.begin(call("b")).number == 3
    assert store.calls("b")[-1].status == "sent"


@pytest.mark.parametrize("key", ["a/b", "../up", "a.b", "a", "\u00e4 b*?", "%2F", "a[0]"])
def test_any_key_is_kept_apart_from_all_others(tmp_path: Path, key: str) -> None:
    store = calls_at(tmp_path)
    kept(store, call(key), call(key + "x"), call("x" + key))
    assert [found.key for found in store.calls(key)] == [key]


def test_the_latest_answer_to_the_same_request_is_found(tmp_path: Path) -> None:
    store = calls_at(tmp_path)
    kept(
        store,
        call(answer="first"),
        call(answer="second"),
        call(status="error", answer=None, error="timeout."),
    )
    found = store.answer("g00-c00", "d", model="m", temperature=None)
    assert found is not None
    assert found.answer == "second"


@pytest.mark.parametrize(
    ("key", "digest", "model", "temperature"),
    [
        ("g00-c01", "d", "m", None),
        ("g00-c00", "e", "m", None),
        ("g00-c00", "d", "n", None),
        ("g00-c00", "d", "m", 0.5),
    ],
)
def test_an_answer_to_another_request_is_not_taken(
    tmp_path: Path, key: str, digest: str, model: str, temperature: float | None
) -> None:
    store = calls_at(tmp_path)
    kept(store, call())
    assert store.answer(key, digest, model=model, temperature=temperature) is None


def test_half_a_surrogate_pair_in_an_answer_does_not_lose_the_call(tmp_path: Path) -> None:
    store = calls_at(tmp_path)
    kept(store, call(answer="well \ud83d", response={"text": "\ud83d"}))
    assert store.calls()[0].answer == "well \ud83d"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "g00-c00"}', "\0"])
def test_a_damaged_file_is_named_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "g00-c00.001.json").write_text(text)
    with pytest.raises(GeneratorError, match=r"g00-c00\.001\.json") as caught:
        recorded_calls(tmp_path)
    assert "\n" not in str(caught.value)


def test_an_attempt_says_whether_it_was_read_back() -> None:
    attempt = call().attempt(recorded=True)
    assert attempt.recorded
    assert not call().attempt(recorded=False).recorded
    assert (attempt.answer, attempt.prompt_tokens, attempt.cost_usd) == ("an answer", 10, Decimal("0.001"))

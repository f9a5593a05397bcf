from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from bife_core.errors import GeneratorError
from bife_core.generators.base import Message
from bife_core.generators.calls import Call, CallStore


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


def test_a_missing_directory_holds_no_calls(tmp_path: Path) -> None:
    store = CallStore(tmp_path / "none")
    assert store.calls() == []
    assert store.begin(call()).number == 1


def test_calls_come_back_as_they_were_written_in_order(tmp_path: Path) -> None:
    store = CallStore(tmp_path / "calls")
    written = [call("b", 2), call("a", 1), call("b", 1, status="error", answer=None, error="no.")]
    for one in written:
        store.write(one)
    assert store.calls() == [written[1], written[2], written[0]]
    assert store.calls("b") == [written[2], written[0]]
    assert store.begin(call("b")).number == 3


def test_files_are_named_by_key_and_number_and_nothing_else_is_left(tmp_path: Path) -> None:
    CallStore(tmp_path).write(call("g03-c05", 2))
    assert [path.name for path in tmp_path.iterdir()] == ["g03-c05.002.json"]


@pytest.mark.parametrize("key", ["a/b", "../up", "a.b", "a", "ä b*?", "%2F", "a[0]"])
def test_any_key_is_kept_apart_from_all_others(tmp_path: Path, key: str) -> None:
    store = CallStore(tmp_path / "calls")
    store.write(call(key))
    store.write(call(key + "x"))
    store.write(call("x" + key))
    assert [found.key for found in store.calls(key)] == [key]
    assert all(path.parent == tmp_path / "calls" for path in tmp_path.rglob("*.json"))


def test_the_latest_answer_to_the_same_request_is_found(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    store.write(call(number=1, answer="first"))
    store.write(call(number=2, answer="second"))
    store.write(call(number=3, status="error", answer=None, error="timeout."))
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
    store = CallStore(tmp_path)
    store.write(call())
    assert store.answer(key, digest, model=model, temperature=temperature) is None


def test_half_a_surrogate_pair_in_an_answer_does_not_lose_the_call(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    store.write(call(answer="well \ud83d", response={"text": "\ud83d"}))
    assert store.calls()[0].answer == "well ?"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "g00-c00"}', "\0"])
def test_a_damaged_file_is_named_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "g00-c00.001.json").write_text(text)
    with pytest.raises(GeneratorError, match=r"g00-c00\.001\.json") as caught:
        CallStore(tmp_path).calls()
    assert "\n" not in str(caught.value)


def test_an_attempt_says_whether_it_was_read_back() -> None:
    attempt = call().attempt(recorded=True)
    assert attempt.recorded
    assert not call().attempt(recorded=False).recorded
    assert (attempt.answer, attempt.prompt_tokens, attempt.cost_usd) == ("an answer", 10, Decimal("0.001"))


def test_the_file_is_plain_json_for_people(tmp_path: Path) -> None:
    path = CallStore(tmp_path).write(call(answer="größer"))
    assert json.loads(path.read_text(encoding="utf-8"))["messages"][0]["content"] == "write a rule"
    assert "größer" in path.read_text(encoding="utf-8")

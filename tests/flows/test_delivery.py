"""What an outage left behind comes home by itself, as soon as MLflow is back."""

import uuid
from contextlib import contextmanager

import pytest

from flows.delivery import delivery
from tasks.stores import home_store
from tasks.tracking import Waiting
from tests.support import journals
from tests.support.tracked import parent, synced

pytestmark = pytest.mark.usefixtures("prepared")

SOME = Waiting(records=2, runs=1)


@pytest.fixture
def looks(monkeypatch):
    """What the next looks at the home give."""
    answers = []

    def look(reason):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("flows.delivery.synchronise", look)
    monkeypatch.setattr("flows.delivery._LOOK_EVERY_S", 0.1)
    return answers


def test_it_ends_at_once_where_nothing_waits(looks):
    looks += [None]
    state = delivery(return_state=True)
    assert (state.name, state.message) == ("Completed", "MLflow has all that this home knows.")


def test_a_search_that_is_alive_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    key = uuid.uuid4().hex[:16]
    alive = synced(journals.opened(key, tmp_path / "runs" / key).folder)
    with home_store().claim(f"evolution {key}"):
        state = delivery(return_state=True)
        assert (state.name, parent(alive).info.status) == ("Completed", "RUNNING")
        assert state.message.endswith("Searches that go on, and were left alone: 1.")
    assert delivery(return_state=True).message == "MLflow has all that this home knows."
    assert parent(alive).info.status == "FAILED"


@pytest.mark.parametrize(
    ("trouble", "said"),
    [(SOME, "2 records wait for MLflow"), (OSError("No space left"), "The home cannot be used: No space")],
)
def test_its_state_says_what_it_waits_for(looks, monkeypatch, trouble, said):
    told = []

    @contextmanager
    def waiting(sentence):
        told.append(sentence)
        yield

    monkeypatch.setattr("flows.delivery.waiting", waiting)
    looks += [trouble, trouble, None]
    assert delivery(return_state=True).is_completed()
    assert not looks
    assert [sentence.startswith(said) for sentence in told] == [True]

"""The worker goes on looking for runs whose process is gone, whatever trouble there is meanwhile."""

import logging

import pytest

from flows.operate import serving


class Enough(BaseException):
    """Ends the loop that ends with its process."""


def test_trouble_is_told_and_the_next_look_is_taken(prepared, monkeypatch, caplog):
    looks = [OSError("No space left on device"), {"a run"}, KeyError("id"), Enough()]
    suspected, delivered = [], []

    def look(client, suspects):
        suspected.append(suspects)
        found = looks.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(serving, "close_abandoned", look)
    monkeypatch.setattr(serving, "synchronise", delivered.append)
    monkeypatch.setattr(serving, "_LOOK_EVERY_S", 0.01)
    with caplog.at_level(logging.WARNING, "prefect.bife"), pytest.raises(Enough):
        serving._keep_looking()
    assert suspected == [set(), set(), {"a run"}, {"a run"}]
    assert len(delivered) == 1  # twenty seconds apart
    assert ["No space left" in line for line in caplog.messages] == [True, False]


def test_a_run_that_is_being_cancelled_is_left_to_say_so_itself(prepared, monkeypatch):
    cancelling, done = [True, True, False], []

    def look(client, suspects):
        if not cancelling:
            raise Enough
        return set()

    monkeypatch.setattr(serving, "close_abandoned", look)
    monkeypatch.setattr(serving, "cancelling_here", lambda client: cancelling.pop(0))
    monkeypatch.setattr(serving, "synchronise", lambda reason: done.append(len(cancelling)))
    monkeypatch.setattr(serving, "_LOOK_EVERY_S", 0.01)
    with pytest.raises(Enough):
        serving._keep_looking()
    assert done == [0]  # once nobody is being cancelled any more

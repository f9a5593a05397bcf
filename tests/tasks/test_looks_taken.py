"""Looks at a test set are counted, each evaluation once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tasks.looks import look_at


def test_each_evaluation_takes_one_look(home):
    assert [look_at("a set", who) for who in ("a", "b", "a", "c", "b")] == [1, 2, 1, 3, 2]
    assert look_at("another set", "c") == 1


def test_evaluations_at_the_same_moment_take_different_looks(home):
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda who: look_at("one more set", str(who)), range(24)))
    assert sorted(taken) == list(range(1, 25))


def test_a_look_is_known_on_all_machines(root, homes):
    homes("here")
    assert look_at("a set", "a") == 1
    homes("there")
    assert [look_at("a set", who) for who in ("a", "b")] == [1, 2]

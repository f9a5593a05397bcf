import threading
from contextvars import copy_context

from flows.reporting.observer import Observer, observer, observing
from tasks.stores import progress_listener
from tests.flows.conftest import Diary


def test_nobody_watches_by_default():
    assert type(observer()) is Observer
    assert progress_listener() is None


def test_a_watcher_hears_of_tasks_too_and_only_inside():
    diary = Diary()
    with observing(diary):
        assert observer() is diary
        progress_listener()(1, 2)
    assert diary.steps == [(1, 2)]
    assert observer() is not diary
    assert progress_listener() is None


def test_threads_that_carry_the_context_see_the_watcher():
    diary, seen = Diary(), []
    with observing(diary):
        context = copy_context()
        thread = threading.Thread(target=lambda: seen.append(context.run(observer)))
        thread.start()
        thread.join()
    assert seen == [diary]

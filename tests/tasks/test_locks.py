import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prefect import flow
from prefect.client.orchestration import get_client

from tasks.locks import LockError, LockTimeoutError, alone_at, process_lock
from tasks.progress import listening

REPOSITORY = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from tasks.locks import process_lock
with process_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock until it is killed."""
    path = tmp_path / "a.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield path, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_another_process_has_to_wait(holder):
    path, _ = holder
    with (
        pytest.raises(LockTimeoutError, match="locked by another process"),
        process_lock(path, timeout_s=0.2),
    ):
        pass


def test_the_lock_dies_with_its_holder(holder):
    path, process = holder
    process.kill()
    process.wait()
    with process_lock(path, timeout_s=1):
        pass


def test_an_error_inside_releases_the_lock(tmp_path):
    with pytest.raises(KeyError), process_lock(tmp_path / "a.lock"):
        raise KeyError
    with process_lock(tmp_path / "a.lock", timeout_s=0.2):
        pass


def test_threads_exclude_one_another(tmp_path):
    inside, most = 0, 0
    guard = threading.Lock()

    def work():
        nonlocal inside, most
        with process_lock(tmp_path / "deep" / "a.lock"):
            with guard:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.01)
            with guard:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_lock_that_cannot_be_written_is_told_from_one_that_is_held(tmp_path):
    (tmp_path / "a.lock").mkdir()
    with pytest.raises(LockError, match="cannot be used"), process_lock(tmp_path / "a.lock", timeout_s=0.2):
        pass


def test_who_meets_the_same_work_says_so_once_and_waits_until_its_holder_dies(holder):
    path, process = holder
    told = []
    threading.Timer(4.0, process.kill).start()
    with listening(lambda *_: None, told.append), alone_at(path, "the evolution abc"):
        pass
    assert told == [
        "Another process is at the evolution abc; this one waits for it and then uses what it found."
    ]


def test_work_nobody_else_is_at_begins_at_once(tmp_path):
    told = []
    with listening(lambda *_: None, told.append), alone_at(tmp_path / "a.lock", "the evolution abc"):
        pass
    assert told == []


def test_the_states_of_a_run_and_of_its_part_say_what_is_waited_for(prepared, tmp_path):
    path, seen = tmp_path / "a.lock", []

    @flow
    def part():
        with alone_at(path, "the evolution 12"):
            return "done"

    @flow
    def whole():
        return part()

    def look():
        with get_client(sync_client=True) as client:
            while len(seen) < 2:
                seen[:] = [run.state for run in client.read_flow_runs() if run.state_name == "Waiting"]
                time.sleep(0.1)  # what is looked for needs the machine too

    with ThreadPoolExecutor() as threads:
        with process_lock(path):
            running = threads.submit(whole, return_state=True)
            threads.submit(look).result(timeout=60)
        state = running.result(timeout=60)
    assert {state.message for state in seen} == {
        "Another process is at the evolution 12; this one waits for it and then uses what it found."
    }
    assert (state.name, state.result()) == ("Completed", "done")

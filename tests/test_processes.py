"""The look for processes that a session of tests leaves behind, which fails `make test`."""

import os
import signal
import subprocess
import sys

from tests.support.processes import VARIABLE, left_over

LEAVES = """
import subprocess, sys
code = "import time; print(flush=True); time.sleep(600)"
away = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "start_new_session": True}
left = subprocess.Popen([sys.executable, "-c", code], **away)
left.stdout.readline()  # before it runs its environment may be empty to others
print(left.pid)
"""


def test_a_process_that_has_lost_its_parent_is_named_with_its_test_until_it_ends():
    mark = f"{os.environ[VARIABLE]}-left"
    command, environment = [sys.executable, "-c", LEAVES], os.environ | {VARIABLE: mark}
    started = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = left_over(mark, 0.0)
    os.kill(int(started.stdout), signal.SIGKILL)
    assert len(found) == 1
    assert found[0].startswith(f"{int(started.stdout)} (of tests/test_processes.py::test_a_process")
    assert found[0].endswith("time.sleep(600)")
    assert left_over(mark) == []

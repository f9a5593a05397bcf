"""The processes that tests start, wherever they have gone since: known by a variable of their environment."""

import time
from contextlib import suppress

import psutil

VARIABLE = "PYTHON_BIFE_TESTS"
"""Names the session of tests, and for some programs more; workers of the sandbox pass on what begins like this."""


def marked(mark):
    """Return the processes whose mark begins so, with their commands; not this one and what it has under it."""
    own = psutil.Process()
    kin = {own.pid, *(child.pid for child in own.children(recursive=True))}
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in kin and process.environ().get(VARIABLE, "").startswith(mark):
                test = process.environ().get("PYTEST_CURRENT_TEST", "no test")
                found[process.pid] = f"{process.pid} (of {test}): {' '.join(process.cmdline())}"
    return found


def left_over(mark, limit_s=30.0):
    """Wait for the end of the processes of a mark, and return what is still there."""
    deadline = time.monotonic() + limit_s
    while (found := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return sorted(found.values())

"""The command line as a program that is watched, and killed with everything it started."""

import subprocess
import threading
import time
from contextlib import suppress

import psutil

from tests.support import programs

STARTING = "starting"
STAGES = ("collection", "search", "evaluation", "registration")
_GONE_S = 20.0
_KEPT = ("BIFE_CACHE_DIR", "BIFE_HOME")


def environment(home, extra):
    """Return the environment of a run with a home of its own and no server of anybody's."""
    kept = {k: v for k, v in programs.environment(home).items() if not k.startswith("BIFE_") or k in _KEPT}
    return kept | {"PYTHONUNBUFFERED": "1"} | dict(extra)


class Program:
    """One start of the command line; `stages` has the monotonic times at which its stages began."""

    def __init__(self, arguments, home, extra):
        self.stages = [(STARTING, time.monotonic())]
        self.output = []
        self._process = subprocess.Popen(
            [*programs.PROGRAM, *arguments],
            env=environment(home, extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        assert self._process.stdout is not None
        with self._process.stdout as printed:
            for line in printed:
                self.output.append(line.rstrip())
                name, colon, _ = line.partition(":")
                if colon and name in STAGES and name != self.stages[-1][0]:
                    self.stages.append((name, time.monotonic()))

    @property
    def stage(self):
        """The stage that runs now."""
        return self.stages[-1][0]

    @property
    def ended(self):
        """Whether the program ended by itself."""
        return self._process.poll() is not None

    def wait_for(self, stage, limit_s):
        """Wait until a stage runs, or a later one, or the end; say whether it is that stage."""
        deadline = time.monotonic() + limit_s
        order = (STARTING, *STAGES)
        while not self.ended and order.index(self.stage) < order.index(stage):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{stage} did not begin within {limit_s:g} s:\n" + "\n".join(self.output))
            time.sleep(0.005)
        return not self.ended and self.stage == stage

    def wait(self, limit_s):
        """Wait for the end and return the exit code."""
        code = self._process.wait(limit_s)
        self._reader.join(_GONE_S)
        return code

    def kill(self):
        """Kill the program and all it started, as a power failure would; return the stage it was in."""
        family = []
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(self._process.pid).children(recursive=True)
        stage = self.stage
        self._process.kill()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        _, alive = psutil.wait_procs(family, timeout=_GONE_S)
        if alive:
            raise TimeoutError(f"Processes survived their kill: {alive}")
        self._reader.join(_GONE_S)
        return stage

    def durations_s(self, ended_s):
        """Return how long each stage took, given when the last one ended."""
        ends = [began for _, began in self.stages[1:]] + [ended_s]
        return {name: end - began for (name, began), end in zip(self.stages, ends, strict=True)}

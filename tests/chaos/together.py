"""Several runs started together on one fresh home: two of the same search, and one of another benchmark."""

import tempfile
from collections import Counter
from pathlib import Path

from tests.chaos import remains
from tests.chaos.api import PaidApi
from tests.chaos.campaign import LIMIT_S
from tests.chaos.program import Program

WAITS = "its results are then used"


def started_together(reference, command, seed):
    """Start three runs at once and return what became of them; `reference` is the same search, alone."""
    other = (*command, "--instances", "set_covering")
    with tempfile.TemporaryDirectory(prefix="bife-chaos-") as directory, PaidApi(seed) as api:
        home = Path(directory)
        remains.prepare(home)
        programs = [Program(arguments, home, api.environment) for arguments in (command, command, other)]
        codes = [program.wait(LIMIT_S) for program in programs]
        outputs = ["\n".join(program.output) for program in programs]
        keys = [path.parent.name for path in home.glob("runs/*/samples.json")]
        runs = Counter()
        for key in keys:
            runs.update({f"{key} {name}": count for name, count in remains.tracked(home, key).items()})
        same = remains.read(home, reference.remains.key) if reference.remains.key in keys else None
        wanted = reference.remains
        return {
            "ended_well": codes.count(0),
            "said_that_it_waits": sum(WAITS in output for output in outputs),
            "searches": len(keys),
            "population_identical": same is not None and same.population == wanted.population,
            "calls_paid_twice": len(api.again()),
            "runs_doubled": sum(count - 1 for count in runs.values()),
            "reasons": [output[-600:] for code, output in zip(codes, outputs, strict=True) if code != 0],
        }

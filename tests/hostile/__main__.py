"""Let a corpus of hostile rules loose, and print one JSON line: ``python -m tests.hostile [DIRECTORY]``."""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from tests.hostile import arena
from tests.hostile.corpus import RULES, read_corpus


def main():
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.hostile")
    parser.add_argument(
        "directory", nargs="?", type=Path, default=RULES, help="corpus; BiFE's own by default"
    )
    parser.add_argument("--limit-s", type=float, default=3.0, help="wall seconds a rule gets (default: 3)")
    options = parser.parse_args()
    cases = read_corpus(options.directory)
    if not cases:
        parser.error(f"{options.directory} holds no rule (*.py or *.txt)")
    summary = fight(cases, options.limit_s)
    print(json.dumps(summary))
    sys.exit(1 if summary["failed"] or summary["honest_disturbed"] else 0)


def fight(cases, limit_s, workers=2):
    """Face all cases, with honest rules beside them, and return the summary."""
    os.environ["BIFE_LLM_API_KEY"] = arena.SECRET
    began = time.monotonic()
    conclusions = []
    broken = []
    own = threading.local()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as arenas:
        honest = arena.HonestStream(arenas.enter_context(closing(arena.Arena(Path(directory), 60.0))))
        honest.start()

        def work(case):
            try:
                if not hasattr(own, "arena"):
                    own.arena = arenas.enter_context(closing(arena.Arena(Path(directory), limit_s)))
                conclusion = own.arena.face(case)
            except Exception as error:  # noqa: BLE001 - whatever a rule makes the parent raise is a failure
                broken.append(f"{case.name}: the parent raised {type(error).__name__}: {error}")
                return
            conclusions.append((case, conclusion))

        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(work, cases))
        honest.end()
    found = [one for _, one in conclusions]
    failed = broken + [text for case, one in conclusions if (text := complaint(case, one))]
    return {
        "rules": len(cases),
        "outcomes": dict(sorted(Counter(one.outcome for one in found).items())),
        "solves": dict(sorted(Counter(one.solve for one in found if one.solve).items())),
        "escapes": sum(bool(one.escapes) for one in found),
        "hangs": sum(one.overdue_s > arena.GRACE_S for one in found),
        "latest_s": round(max((one.overdue_s for one in found), default=0.0), 2),
        "unexpected": len(failed),
        "honest": honest.scored,
        "honest_disturbed": len(honest.disturbed),
        "limit_s": limit_s,
        "seconds": round(time.monotonic() - began, 1),
        "failed": sorted(failed),
    }


def complaint(case, one):
    """Say what is wrong with a conclusion; nothing if the rule was contained as expected."""
    wrong = ""
    if one.escapes:
        wrong = "; ".join(one.escapes)
    elif one.overdue_s > arena.GRACE_S:
        wrong = f"{one.overdue_s:.1f} s beyond its limit"
    elif not case.accepts(one.outcome):
        wrong = f"{one.outcome} instead of {' or '.join(case.expect)} ({one.reason})"
    elif one.outcome != "scored" and not one.reason:
        wrong = f"{one.outcome} without a reason"
    elif case.solve and one.solve and one.solve not in case.solve:
        wrong = f"solve {one.solve} instead of {' or '.join(case.solve)} ({one.reason})"
    return wrong and f"{case.name}: {wrong}"


if __name__ == "__main__":
    main()

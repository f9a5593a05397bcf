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
    local = threading.local()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as arenas:
        honest = arena.HonestStream(arenas.enter_context(closing(arena.Arena(Path(directory), 60.0))))
        honest.start()

        def work(case):
            try:
                if not hasattr(local, "arena"):
                    local.arena = arenas.enter_context(closing(arena.Arena(Path(directory), limit_s)))
                conclusion = local.arena.face(case)
            except Exception as error:  # noqa: BLE001 - whatever a rule makes the parent raise is a failure
                broken.append(f"{case.name}: the parent raised {type(error).__name__}: {error}")
                return
            conclusions.append((case, conclusion))

        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(work, cases))
        honest.end()
    results = [result for _, result in conclusions]
    failed = broken + [text for case, result in conclusions if (text := complaint(case, result))]
    return {
        "rules": len(cases),
        "outcomes": dict(sorted(Counter(result.outcome for result in results).items())),
        "solves": dict(sorted(Counter(result.solve for result in results if result.solve).items())),
        "escapes": sum(bool(result.escapes) for result in results),
        "hangs": sum(result.overdue_s > arena.GRACE_S for result in results),
        "latest_s": round(max((result.overdue_s for result in results), default=0.0), 2),
        "unexpected": len(failed),
        "honest": honest.scored,
        "honest_disturbed": len(honest.disturbed),
        "limit_s": limit_s,
        "seconds": round(time.monotonic() - began, 1),
        "failed": sorted(failed),
    }


def complaint(case, result):
    """Say what is wrong with a conclusion; nothing if the rule was contained as expected."""
    wrong = ""
    if result.escapes:
        wrong = "; ".join(result.escapes)
    elif result.overdue_s > arena.GRACE_S:
        wrong = f"{result.overdue_s:.1f} s beyond its limit"
    elif not case.accepts(result.outcome):
        wrong = f"{result.outcome} instead of {' or '.join(case.expect)} ({result.reason})"
    elif result.outcome != "scored" and not result.reason:
        wrong = f"{result.outcome} without a reason"
    elif case.solve and result.solve and result.solve not in case.solve:
        wrong = f"solve {result.solve} instead of {' or '.join(case.solve)} ({result.reason})"
    return wrong and f"{case.name}: {wrong}"


if __name__ == "__main__":
    main()

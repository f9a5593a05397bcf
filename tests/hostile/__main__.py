"""Let a corpus of hostile rules loose, and print one JSON line: ``python -m tests.hostile [DIRECTORY]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.hostile import arena
from tests.hostile.corpus import RULES, Case, read_corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.hostile")
    parser.add_argument(
        "directory", nargs="?", type=Path, default=RULES, help="corpus; BiFE's own by default"
    )
    parser.add_argument("--limit-s", type=float, default=3.0, help="wall seconds a rule gets (default: 3)")
    parser.add_argument("--workers", type=int, default=2, help="hostile rules at the same time (default: 2)")
    parser.add_argument("--verbose", action="store_true", help="print every verdict to standard error")
    options = parser.parse_args()
    cases = read_corpus(options.directory)
    if not cases:
        parser.error(f"{options.directory} holds no rule (*.py or *.txt)")
    summary = fight(cases, options.limit_s, options.workers, options.verbose)
    print(json.dumps(summary))
    sys.exit(1 if summary["failed"] or summary["honest_disturbed"] else 0)


def fight(cases: list[Case], limit_s: float, workers: int, verbose: bool = False) -> dict[str, Any]:
    """Face all cases, with honest rules beside them, and return the summary."""
    os.environ["BIFE_LLM_API_KEY"] = arena.SECRET
    began = time.monotonic()
    todo: SimpleQueue[Case] = SimpleQueue()
    for case in cases:
        todo.put(case)
    verdicts: list[tuple[Case, arena.Verdict]] = []
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as directory, arena.Arena(Path(directory), 60.0) as beside:
        honest = arena.HonestStream(beside)
        honest.start()

        def work() -> None:
            with arena.Arena(Path(directory), limit_s) as own:
                while True:
                    try:
                        case = todo.get_nowait()
                    except Empty:
                        return
                    try:
                        verdict = own.face(case)
                    except Exception as error:  # noqa: BLE001 - whatever a rule makes the parent raise is a failure
                        broken.append(f"{case.name}: the parent raised {type(error).__name__}: {error}")
                        continue
                    verdicts.append((case, verdict))
                    if verbose:
                        print(json.dumps(asdict(verdict)), file=sys.stderr)

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        honest.end()
    failed = broken + [text for case, verdict in verdicts if (text := complaint(case, verdict))]
    return {
        "rules": len(cases),
        "outcomes": dict(sorted(Counter(verdict.outcome for _, verdict in verdicts).items())),
        "solves": dict(sorted(Counter(verdict.solve for _, verdict in verdicts if verdict.solve).items())),
        "escapes": sum(bool(verdict.escapes) for _, verdict in verdicts),
        "hangs": sum(verdict.overdue_s > arena.GRACE_S for _, verdict in verdicts),
        "latest_s": round(max((verdict.overdue_s for _, verdict in verdicts), default=0.0), 2),
        "unexpected": len(failed),
        "honest": honest.scored,
        "honest_disturbed": len(honest.disturbed),
        "limit_s": limit_s,
        "seconds": round(time.monotonic() - began, 1),
        "failed": sorted(failed),
    }


def complaint(case: Case, verdict: arena.Verdict) -> str:
    """Say what is wrong with a verdict; nothing if the rule was contained as expected."""
    if verdict.escapes:
        return f"{case.name}: {'; '.join(verdict.escapes)}"
    if verdict.overdue_s > arena.GRACE_S:
        return f"{case.name}: {verdict.overdue_s:.1f} s beyond its limit"
    if not case.accepts(verdict.outcome):
        return f"{case.name}: {verdict.outcome} instead of {' or '.join(case.expect)} ({verdict.reason})"
    if verdict.outcome != "scored" and not verdict.reason:
        return f"{case.name}: {verdict.outcome} without a reason"
    if case.solve and verdict.solve and verdict.solve not in case.solve:
        return f"{case.name}: solve {verdict.solve} instead of {' or '.join(case.solve)} ({verdict.reason})"
    return ""


if __name__ == "__main__":
    main()

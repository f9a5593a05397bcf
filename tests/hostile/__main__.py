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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from tests.hostile import arena
from tests.hostile.corpus import RULES, Case, read_corpus


def main() -> None:
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


def fight(cases: list[Case], limit_s: float, workers: int = 2) -> dict[str, Any]:
    """Face all cases, with honest rules beside them, and return the summary."""
    os.environ["BIFE_LLM_API_KEY"] = arena.SECRET
    began = time.monotonic()
    conclusions: list[tuple[Case, arena.Conclusion]] = []
    broken: list[str] = []
    own = threading.local()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as arenas:
        honest = arena.HonestStream(arenas.enter_context(closing(arena.Arena(Path(directory), 60.0))))
        honest.start()

        def work(case: Case) -> None:
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
    failed = broken + [text for case, conclusion in conclusions if (text := complaint(case, conclusion))]
    return {
        "rules": len(cases),
        "outcomes": dict(sorted(Counter(conclusion.outcome for _, conclusion in conclusions).items())),
        "solves": dict(
            sorted(Counter(conclusion.solve for _, conclusion in conclusions if conclusion.solve).items())
        ),
        "escapes": sum(bool(conclusion.escapes) for _, conclusion in conclusions),
        "hangs": sum(conclusion.overdue_s > arena.GRACE_S for _, conclusion in conclusions),
        "latest_s": round(max((conclusion.overdue_s for _, conclusion in conclusions), default=0.0), 2),
        "unexpected": len(failed),
        "honest": honest.scored,
        "honest_disturbed": len(honest.disturbed),
        "limit_s": limit_s,
        "seconds": round(time.monotonic() - began, 1),
        "failed": sorted(failed),
    }


def complaint(case: Case, conclusion: arena.Conclusion) -> str:
    """Say what is wrong with a conclusion; nothing if the rule was contained as expected."""
    if conclusion.escapes:
        return f"{case.name}: {'; '.join(conclusion.escapes)}"
    if conclusion.overdue_s > arena.GRACE_S:
        return f"{case.name}: {conclusion.overdue_s:.1f} s beyond its limit"
    if not case.accepts(conclusion.outcome):
        return (
            f"{case.name}: {conclusion.outcome} instead of {' or '.join(case.expect)} ({conclusion.reason})"
        )
    if conclusion.outcome != "scored" and not conclusion.reason:
        return f"{case.name}: {conclusion.outcome} without a reason"
    if case.solve and conclusion.solve and conclusion.solve not in case.solve:
        return f"{case.name}: solve {conclusion.solve} instead of {' or '.join(case.solve)} ({conclusion.reason})"
    return ""


if __name__ == "__main__":
    main()

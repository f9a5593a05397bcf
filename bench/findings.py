"""Run the scripts of `findings/` and say which behave otherwise now: `make findings`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "findings"
LIMIT_S = 900.0
"""Seconds of a script, most of which go to the installation of its packages."""


def outcome(script: Path, limit_s: float = LIMIT_S) -> tuple[str, str]:
    """Return `same`, `changed` or `not run`, and the last lines that the script wrote where it is not `same`."""
    process = subprocess.Popen(
        [script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # what it started too
        process.communicate()
        return "not run", f"It took more than {limit_s:g} s."
    if process.returncode == 0:
        return "same", ""
    compared = re.search(r"(?m)^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$", output)  # by `diff`, the last command
    if compared:
        return "changed", output[compared.start() :].rstrip()
    return "not run", "\n".join(output.splitlines()[-5:])


def main(names: list[str], folder: Path = FOLDER) -> int:
    """Run the scripts of these names, or all; return 1 if one changed or did not run."""
    scripts = [folder / f"{name.removesuffix('.sh')}.sh" for name in names] or sorted(folder.glob("*.sh"))
    others = list[str]()
    for script in scripts:
        if not script.is_file():
            print(f"There is no finding {script.stem}; see {folder / 'README.md'}.", file=sys.stderr)
            return 2
        begin = time.monotonic()
        result, text = outcome(script)
        print(f"{result:8}{time.monotonic() - begin:5.0f} s  {script.stem}", flush=True)
        if result != "same":
            print("".join(f"    {line}\n" for line in text.splitlines()), end="", flush=True)
            others.append(f"{script.stem} ({result})")
    rest = f" Not: {', '.join(others)}" if others else ""
    print(f"{len(scripts) - len(others)} of {len(scripts)} are as they were.{rest}")
    return int(bool(others))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

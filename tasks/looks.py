"""How often a test set has been looked at to promote a rule; the home remembers."""

from __future__ import annotations

from typing import Final

from bife_core.files import write_new
from tasks.home import project_home
from tasks.storage import recall, share

_SUFFIX: Final = ".txt"


def look_at(test_set: str, evaluation: str) -> int:
    """Return which look at a test set an evaluation takes, 1 for the first; the same evaluation takes one look only.

    Parameters
    ----------
    test_set : str
        Hash of the held-out instances.
    evaluation : str
        Hash of the rule and of how it is measured.
    """
    directory = project_home().looks / test_set
    recall(directory)
    directory.mkdir(parents=True, exist_ok=True)
    while True:
        taken = {int(path.stem): path.read_text() for path in directory.glob(f"*{_SUFFIX}")}
        known = next((number for number, who in taken.items() if who == evaluation), None)
        if known is not None:
            return known
        number = max(taken, default=0) + 1
        # Of two processes that find the same number free, one makes the file.
        if write_new(directory / f"{number:04d}{_SUFFIX}", evaluation):
            share(directory)
            return number

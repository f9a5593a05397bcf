"""What stored solves and compiled code are known by."""

import subprocess
import sys

import pytest

from bife_core.jit import code_digest, essence


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (('"""A module."""', '"""Another text."""'), True),
        (("    return x + 1", "    # Why.\n    return x + 1"), True),
        (("    return x + 1", "    return x + 2"), False),
    ],
)
def test_comments_and_docstrings_change_no_digest(change: tuple[str, str], same: bool) -> None:
    source = '"""A module."""\n\ndef f(x):\n    """Add."""\n    return x + 1\n'
    changed = source.replace(*change)
    assert changed != source
    dumped = [essence(text) for text in (source, changed)]
    assert (dumped[0] == dumped[1]) is same


def test_the_digest_is_the_same_in_every_process() -> None:
    code = "from bife_core.jit import code_digest; print(code_digest())"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there.strip() == code_digest()

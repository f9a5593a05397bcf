"""What stored solves and compiled code are known by."""

import subprocess
import sys

from bife_core.jit import code_digest


def test_the_digest_is_the_same_in_every_process():
    code = "from bife_core.jit import code_digest; print(code_digest())"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there.strip() == code_digest()

"""What stored solves and compiled code are known by."""

import subprocess
import sys
from pathlib import Path

import bife_core.solver.jit
from bife_core.solver.code_digest import code_digest, digest_of_code


def test_the_digest_is_the_same_in_every_process():
    code = "from bife_core.solver.code_digest import code_digest; print(code_digest())"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == code_digest()


def test_code_is_known_by_what_it_says_and_not_by_where_it_lies():
    text = Path(bife_core.solver.jit.__file__).read_bytes()
    moved = text.replace(b"from bife_core.base.places import", b"from bife_core.elsewhere.places import")
    assert moved != text
    assert digest_of_code([moved]) == digest_of_code([text])
    assert digest_of_code([text.replace(b"forceinline=True", b"forceinline=False")]) != digest_of_code([text])

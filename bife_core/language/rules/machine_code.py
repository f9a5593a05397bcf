"""Rules as machine code: LLVM compiles a loop that scores every candidate.

Scoring touches no Python object and no lock, and the rule sees numbers only, never memory.
"""

from __future__ import annotations

import threading
from typing import Final

from bife_core.base.native import ObjectCode
from bife_core.language.rules.llvm import rule_in_llvm
from bife_core.language.rules.types import Program

_addresses: Final[dict[str, int]] = {}
"""Addresses of rules by their hashes; machine code is loaded for the life of the process."""

_lock = threading.RLock()


def compile_program(program: Program) -> int:
    """Compile a scalar program, unless this process has it, and return its address."""
    name = f"bife_score_{program.sha}"
    with _lock:
        if name not in _addresses:
            _addresses[name] = int(ObjectCode.of(rule_in_llvm(program, name), [name]).load()(name))
        return _addresses[name]

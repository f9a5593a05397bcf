"""Rules as machine code: numba compiles the function, and a loop in LLVM calls it for every candidate.

With numba's own C wrapper (`cfunc`) compiling would take three times as long. Scoring touches no Python object and no
lock, and the rule sees numbers only, never memory.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock

from bife_core.language.rules.types import Program

_njit: Any = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

_libraries: Final[dict[str, Any]] = {}
"""Machine code by the hash of its rule, loaded for the life of the process."""

_lock = threading.RLock()


def compile_program(program: Program) -> int:
    """Compile a scalar program, unless this process has it, and return its address; raises what numba does."""
    sha = program.sha
    with _lock, global_compiler_lock:
        if sha not in _libraries:
            _libraries[sha] = _link(_scorer(program.text, len(program.features)), program)
        return int(_libraries[sha].get_pointer_to_function(f"bife_score_{sha}"))


def _scorer(text: str, arguments: int) -> Any:
    """Compile the scoring function; its `def` runs here, its body never does."""
    scope: dict[str, Any] = {"np": np, "math": math, "__builtins__": __builtins__}
    predefined = len(scope)
    exec(compile(text, "<rule>", "exec"), scope)
    *helpers, scorer = list(scope)[predefined:]
    for helper in helpers:  # compiled when the scoring function is
        scope[helper] = _njit(scope[helper])
    compiled = _njit(scope[scorer])
    compiled.compile((types.float64,) * arguments)
    (result,) = compiled.overloads.values()
    return result


def _link(compiled: Any, program: Program) -> Any:
    context, sha = compiled.target_context, program.sha
    library = compiled.library.codegen.create_library(f"bife_rule_{sha}")
    library.add_linking_library(compiled.library)
    module = library.create_ir_module(f"bife_rule_{sha}")
    integer, real = ir.IntType(64), ir.DoubleType()
    loop_type = ir.FunctionType(integer, [real.as_pointer(), integer, real.as_pointer()])
    loop = ir.Function(module, loop_type, f"bife_score_{sha}")
    builder = ir.IRBuilder(loop.append_basic_block("entry"))
    matrix, rows, scores = loop.args
    convention, description = context.call_conv, compiled.fndesc
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call, unused-ignore]
        module,
        convention.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    with cgutils.for_range(builder, rows) as row:
        first = builder.mul(row.index, integer(program.component.n_features))
        read = [
            builder.load(builder.gep(matrix, [builder.add(first, integer(i))]))
            for i in sorted(program.features)
        ]
        status, score = convention.call_function(
            builder, function, description.restype, description.argtypes, read
        )
        with builder.if_then(status.is_error, likely=False):
            builder.ret(integer(1))
        builder.store(score, builder.gep(scores, [row.index]))
    builder.ret(integer(0))
    library.add_ir_module(module)
    library.finalize()
    return library

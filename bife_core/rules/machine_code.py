"""Rules as machine code: numba compiles the function, a hand-made loop calls it for every candidate.

numba's own C wrapper (`cfunc`) would need the loop written in Python and a ``try`` around the call, which
triples the time to compile. Here the loop is a few lines of LLVM around the function's internal entry,
whose status says whether it raised: about 0.1 s a rule, and no Python lock, no object, no reference is
touched while scoring.
"""

from __future__ import annotations

import ast
import ctypes
import math
import threading
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.np import arrayobj

from bife_core.features import N_FEATURES
from bife_core.rules import primitives
from bife_core.rules.language import RESERVED_PREFIX

_VECTOR: Final = types.Array(types.float64, 1, "C", readonly=True)

_PROTOTYPE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)

_libraries: dict[str, MachineCode] = {}
_lock = threading.RLock()


class MachineCode:
    """Machine code of one rule; stays loaded for the life of the process."""

    def __init__(self, library: Any, symbol: str) -> None:
        self._library = library
        self.address = int(library.get_pointer_to_function(symbol))
        self._call = _PROTOTYPE(self.address)

    def run(
        self, X: np.ndarray[Any, np.dtype[np.float64]], out: np.ndarray[Any, np.dtype[np.float64]]
    ) -> bool:
        """Score all rows of a C-contiguous matrix; return False if the rule raised."""
        return bool(self._call(X.ctypes.data, len(X), out.ctypes.data) == 0)


def compile_functions(functions: tuple[ast.FunctionDef, ...], sha: str) -> MachineCode:
    """Compile a scalar program, unless this process has it already.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        The scoring function first.
    sha : str
        Hash of the rule.

    Raises
    ------
    Exception
        Whatever numba raises for code it cannot compile.
    """
    with _lock, global_compiler_lock:
        known = _libraries.get(sha)
        if known is None:
            known = _libraries[sha] = MachineCode(_link(_scorer(functions, sha), sha), _symbol(sha))
        return known


def _symbol(sha: str) -> str:
    return f"bife_score_{sha}"


def _scorer(functions: tuple[ast.FunctionDef, ...], sha: str) -> Any:
    """Compile the scoring function alone; its `def` runs here, its body never does."""
    renamed = {function.name: f"rule_{sha[:20]}_{i}" for i, function in enumerate(functions)}
    for function in functions:
        function.name = renamed[function.name]
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                node.func.id = renamed.get(node.func.id, node.func.id)
    scope: dict[str, Any] = {"np": np, "math": math, "__builtins__": __builtins__}
    scope.update({RESERVED_PREFIX + name: value for name, value in vars(primitives).items()})
    module = ast.Module(body=list(functions), type_ignores=[])
    exec(compile(module, "<rule>", "exec"), scope)  # defines functions of checked source only
    scorer, *helpers = renamed.values()
    for helper in helpers:
        scope[helper] = primitives.njit(**primitives.OPTIONS)(scope[helper])
    dispatcher = primitives.njit((_VECTOR,), **primitives.OPTIONS)(scope[scorer])
    (result,) = dispatcher.overloads.values()
    return result


def _link(compiled: Any, sha: str) -> Any:
    """Put the loop over candidates around the compiled function."""
    context = compiled.target_context
    library = compiled.library.codegen.create_library(f"bife_rule_{sha}")
    library.add_linking_library(compiled.library)
    module = library.create_ir_module(f"bife_rule_{sha}")
    integer, real = ir.IntType(64), ir.DoubleType()
    loop_type = ir.FunctionType(integer, [real.as_pointer(), integer, real.as_pointer()])
    loop = ir.Function(module, loop_type, _symbol(sha))
    builder = ir.IRBuilder(loop.append_basic_block("entry"))
    matrix, rows, scores = loop.args
    convention, description = context.call_conv, compiled.fndesc
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call, unused-ignore]
        module,
        convention.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    with cgutils.for_range(builder, rows) as row:
        vector = context.make_array(_VECTOR)(context, builder)
        arrayobj.populate_array(  # type: ignore[no-untyped-call, unused-ignore]
            vector,
            data=builder.gep(matrix, [builder.mul(row.index, integer(N_FEATURES))]),
            shape=[context.get_constant(types.intp, N_FEATURES)],
            strides=[context.get_constant(types.intp, 8)],
            itemsize=context.get_constant(types.intp, 8),
            meminfo=None,
        )
        status, score = convention.call_function(
            builder, function, description.restype, description.argtypes, [vector._getvalue()]
        )
        with builder.if_then(status.is_error, likely=False):
            builder.ret(integer(1))
        score = context.cast(builder, score, description.restype, types.float64)
        builder.store(score, builder.gep(scores, [row.index]))
    builder.ret(integer(0))
    library.add_ir_module(module)
    library.finalize()
    return library

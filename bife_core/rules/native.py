"""Rules as machine code: numba compiles the function, a hand-made loop calls it for every candidate.

numba's own C wrapper (`cfunc`) would need the loop written in Python and a ``try`` around the call, which
triples the time to compile. Here the loop is a few lines of LLVM around the function's internal entry,
whose status says whether it raised: about 0.1 s a rule, and no Python lock, no object, no reference is
touched while scoring.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import math
import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.np import arrayobj

from bife_core.features import N_FEATURES
from bife_core.rules import helpers, overloads
from bife_core.rules.cache import StoredCode
from bife_core.rules.language import FUNCTION_NAME, RESERVED_PREFIX
from bife_core.rules.lowering import HELPERS

_SHAPERS: Final = ("comprehensions.py", "lowering.py", "helpers.py", "overloads.py", "native.py")
"""Files of this package that decide what a rule is compiled to."""

_OPTIONS: Final = {
    "error_model": "numpy",
    "boundscheck": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

_njit: Any = numba.njit  # its published type leaves out the last two options

_VECTOR: Final = types.Array(types.float64, 1, "C", readonly=True)

_PROTOTYPE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)

_libraries: dict[str, NativeCode] = {}
_lock = threading.RLock()


class NotNumber(Exception):  # noqa: N818 - a finding about the rule, turned into a Rejection
    """The compiled rule returns something else than one number; the text says what."""


class NativeCode:
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

    def stored(self) -> StoredCode:
        """Return the code in a form another process can load."""
        name, _, (machine, bitcode) = self._library.serialize_using_object_code()
        functions = llvm.parse_bitcode(bitcode).functions
        symbols = (f.name for f in functions if f.is_declaration and not f.name.startswith("llvm."))
        return StoredCode(name, machine, bitcode, tuple(sorted(symbols)))


@cache
def target_key() -> str:
    """Return what compiled code depends on besides the rule: this package, a row's length, compiler and processor."""
    content = hashlib.sha256()
    for name in _SHAPERS:
        content.update((Path(__file__).parent / name).read_bytes())
    processor = cpu_target.target_context.codegen().magic_tuple()
    return repr((content.hexdigest(), N_FEATURES, numba.__version__, processor))


def loaded(sha: str) -> NativeCode | None:
    """Return code this process already has."""
    return _libraries.get(sha)


def load_native(sha: str, stored: StoredCode) -> NativeCode | None:
    """Link code compiled earlier, perhaps by another process, into this one.

    Returns
    -------
    NativeCode or None
        None if the code calls something this process does not have; compile it anew.
    """
    with _lock:
        if sha not in _libraries:
            context = cpu_target.target_context
            # Compiling does this by itself; without it, code that makes a list or an array jumps to nowhere.
            rtsys.initialize(context)
            if not all(llvm.address_of_symbol(symbol) for symbol in stored.symbols):
                return None
            parts = (stored.name, "object", (stored.machine, stored.bitcode))
            _libraries[sha] = NativeCode(context.codegen().unserialize_library(parts), _symbol(sha))
        return _libraries[sha]


def compile_native(functions: tuple[ast.FunctionDef, ...], sha: str) -> NativeCode:
    """Compile a lowered rule.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        Lowered normal form, the scoring function first.
    sha : str
        Hash of the rule; symbols carry it, so that code of several processes can meet in one.

    Raises
    ------
    NotNumber
        If the function returns an array, a tuple, a list or the like.
    Exception
        Whatever numba raises for code it cannot compile.
    """
    with _lock, global_compiler_lock:
        known = _libraries.get(sha)
        if known is None:
            known = _libraries[sha] = NativeCode(_link(_scorer(functions, sha), sha), _symbol(sha))
        return known


def _symbol(sha: str) -> str:
    return f"bife_score_{sha}"


def _scorer(functions: tuple[ast.FunctionDef, ...], sha: str) -> Any:
    """Compile the scoring function alone; its `def` runs here, its body never does."""
    renamed = {function.name: f"rule_{sha[:20]}_{i}" for i, function in enumerate(functions)}
    module = ast.Module(body=[_Renamed(renamed).visit(function) for function in functions], type_ignores=[])
    scope: dict[str, Any] = {"np": np, "math": math, "__builtins__": __builtins__}
    scope.update({RESERVED_PREFIX + name: getattr(helpers, name) for name in HELPERS})
    exec(compile(module, "<rule>", "exec"), scope)  # defines functions of checked source only
    for helper in renamed.values():
        if helper != renamed[FUNCTION_NAME]:
            scope[helper] = _njit(**_OPTIONS)(scope[helper])
    dispatcher = _njit((_VECTOR,), **_OPTIONS)(scope[renamed[FUNCTION_NAME]])
    (result,) = dispatcher.overloads.values()
    if not isinstance(result.signature.return_type, overloads.SCALARS):
        raise NotNumber(_spoken(result.signature.return_type))
    return result


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names[node.name]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name):
            node.func.id = self._names.get(node.func.id, node.func.id)
        return self.generic_visit(node)


def _spoken(found: types.Type) -> str:
    kinds = ((types.Array, "an array"), (types.BaseTuple, "a tuple"), (types.List, "a list"))
    if isinstance(found, types.NoneType):
        return "nothing, as no path leads to a return"
    return next((text for kind, text in kinds if isinstance(found, kind)), str(found))


def _link(compiled: Any, sha: str) -> Any:
    """Put the loop over candidates around the compiled function."""
    context = compiled.target_context
    library = compiled.library.codegen.create_library(f"bife_rule_{sha}")
    library.enable_object_caching()
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

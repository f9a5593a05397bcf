"""Compile functions to machine code by numba; callbacks are cached in a folder named after the source of all code.

numba's own cache goes by the time stamp of one file, and our functions call each other across files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from bife_core.base.places import compiled_code, usable
from bife_core.solver.code_digest import code_digest


@cache
def cache_directory() -> Path:
    """Return the folder of compiled code, below ``BIFE_CACHE_DIR`` or the user's cache directory.

    If it is read-only, as in a worker, a temporary folder has links to its files; numba replaces a file that it writes,
    so only the link.
    """
    cached = compiled_code() / code_digest()
    folder = usable(cached)
    for compiled in cached.rglob("*.nb[ic]") if folder != cached else ():
        link = folder / compiled.relative_to(cached)
        link.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(compiled)
    return folder


@contextmanager
def _our_cache() -> Iterator[None]:
    # numba reads the setting when a function is decorated, so functions of other packages are not affected.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def jit(function: Callable[..., Any], **options: Any) -> Any:
    """Compile `function` on its first call, without Python objects and checks of division and bounds."""
    return numba.njit(error_model="numpy", **options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile like `jit`, inlined into every caller."""
    return jit(function, forceinline=True)


def c_callback(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at once into a C function of a numba signature."""
    compiler: Callable[[Callable[..., Any]], Any] = numba.cfunc(signature, cache=True)
    return _our_cache()(compiler)


def llvm_text(functions: Mapping[Any, Any]) -> str:
    """Compile jitted functions, by their signatures, to LLVM's text of plain C functions; -1 says that one failed."""
    with global_compiler_lock:
        library = cpu_target.target_context.codegen().create_library("bife")
        for function, signature in functions.items():
            function.compile(signature)
            compiled = function.overloads[signature.args]
            library.add_linking_library(compiled.library)
            library.add_ir_module(_in_c(compiled, library.create_ir_module(function.__name__)))
        library.finalize()
        return str(library.get_llvm_str())


def _in_c(compiled: Any, module: Any) -> Any:
    """Add a C function of a module's name to it, which calls a compiled one by numba's convention."""
    context, description = compiled.target_context, compiled.fndesc
    arguments = [context.get_value_type(kind) for kind in description.argtypes]
    result = context.get_value_type(description.restype)
    function = ir.Function(module, ir.FunctionType(result, arguments), module.name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    target = cgutils.get_or_insert_function(
        module,
        context.call_conv.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name,
    )
    status, value = context.call_conv.call_function(
        builder, target, description.restype, description.argtypes, function.args
    )
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.Constant(result, -1))
    builder.ret(value)
    return module

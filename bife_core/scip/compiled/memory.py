"""Raw memory for compiled code: loads, calls through an address, and buffers that grow.

The branching callback runs inside SCIP without Python, so its state is one array of 64-bit words owned by
Python, whose entries hold counters and the addresses of buffers that the C library's `realloc` grows.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import time
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import carray, float64, int32, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from bife_core.jit import jit

_I64 = ir.IntType(64)

_realloc = types.ExternalFunction("realloc", int64(int64, int64))
_clock_gettime = types.ExternalFunction("clock_gettime", int32(int32, int64))
CPU_CLOCK: Final = time.CLOCK_THREAD_CPUTIME_ID
WALL_CLOCK: Final = time.CLOCK_MONOTONIC


def _loader(value_type: Any, ir_type: ir.Type) -> Any:
    @intrinsic
    def load(typing_context: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = builder.inttoptr(args[0], ir_type.as_pointer())
            loaded = builder.load(builder.gep(base, [args[1]]))
            if isinstance(ir_type, ir.IntType) and ir_type.width < 64:
                return builder.sext(loaded, _I64)
            return loaded

        return value_type(int64, int64), codegen

    return load


# load(address, index): an element of an array of 64-bit integers or pointers, of 32-bit integers, or of doubles.
load_int64 = _loader(int64, _I64)
load_int32 = _loader(int64, ir.IntType(32))
load_float64 = _loader(float64, ir.DoubleType())


def _storer(value_type: Any, ir_type: ir.Type) -> Any:
    @intrinsic
    def store(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = builder.inttoptr(args[0], ir_type.as_pointer())
            stored = builder.trunc(args[2], ir_type) if isinstance(ir_type, ir.IntType) else args[2]
            builder.store(stored, builder.gep(base, [args[1]]))
            return context.get_dummy_value()

        return types.void(int64, int64, value_type), codegen

    return store


# store(address, index, value)
store_int64 = _storer(int64, _I64)
store_int32 = _storer(int64, ir.IntType(32))
store_float64 = _storer(float64, ir.DoubleType())


@intrinsic
def call_scorer(typing_context: Any, address: Any, matrix: Any, rows: Any, scores: Any) -> Any:
    """Call the C function ``int64 score(const double*, int64, double*)`` that lies at `address`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(_I64, [_I64, _I64, _I64])
        function = builder.inttoptr(args[0], function_type.as_pointer())
        return builder.call(function, args[1:])

    return int64(int64, int64, int64, int64), codegen


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Ask the processor to fetch the cache line at `address`, which need not be valid, for reading soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer_type = ir.IntType(8).as_pointer()
        hints = [ir.IntType(32)] * 3
        function_type = ir.FunctionType(ir.VoidType(), [pointer_type, *hints])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        pointer = builder.inttoptr(args[0], pointer_type)
        read, keep, data = (ir.Constant(hint, value) for hint, value in zip(hints, (0, 3, 1), strict=True))
        builder.call(function, [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(int64), codegen


@intrinsic
def _void_pointer(typing_context: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(int64), codegen


@jit
def int64_view(address, length):
    """View `length` 64-bit integers at `address` as an array."""
    return carray(_void_pointer(address), (length,), np.int64)


@jit
def float64_view(address, length):
    """View `length` doubles at `address` as an array."""
    return carray(_void_pointer(address), (length,), np.float64)


@jit
def nanoseconds(clock, state, scratch):
    """Return the time on a clock; two words from ``state[scratch]`` on are written to."""
    _clock_gettime(clock, state.ctypes.data + 8 * scratch)
    return state[scratch] * 1_000_000_000 + state[scratch + 1]


@jit
def fill(array, start, stop, value):
    """Set ``array[start:stop]``; a slice assignment takes the compiler seconds, this loop does not."""
    for k in range(start, stop):
        array[k] = value


@jit
def clear(state, slot):
    """Set all items of the buffer at ``state[slot]`` to 0."""
    fill(int64_view(state[slot], state[slot + 1]), 0, state[slot + 1], 0)


@jit
def ensure_room(state, slot, wanted):
    """Grow the buffer of 8-byte items at ``state[slot]``, of capacity ``state[slot + 1]``, to hold `wanted`.

    Returns False when the system has no memory left.
    """
    if wanted <= state[slot + 1]:
        return True
    capacity = max(int64(64), wanted + wanted // 2)
    grown = _realloc(state[slot], capacity * 8)
    if grown == 0:
        return False
    fill(int64_view(grown, capacity), state[slot + 1], capacity, 0)
    state[slot] = grown
    state[slot + 1] = capacity
    return True

"""Raw memory for compiled code: pointers, calls through an address, clocks, and buffers that `realloc` grows."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import time
from typing import Any, Final

from llvmlite import ir
from numba import carray, float64, int32, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from bife_core.solver.jit import jit

_realloc = types.ExternalFunction("realloc", int64(int64, int64))
_clock_gettime = types.ExternalFunction("clock_gettime", int32(int32, int64))
CPU_CLOCK: Final = time.CLOCK_THREAD_CPUTIME_ID
WALL_CLOCK: Final = time.CLOCK_MONOTONIC


def _pointers_to(item: Any) -> Any:
    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(item)(int64), codegen

    return at


# Take an address for a C array: `int64_at(address)[index]` is an element of it, to be read or assigned.
int64_at, int32_at, float64_at = _pointers_to(int64), _pointers_to(int32), _pointers_to(float64)
byte_at = _pointers_to(types.uint8)


@intrinsic
def call_scorer(typing_context: Any, address: Any, matrix: Any, rows: Any, scores: Any) -> Any:
    """Call the C function ``int64 score(const double*, int64, double*)`` that lies at `address`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function_type = ir.FunctionType(word, [word, word, word])
        function = builder.inttoptr(args[0], function_type.as_pointer())
        return builder.call(function, args[1:])

    return int64(int64, int64, int64, int64), codegen


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line at `address`, which need not be valid."""

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


@jit
def int64_view(address, length):
    """View `length` 64-bit integers at `address` as an array."""
    return carray(int64_at(address), (length,))


@jit
def float64_view(address, length):
    """View `length` doubles at `address` as an array."""
    return carray(float64_at(address), (length,))


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
    fill(int64_at(state[slot]), 0, state[slot + 1], 0)


@jit
def ensure_room(state, slot, wanted):
    """Grow the buffer of 8-byte items at ``state[slot]``, of capacity ``state[slot + 1]``; False without memory."""
    if wanted <= state[slot + 1]:
        return True
    capacity = max(int64(64), wanted + wanted // 2)
    grown = _realloc(state[slot], capacity * 8)
    if grown == 0:
        return False
    fill(int64_at(grown), state[slot + 1], capacity, 0)
    state[slot] = grown
    state[slot + 1] = capacity
    return True

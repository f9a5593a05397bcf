"""Compiled code that reads the inputs of formulas from SCIP, and writes their values where they are kept."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import float64, int32, int64, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from bife_core.language.features import GROUPS, Group, members_of
from bife_core.solver.jit import inlined
from bife_core.solver.scip.compiled.masks import STATIC_COLUMNS, bits
from bife_core.solver.scip.libscip import call_from_compiled_code


def writer(group: Group) -> Any:
    """Return ``write(row, values)``, which writes a formula's values to a candidate, or a static record, at `row`."""
    members = members_of(group)
    places = [STATIC_COLUMNS.index(feature.index) if feature.static else feature.index for feature in members]

    @intrinsic
    def write(typing_context: Any, row: Any, values: Any) -> Any:
        if len(values) != len(members):
            raise TypingError(f"{group.name!r} has {len(members)} features, its formula {len(values)}.")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
            for position, place in enumerate(places):
                value = builder.extract_value(args[1], position)
                value = context.cast(builder, value, values[position], float64)
                builder.store(value, builder.gep(base, [ir.Constant(ir.IntType(64), place)]))
            return context.get_dummy_value()

        return types.void(int64, values), codegen

    return write


_RESULTS: Final = {"SCIP_Real": float64, "SCIP_Longint": int64, "int": int32}
_DIRECTIONS: Final = {"DOWN": 0, "UP": 1}

call_from_compiled_code({call.function for group in GROUPS for call in group.calls if call is not None})


def _reader(group: Group) -> Any:
    """Return ``read(scip, column, variable, fraction)``: the inputs of a group's formula."""

    @intrinsic
    def read(typing_context: Any, scip: Any, column: Any, variable: Any, fraction: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            operands = dict(zip(("scip", "column", "variable"), args, strict=False))
            operands |= {name: ir.Constant(ir.IntType(32), value) for name, value in _DIRECTIONS.items()}
            values = []
            for call in group.calls:
                if call is None:
                    values.append(args[-1])
                    continue
                arguments, result = [operands[name] for name in call.arguments], _RESULTS[call.returns]
                kind = ir.FunctionType(context.get_value_type(result), [value.type for value in arguments])
                function = cgutils.get_or_insert_function(builder.module, kind, call.function)  # type: ignore[no-untyped-call, unused-ignore]
                values.append(context.cast(builder, builder.call(function, arguments), result, float64))
            return context.make_tuple(builder, signature.return_type, values)

        return types.UniTuple(float64, len(group.inputs))(int64, int64, int64, float64), codegen

    return read


def passes(cost: str) -> Any:
    """Return ``run(scip, column, variable, fraction, mask, row)``, which writes all features of a cost to a row.

    They are those of groups whose inputs are declared, as far as `mask` has the bits of the groups.
    """

    @inlined
    def run(scip: int, column: int, variable: int, fraction: float, mask: int, row: int) -> None:
        pass

    for group in GROUPS:
        if group.cost == cost and group.formula is not None:
            run = _followed_by(run, group, inlined(group.formula))
    return run


def _followed_by(before: Any, group: Group, formula: Any) -> Any:
    bit, read, write = bits([group]), _reader(group), writer(group)

    @inlined
    def run(scip: int, column: int, variable: int, fraction: float, mask: int, row: int) -> None:
        before(scip, column, variable, fraction, mask, row)
        if mask & bit:
            write(row, formula(*read(scip, column, variable, fraction)))

    return run

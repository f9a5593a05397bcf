"""Machine code on disk: a compiler writes it once for this processor, and it is loaded without the compiler."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from bife_core.base.files import write_whole
from bife_core.base.places import compiled_code, usable

_lock: Final = threading.RLock()


@cache
def llvm() -> Any:
    """Return LLVM's Python interface, which takes as long to load as a small solve."""
    from llvmlite import binding

    return binding


class ObjectCode:
    """An object file in memory: plain C functions, and the names of the functions of others that they call."""

    def __init__(self, code: bytes, calls: Iterable[str]) -> None:
        self.code, self.calls = code, tuple(calls)

    @classmethod
    def of(cls, text: str, names: Collection[str]) -> ObjectCode:
        """Compile LLVM's text for this processor; of its functions those of some `names` can be called."""
        with _lock:
            module = llvm().parse_assembly(text)
            module.verify()
            for function in module.functions:
                if not function.is_declaration and function.name not in names:
                    function.linkage = "internal"  # so that what is called by no other is left out
            options = llvm().create_pipeline_tuning_options(speed_level=3)
            passes = llvm().create_pass_builder(_machine(), options)
            passes.getModulePassManager().run(module, passes)
            calls = sorted(
                function.name
                for function in module.functions
                if function.is_declaration and not function.name.startswith("llvm.")
            )
            return cls(_machine().emit_object(module), calls)

    @classmethod
    def read(cls, path: Path) -> ObjectCode | None:
        """Return what `write` wrote, or None if it is not there as it was written."""
        try:
            head, code = path.read_bytes().split(b"\n", 1)
            facts = json.loads(head)
            intact = facts["sha256"] == hashlib.sha256(code).hexdigest()
            return cls(code, facts["calls"]) if intact else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the code, with its hash: LLVM would read anything."""
        facts = {"sha256": hashlib.sha256(self.code).hexdigest(), "calls": self.calls}
        write_whole(path, json.dumps(facts).encode() + b"\n" + self.code)

    def load(self, address_of: Callable[[str], int | None] = lambda name: None) -> Any:
        """Load the code for the life of the process; the result gives the address of each of its functions.

        `address_of` says where a function is that it calls; None is one of the C library.
        """
        with _lock:
            for name in self.calls:
                if (address := address_of(name)) is not None:
                    llvm().add_symbol(name, address)
            engine = _engine()
            engine.add_object_file(llvm().ObjectFileRef.from_data(self.code))
            engine.finalize_object()
        return engine.get_function_address


def kept(name: str, build: Callable[[], ObjectCode], keep: bool = True) -> ObjectCode:
    """Return the code of a `name`, which says all that it depends on but the processor; `build` it where there is none.

    What is to be kept is below the user's cache directory, or in the folder that is `usable` in its place. On a full
    disk it is built in every process.
    """
    place = compiled_code() / f"{name}-{_processor()}.o"
    if (code := ObjectCode.read(place)) is None and keep:
        place = usable(place.parent) / place.name
        code = ObjectCode.read(place)
    if code is None:
        code = build()
        if keep:
            with suppress(OSError):
                code.write(place)
    return code


@cache
def _machine() -> Any:
    llvm().initialize_native_target()
    llvm().initialize_native_asmprinter()
    return (
        llvm()
        .Target.from_default_triple()
        .create_target_machine(
            cpu=llvm().get_host_cpu_name(), features=llvm().get_host_cpu_features().flatten(), opt=3, jit=True
        )
    )


@cache
def _processor() -> str:
    """Return a hash of what machine code depends on besides its source."""
    from llvmlite import __version__

    processor = llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()
    facts = __version__, llvm().get_process_triple(), *processor
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:16]


@cache
def _engine() -> Any:
    return llvm().create_mcjit_compiler(llvm().parse_assembly(""), _machine())

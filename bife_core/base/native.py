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

import llvmlite
from llvmlite import binding

from bife_core.base.files import write_whole
from bife_core.base.places import compiled_code, usable

_lock: Final = threading.RLock()


class ObjectCode:
    """An object file in memory: plain C functions, and the names of the functions of others that they call."""

    def __init__(self, code: bytes, calls: Iterable[str]) -> None:
        self.code, self.calls = code, tuple(calls)

    @classmethod
    def of(cls, llvm: str, names: Collection[str]) -> ObjectCode:
        """Compile LLVM's text for this processor; of its functions those of some `names` can be called."""
        with _lock:
            module = binding.parse_assembly(llvm)
            module.verify()
            for function in module.functions:
                if not function.is_declaration and function.name not in names:
                    function.linkage = "internal"  # so that what is called by no other is left out
            options = binding.create_pipeline_tuning_options(speed_level=3)
            passes = binding.create_pass_builder(_machine(), options)
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
                    binding.add_symbol(name, address)
            engine = _engine()
            engine.add_object_file(binding.ObjectFileRef.from_data(self.code))
            engine.finalize_object()
        return engine.get_function_address


def kept(name: str, build: Callable[[], ObjectCode]) -> ObjectCode:
    """Return the code of a `name`, which says all that it depends on but the processor; `build` it where there is none.

    It is kept below the user's cache directory, or in the folder that is `usable` in its place. On a full disk it is
    built in every process.
    """
    place = compiled_code() / f"{name}-{_processor()}.o"
    if (code := ObjectCode.read(place)) is None:
        writable = usable(place.parent) / place.name
        if (code := ObjectCode.read(writable)) is None:
            code = build()
            with suppress(OSError):
                code.write(writable)
    return code


@cache
def _machine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
    )


@cache
def _processor() -> str:
    """Return a hash of what machine code depends on besides its source."""
    facts = (
        llvmlite.__version__,
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:16]


@cache
def _engine() -> Any:
    return binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())

"""Machine code on disk: a compiler writes it once for this processor, and it is loaded without the compiler.

Where the system has a linker the code is a shared library. Elsewhere it is an object file, which LLVM loads; to load
LLVM takes a tenth as long as to start and solve a small instance.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from bife_core.base.files import write_whole
from bife_core.base.places import compiled_code, usable

Addresses: TypeAlias = Callable[[str], int]
"""Gives the address of each function of some loaded code."""

_HASH: Final = hashlib.sha256().digest_size
"""Bytes of the hash at the end of a shared library, where the system's loader does not look."""

_PROCESSOR: Final = (
    b"vendor_id", b"cpu family", b"model", b"flags", b"CPU ", b"Features", b"cpu\t", b"isa", b"uarch",
)  # fmt: skip
"""Beginnings of the lines by which Linux says what a processor can do; others are of one core, or change."""

_lock: Final = threading.RLock()


@cache
def llvm() -> Any:
    """Return LLVM's Python interface."""
    from llvmlite import binding

    return binding


@dataclass(frozen=True)
class Source:
    """LLVM's text of plain C functions, and the names of those that can be called."""

    text: str
    names: Collection[str]

    def compiled(self, *, shared: bool = False) -> ObjectCode:
        """Return machine code for this processor; `shared` is for a shared library, and not for `ObjectCode.load`."""
        with _lock:
            module = llvm().parse_assembly(self.text)
            module.verify()
            for function in module.functions:
                if not function.is_declaration and function.name not in self.names:
                    function.linkage = "internal"  # so that what is called by no other is left out
            options = llvm().create_pipeline_tuning_options(speed_level=3)
            passes = llvm().create_pass_builder(_machine(shared), options)
            passes.getModulePassManager().run(module, passes)
            calls = sorted(
                function.name
                for function in module.functions
                if function.is_declaration and not function.name.startswith("llvm.")
            )
            return ObjectCode(_machine(shared).emit_object(module), calls)


class ObjectCode:
    """An object file in memory, and the names of the functions of others that it calls."""

    def __init__(self, code: bytes, calls: Iterable[str]) -> None:
        self.code, self.calls = code, tuple(calls)

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

    def load(self, address_of: Callable[[str], int | None]) -> Addresses:
        """Load the code for the life of the process.

        `address_of` says where a function is that it calls; None is one of the C library.
        """
        with _lock:
            for name in self.calls:
                if (address := address_of(name)) is not None:
                    llvm().add_symbol(name, address)
            engine = _engine()
            engine.add_object_file(llvm().ObjectFileRef.from_data(self.code))
            engine.finalize_object()
        function_address: Addresses = engine.get_function_address
        return function_address


def loaded(
    name: str,
    source: Callable[[], Source],
    *,
    keep: bool = True,
    address_of: Callable[[str], int | None] = lambda _: None,
    library: Path | None = None,
) -> Addresses:
    """Load code for the life of the process; its `name` says all that it depends on but the processor.

    Code that is to be kept is compiled once, and stays below the user's cache directory or in the folder that is
    `usable` in its place; on a full disk every process compiles it. It may call functions of the C library, and those
    of a `library` that the process has loaded, of which `address_of` tells the addresses.
    """
    if not keep:
        return source().compiled().load(address_of)
    name = f"{name}-{_processor()}"
    folder = compiled_code()
    if (addresses := _on_disk(folder, name, library, address_of)) is not None:
        return addresses
    where = usable(folder)
    if where != folder and (addresses := _on_disk(where, name, library, address_of)) is not None:
        return addresses
    code = source()
    shared = _shared(where, name, library)
    if _link(code, shared, library) and (addresses := _opened(shared)) is not None:
        return addresses
    compiled = code.compiled()
    with suppress(OSError):
        compiled.write(where / f"{name}.o")
    return compiled.load(address_of)


def _on_disk(
    folder: Path, name: str, library: Path | None, address_of: Callable[[str], int | None]
) -> Addresses | None:
    if (addresses := _opened(_shared(folder, name, library))) is not None:
        return addresses
    code = ObjectCode.read(folder / f"{name}.o")
    return None if code is None else code.load(address_of)


def _shared(folder: Path, name: str, library: Path | None) -> Path:
    """Return where a shared library lies; it names the library that it calls, whose own name has a version."""
    return folder / f"{name}{'' if library is None else f'-{library.name}'}.so"


def _opened(path: Path) -> Addresses | None:
    """Return the functions of a shared library; None if it is not there as it was written, or must not be run there."""
    try:
        content = memoryview(path.read_bytes())
        if hashlib.sha256(content[:-_HASH]).digest() != content[-_HASH:]:
            return None
        functions = ctypes.CDLL(str(path))
    except OSError:
        return None
    return lambda function: ctypes.cast(functions[function], ctypes.c_void_p).value or 0


def _link(source: Source, path: Path, library: Path | None) -> bool:
    """Write a shared library; False if there is no linker, it fails, or the system is not Linux."""
    import shutil  # most processes have the library already
    import subprocess
    import tempfile

    if sys.platform != "linux" or shutil.which("cc") is None:  # before anything is compiled
        return False

    with suppress(OSError, subprocess.SubprocessError), tempfile.TemporaryDirectory() as folder:
        code, linked = Path(folder) / "code.o", Path(folder) / "code.so"
        code.write_bytes(source.compiled(shared=True).code)
        called = ["-lm"] if library is None else [str(library), "-lm"]
        command = ["cc", "-shared", "-Wl,-z,noexecstack", "-o", str(linked), str(code), *called]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        content = linked.read_bytes()
        write_whole(path, content + hashlib.sha256(content).digest())
        return True
    return False


@cache
def _machine(shared: bool = False) -> Any:
    llvm().initialize_native_target()
    llvm().initialize_native_asmprinter()
    options = {"reloc": "pic", "codemodel": "small"} if shared else {"jit": True}
    cpu, features = llvm().get_host_cpu_name(), llvm().get_host_cpu_features().flatten()
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, **options)


@cache
def _processor() -> str:
    """Return a hash of what machine code depends on besides its source."""
    from llvmlite import __version__  # without LLVM itself

    try:
        with Path("/proc/cpuinfo").open("rb", buffering=0) as cores:
            first = cores.read(16_384).split(b"\n\n", 1)[0]
        facts = b"\n".join(line for line in first.splitlines() if line.startswith(_PROCESSOR))
    except OSError:
        facts = b""
    if not facts:
        facts = f"{llvm().get_host_cpu_name()} {llvm().get_host_cpu_features().flatten()}".encode()
    return hashlib.sha256(f"{__version__} {sys.platform} ".encode() + facts).hexdigest()[:16]


@cache
def _engine() -> Any:
    return llvm().create_mcjit_compiler(llvm().parse_assembly(""), _machine())

"""Machine code on disk: written once, loaded only as it was written, and made anew where it cannot be kept."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bife_core.base import native
from bife_core.base.native import Source, loaded

TWICE = """
declare double @cos(double)
define double @{name}(double %x) {{
  %y = call double @helper(double %x)
  ret double %y
}}
define double @helper(double %x) {{
  %c = call double @cos(double %x)
  %y = fadd double %c, %x
  ret double %y
}}
define double @unused(double %x) {{
  %y = call double @not_anywhere(double %x)
  ret double %y
}}
declare double @not_anywhere(double)
"""


@pytest.fixture(params=["shared library", "object file"])
def built(request, tmp_path, monkeypatch):
    """Return how often code was written, with the function that writes it; with a linker and without."""
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path / "cache"))
    if request.param == "object file":
        monkeypatch.setattr(native, "_link", lambda *_: False)
    names = []

    def source():
        names.append(f"f{os.getpid()}_{len(names)}_{id(names)}")
        return Source(TWICE.format(name=names[-1]), names[-1:])

    return names, source


def called(addresses, name, value):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(addresses(name))(value)


def files(tmp_path):
    return [*(tmp_path / "cache").rglob("*.o"), *(tmp_path / "cache").rglob("*.so")]


def test_code_calls_only_what_it_needs():
    assert Source(TWICE.format(name="f"), ["f"]).compiled().calls == ("cos",)


def test_code_is_compiled_once(built, tmp_path):
    names, source = built
    first = loaded("twice", source)
    again = loaded("twice", source)
    assert len(names) == len(files(tmp_path)) == 1
    assert called(first, names[0], 0.0) == called(again, names[0], 0.0) == 1.0
    loaded("other", source)
    assert len(names) == 2


def test_a_file_that_was_cut_or_changed_is_made_anew(built, tmp_path, monkeypatch):
    names, source = built
    loaded("twice", source)
    (file,) = files(tmp_path)
    written = file.read_bytes()
    for spoiled in (written[:-1], written[:-1] + b"\0\0", b"", b"[]\n" + written.partition(b"\n")[2]):
        folder = (
            tmp_path / f"cache{len(names)}"
        )  # the system takes a file of the same path for what it has loaded
        (folder / "native").mkdir(parents=True)
        (folder / "native" / file.name).write_bytes(spoiled)
        monkeypatch.setenv("BIFE_CACHE_DIR", str(folder))
        assert called(loaded("twice", source), names[-1], 0.0) == 1.0
    assert len(names) == 5


def test_what_is_kept_elsewhere_is_found_there(built, tmp_path, monkeypatch):
    names, source = built
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(native, "usable", lambda folder: elsewhere)
    for _ in range(2):
        assert called(loaded("twice", source), names[0], 0.0) == 1.0
    assert len(names) == 1
    assert files(tmp_path) == []


def test_what_cannot_be_kept_is_compiled_by_each_process(built, tmp_path, monkeypatch):
    names, source = built

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(native, "write_whole", full)
    assert called(loaded("twice", source), names[0], 0.0) == 1.0
    assert files(tmp_path) == []


def test_what_need_not_be_kept_is_not(built, tmp_path):
    names, source = built
    assert called(loaded("twice", source, keep=False), names[0], 0.0) == 1.0
    assert files(tmp_path) == []


def test_a_library_that_must_not_be_run_where_it_lies_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))

    def refused(path):
        raise OSError(
            f"{path}: failed to map segment from shared object"
        )  # what a file system of `noexec` says

    monkeypatch.setattr(ctypes, "CDLL", refused)
    addresses = loaded("twice", lambda: Source(TWICE.format(name="noexec"), ["noexec"]))
    assert called(addresses, "noexec", 0.0) == 1.0


def test_without_a_linker_an_object_file_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    compiled, kinds = Source.compiled, []
    monkeypatch.setattr(Source, "compiled", lambda self, **kind: kinds.append(kind) or compiled(self, **kind))
    addresses = loaded("twice", lambda: Source(TWICE.format(name="unlinked"), ["unlinked"]))
    assert kinds == [{}], "it is compiled once"
    assert called(addresses, "unlinked", 0.0) == 1.0
    assert [file.suffix for file in (tmp_path / "native").iterdir()] == [".o"]


def test_a_function_of_another_library_is_called_where_it_is():
    text = "declare double @elsewhere(double)\ndefine double @caller(double %x) {\n" + (
        "  %y = call double @elsewhere(double %x)\n  ret double %y\n}\n"
    )
    half = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)
    code = Source(text, ["caller"]).compiled()
    address = code.load({"elsewhere": ctypes.cast(half, ctypes.c_void_p).value}.get)("caller")
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(3.0) == 1.5


@pytest.mark.skipif(sys.platform != "linux", reason="only there is code linked")
def test_a_later_process_loads_a_rule_without_llvm(tmp_path):
    code = (
        "import sys; from bife_core import load_method; load_method('pseudocost_product').address; "
        "print('llvmlite.binding' in sys.modules)"
    )
    environment = {**os.environ, "BIFE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    first, later = (
        subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)
    )
    assert (first.stdout, first.stderr) == ("True\n", "")
    linked = any(file.suffix == ".so" for file in Path(tmp_path, "native").iterdir())
    assert (later.stdout, later.stderr) == (f"{not linked}\n", "")

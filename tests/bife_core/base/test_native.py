"""Machine code on disk: written once, read only as it was written, and made anew where it cannot be kept."""

import ctypes
import os

import pytest

from bife_core.base.native import ObjectCode, kept

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


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Return how often code was built, with the function that builds it."""
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path / "cache"))
    names = []

    def build():
        names.append(f"f{os.getpid()}_{len(names)}_{tmp_path.name.replace('-', '_')}")
        return ObjectCode.of(TWICE.format(name=names[-1]), names[-1:])

    return names, build


def called(code, name, value):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.load()(name))(value)


def files(tmp_path):
    return [*(tmp_path / "cache").rglob("*.o")]


def test_code_is_built_once_and_calls_only_what_it_needs(built):
    names, build = built
    first = kept("twice", build)
    assert first.calls == ("cos",)
    again = kept("twice", build)
    assert len(names) == 1
    assert called(again, names[0], 0.0) == 1.0
    kept("other", build)
    assert len(names) == 2


def test_a_file_that_was_cut_or_changed_is_made_anew(built, tmp_path):
    names, build = built
    kept("twice", build)
    (file,) = files(tmp_path)
    written = file.read_bytes()
    for spoiled in (written[:-1], written[:-1] + b"\0\0", b"", b"[]\n" + written.partition(b"\n")[2]):
        file.write_bytes(spoiled)
        code = kept("twice", build)
        assert called(code, names[-1], 0.0) == 1.0
    assert len(names) == 5


def test_what_is_kept_elsewhere_is_found_there(built, tmp_path, monkeypatch):
    names, build = built
    monkeypatch.setattr("bife_core.base.native.usable", lambda folder: tmp_path / "elsewhere")
    for _ in range(2):
        code = kept("twice", build)
    assert len(names) == 1
    assert called(code, names[0], 0.0) == 1.0
    assert files(tmp_path) == []


def test_what_cannot_be_kept_is_built_by_each_process(built, tmp_path, monkeypatch):
    names, build = built

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bife_core.base.native.write_whole", full)
    assert called(kept("twice", build), names[0], 0.0) == 1.0
    assert files(tmp_path) == []


def test_a_function_of_another_library_is_called_where_it_is(built):
    text = "declare double @elsewhere(double)\ndefine double @caller(double %x) {\n" + (
        "  %y = call double @elsewhere(double %x)\n  ret double %y\n}\n"
    )
    half = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)
    code = ObjectCode.of(text, ["caller"])
    address = code.load({"elsewhere": ctypes.cast(half, ctypes.c_void_p).value}.get)("caller")
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(3.0) == 1.5

"""Compiled code comes as LLVM's text: of the present source, read without numba, and compiled anew where it is not."""

import lzma
import subprocess
import sys
from dataclasses import replace

import pytest

from bife_core.solver.units import FEATURES, UNITS

SOLVE = """
import sys
sys.modules["numba"] = None
import bife_core
print(bife_core.solve({path!r}, "pseudocost_product", node_limit=5).calls)
"""


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_text_is_of_the_present_source(unit):
    head = lzma.decompress(unit.file.read_bytes()).decode().split("\n", 1)[0].split()
    assert head[1] == unit.digest, "the source of compiled code has changed: run `python -m bench.units`"


@pytest.mark.skipif(sys.platform != "linux", reason="the text is of one platform")
def test_a_first_solve_needs_no_numba(knapsacks, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))
    code = SOLVE.format(path=str(knapsacks[0].path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    assert "Compiling" not in done.stderr
    assert [path.name.split("-")[0] for path in tmp_path.rglob("*.o")] == ["features"]


@pytest.mark.parametrize("text", ["; of other source\n", None, "; {key} extract\nno LLVM\n"])
def test_other_text_is_compiled_anew(text, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("bife_core.solver.units._FOLDER", tmp_path)
    unit = replace(FEATURES, name="other")
    function = f"other_{tmp_path.name.replace('-', '_')}"
    code = f"; {unit._key} {function}\ndefine i64 @{function}(i64 %x) {{\n  ret i64 7\n}}\n"
    monkeypatch.setattr("bife_core.solver.units.Unit.text", lambda self: code)
    if text is not None:
        unit.file.write_bytes(lzma.compress(text.format(key=unit._key).encode()))
    assert unit.address(function)
    assert "Compiling other for this machine, once" in caplog.text

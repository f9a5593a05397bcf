"""Compiled code comes as LLVM's text: of the present source, read without numba, and compiled anew where it is not."""

import lzma
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from bife_core.solver.units import FEATURES, UNITS

SOLVE = """
import sys
sys.modules["numba"] = None
import bife_core
{before}
print(bife_core.solve({path!r}, {rule!r}).calls, *sys.modules)
"""


def solved(instance, rule, before=""):
    """Solve in a process of its own, and return the calls of the rule, what it says, and what it loaded."""
    code = SOLVE.format(path=str(instance.path), rule=rule, before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    calls, *modules = done.stdout.split()
    return int(calls), done.stderr, {*modules}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_text_is_of_the_present_source(unit):
    head = lzma.decompress(unit.file.read_bytes()).decode().split("\n", 1)[0].split()
    assert head[1] == unit.digest, "the source of compiled code has changed: run `python -m bench.units`"


@pytest.mark.skipif(sys.platform != "linux", reason="the text is of one platform")
def test_a_first_solve_needs_no_numba(knapsacks, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_CACHE_DIR", str(tmp_path))
    calls, messages, _ = solved(knapsacks[0], "pseudocost_product")
    assert calls > 0
    assert "Compiling" not in messages
    assert sorted(path.name.split("-")[0] for path in tmp_path.rglob("*.*o")) == ["features", "rule"]
    without_compiler = "from bife_core.base.native import Source; Source.compiled = None"
    assert solved(knapsacks[0], "pseudocost_product", without_compiler)[0] == calls


def test_a_solve_loads_only_what_it_needs(knapsacks):
    unneeded = {
        "dotenv",
        "importlib.metadata",
        "llvmlite.binding",
        "logging",
        "sqlalchemy",
        "tomllib",
        "typer",
    }
    _, _, by_scip = solved(knapsacks[0], "relpscost")
    _, _, by_rule = solved(knapsacks[0], "pseudocost_product")
    assert unneeded & by_scip == set()
    assert unneeded & by_rule == (set() if shutil.which("cc") else {"llvmlite.binding"})


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

"""The notebooks of the documents run as they are, on fewer and smaller instances."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import REPOSITORY, environment

NOTEBOOKS = sorted(Path("docs").rglob("*.ipynb"))
FEW = {'("test", 10)': '("test", 2)', '("test", 4)': '("test", 2)', "samples=8": "samples=2"}

RUN = """
import linecache, sys
import bife_core
from bife_core.instances.config import FAMILIES
from tests.support.instances import QUICK_AUCTIONS
FAMILIES["combinatorial_auction"] = QUICK_AUCTIONS
preset, few = bife_core.preset, {"search.samples": 4, "search.initial": 3, "collection.decisions": 5}
bife_core.preset = lambda *names: bife_core.with_overrides(preset(*names), few)
names = {}
for number, text in enumerate(sys.stdin.read().split("\\0")):
    cell = f"<cell {number}>"
    linecache.cache[cell] = (len(text), None, text.splitlines(True), cell)  # where inspect finds a rule, as in Jupyter
    exec(compile(text, cell, "exec"), names)
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells), "clear the outputs: they are of one machine"
    text = "\0".join("".join(cell["source"]) for cell in cells)
    for many, few in FEW.items():
        text = text.replace(many, few)
    variables = environment(tmp_path / "home", MPLBACKEND="agg", PYTHONPATH=str(REPOSITORY))
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, input=text, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3

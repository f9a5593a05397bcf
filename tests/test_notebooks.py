"""The notebooks of the documents run as they are, on fewer instances."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted(Path("docs").rglob("*.ipynb"))

RUN = """
import linecache, sys
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
    few = "\0".join("".join(cell["source"]) for cell in cells).replace('("test", 10)', '("test", 3)')
    home = {"BIFE_HOME": str(tmp_path / "home"), "MPLBACKEND": "agg"}
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(
        command, input=few, cwd=tmp_path, env=os.environ | home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3

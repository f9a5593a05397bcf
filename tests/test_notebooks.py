"""The notebooks of the documents run as they are, on fewer and smaller instances."""

import json
import linecache
from pathlib import Path

import pytest

import bife_core

NOTEBOOKS = sorted(Path("docs").rglob("*.ipynb"))
FEW = {'("test", 10)': '("test", 2)', '("test", 4)': '("test", 2)', "samples=8": "samples=2"}


@pytest.mark.usefixtures("in_process", "quick_auctions")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells), "clear the outputs: they are of one machine"
    preset, few = bife_core.preset, {"search.samples": 4, "search.initial": 3, "collection.decisions": 5}
    monkeypatch.setattr(bife_core, "preset", lambda *named: bife_core.with_overrides(preset(*named), few))
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, cell in enumerate(cells):
        text, place = "".join(cell["source"]), f"<cell {number}>"
        for many, fewer in FEW.items():
            text = text.replace(many, fewer)
        # Where `inspect` finds a rule, as in Jupyter.
        monkeypatch.setitem(linecache.cache, place, (len(text), None, text.splitlines(True), place))
        exec(compile(text, place, "exec"), names)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3

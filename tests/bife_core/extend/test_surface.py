"""The names that other packages build on: all there, on the developers' page, and loaded when they are first used."""

import re
import subprocess
import sys

import pytest

import bife_core
from bife_core import extend
from tests.support.documents import DOCS

HEAVY = {"bife_core.base", "matplotlib", "mlflow", "numba", "numpy", "pydantic", "pyscipopt"}


def test_the_page_lists_the_names_and_each_is_there():
    text = (DOCS / "developers/extending.md").read_text(encoding="utf-8")
    section = text.partition("## What a package may import")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| [^|]+ \| (.*) \|$", section, re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(cells[1:]))) - {"extend"}
    assert {name for name in extend.__all__ if hasattr(extend, name)} == named - set(bife_core.__all__)
    assert not set(extend.__all__) & set(bife_core.__all__), "one place for each name"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        extend.Nothing  # noqa: B018


def test_importing_the_surface_loads_none_of_it():
    program = "import sys, bife_core.extend; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())

"""What the package says of itself: a clean installation has all that the product imports."""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.test_layering import REPOSITORY, imported, modules

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    return {plain(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


DECLARED = declared(PROJECT["dependencies"])
OPTIONAL = {
    name
    for extra, wanted in PROJECT["optional-dependencies"].items()
    if extra != "dev"
    for name in declared(wanted)
}
installed = cache(packages_distributions)


@pytest.mark.parametrize("floor", ["bife_core", "tasks", "flows"])
def test_every_package_the_product_imports_is_declared(floor):
    names = {
        name for module, path in modules().items() if module.startswith(floor) for name in imported(path)
    }
    foreign = names - sys.stdlib_module_names - {"bife_core", "tasks", "flows"}
    assert foreign, floor
    undeclared = {
        name
        for name in foreign
        # One that is not installed here must be an extra, under its own name.
        if not {plain(found) for found in installed().get(name, [name])} & (DECLARED | OPTIONAL)
    }
    assert undeclared == set()


def test_every_dependency_has_a_tested_version():
    pinned = {
        plain(line.partition("==")[0])
        for line in (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert DECLARED - pinned == set()


def test_the_licence_is_the_one_that_is_named():
    assert PROJECT["license"] == "Apache-2.0"
    text = Path(REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0" in text
    assert "END OF TERMS AND CONDITIONS" in text

"""The floors of the house: `flows` stand on `tasks`, `tasks` on `bife_core`, and nobody looks up."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FORBIDDEN = {
    "bife_core": {"tasks", "flows", "prefect", "mlflow"},
    "tasks": {"flows"},
    "flows": {"mlflow"},
}


def imported(path):
    """Return the top-level names a file imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            names.update(argument.value for argument in node.args if isinstance(argument, ast.Constant))
    return {name.split(".")[0] for name in names if isinstance(name, str)}


@pytest.mark.parametrize("floor", sorted(FORBIDDEN))
def test_no_file_imports_what_its_floor_must_not_know(floor):
    files = sorted((REPOSITORY / floor).rglob("*.py"))
    assert len(files) > 3
    wrong = {
        str(path.relative_to(REPOSITORY)): sorted(found)
        for path in files
        if (found := imported(path) & FORBIDDEN[floor])
    }
    assert wrong == {}


def test_the_check_sees_every_kind_of_import(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "import a.b\nfrom c.d import e\ndef f():\n    import g\n    importlib.import_module('h.i')\n"
    )
    assert imported(path) == {"a", "c", "g", "h"}


def test_the_library_runs_without_prefect_and_mlflow():
    modules = sorted(
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for path in (REPOSITORY / "bife_core").rglob("*.py")
    )
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'prefect', 'mlflow', 'tasks', 'flows'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *modules],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr

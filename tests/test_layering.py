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


ALLOWED = {"bife_core/methods/loading.py": {"mlflow"}}
"""The one lazy import of MLflow: `attach(model, "models:/...")` works where `tasks` is a user's own package."""


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


def modules():
    """Return all modules of the product by name."""
    return {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): path
        for floor in FORBIDDEN
        for path in (REPOSITORY / floor).rglob("*.py")
    }


def arrows(files):
    """Return whom each module imports, in functions and for type checkers alone too.

    The package a module lies in counts where it is named. The names in a table of plugins are no imports: what they
    stand for is loaded when it is asked for, as from any other package.
    """
    found = {}
    for name, path in files.items():
        there = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                there.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} imports relatively"
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                there.update(full if full in files else node.module for full in inside)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                there.update(given.value for given in node.args if isinstance(given, ast.Constant))
        found[name] = (there & set(files)) - {name}
    return found


def circle(arrows):
    """Return nodes that lead to themselves, in order, or nothing."""
    left = {name: set(there) for name, there in arrows.items()}
    while True:
        ends = {name for name, there in left.items() if not there & left.keys()}
        if not ends:
            break
        left = {name: there for name, there in left.items() if name not in ends}
    if not left:
        return []
    walked = [min(left)]
    while walked[-1] not in walked[:-1]:
        walked.append(min(left[walked[-1]] & left.keys()))
    return walked[walked.index(walked[-1]) :]


def test_no_module_imports_itself_by_a_detour():
    files = modules()
    assert len(files) > 200
    assert circle(arrows(files)) == []


@pytest.mark.parametrize("floor", sorted(FORBIDDEN))
def test_no_room_of_a_floor_imports_itself_by_a_detour(floor):
    def room(module):
        return ".".join(module.split(".")[:2])

    rooms = {}
    for name, there in arrows(modules()).items():
        if name.startswith(f"{floor}."):
            rooms.setdefault(room(name), set()).update(map(room, there))
    assert len(rooms) > 10
    assert circle({name: there - {name, floor} for name, there in rooms.items()}) == []


def test_a_circle_is_named(tmp_path):
    sources = {
        "m.a": "def f():\n    from m.b import x\n",
        "m.b": "if TYPE_CHECKING:\n    import m.c\n",
        "m.c": "import_module('m.a')\n",
        "m.d": "from m import a\n",
    }
    files = {}
    for name, text in sources.items():
        files[name] = tmp_path / name
        files[name].write_text(text)
    assert circle(arrows(files)) == ["m.a", "m.b", "m.c", "m.a"]
    files["m.c"].write_text("")
    assert circle(arrows(files)) == []


@pytest.mark.parametrize("floor", sorted(FORBIDDEN))
def test_no_file_imports_what_its_floor_must_not_know(floor):
    files = sorted((REPOSITORY / floor).rglob("*.py"))
    assert len(files) > 3
    wrong = {
        str(path.relative_to(REPOSITORY)): sorted(found)
        for path in files
        if (
            found := (imported(path) & FORBIDDEN[floor])
            - ALLOWED.get(path.relative_to(REPOSITORY).as_posix(), set())
        )
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

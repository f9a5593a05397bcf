"""The layers: `flows` import `tasks`, `tasks` import `bife_core`, never the other way and never in a circle."""

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FORBIDDEN = {
    "bife_core": {"tasks", "flows", "prefect", "mlflow"},
    "tasks": {"flows"},
    "flows": {"mlflow"},
}
# The one lazy import of MLflow: `attach(model, "models:/...")` works where `tasks` is a user's own package.
ALLOWED = {("bife_core.methods.stored", "mlflow")}


def modules():
    """Return the files of all modules of the product by name."""
    return {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__"): path
        for layer in FORBIDDEN
        for path in (REPOSITORY / layer).rglob("*.py")
    }


def imported(path):
    """Return the full names a file imports, also in functions and for type checkers alone."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if function in ("import_module", "__import__"):
                names.update(given.value for given in node.args if isinstance(given, ast.Constant))
    return names


def graph(files):
    """Return the modules that each of `files` imports; a package counts where it is named itself."""
    edges = {}
    for name, path in files.items():
        targets = {full if full in files else full.rpartition(".")[0] for full in imported(path)}
        edges[name] = (targets & files.keys()) - {name}
    return edges


def circle(edges):
    """Return the nodes of a circle, or nothing."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_by_a_detour():
    assert circle(graph(modules())) == []


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_no_package_of_a_layer_imports_itself_by_a_detour(layer):
    packages = {}
    for name, targets in graph(modules()).items():
        if name.startswith(f"{layer}."):
            package = ".".join(name.split(".")[:2])
            others = {".".join(target.split(".")[:2]) for target in targets}
            packages.setdefault(package, set()).update(others - {package, layer})
    assert len(packages) > 10
    assert circle(packages) == []


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_no_layer_imports_what_it_must_not(layer):
    wrong = {
        (name, found)
        for name, path in modules().items()
        if name.partition(".")[0] == layer
        for found in {full.partition(".")[0] for full in imported(path)} & FORBIDDEN[layer]
    }
    assert wrong - ALLOWED == set()


def test_every_kind_of_import_is_seen(tmp_path):
    sources = {
        "m.a": "import k.l\ndef f():\n    from m.b import x\n",
        "m.b": "if TYPE_CHECKING:\n    import m.c\n",
        "m.c": "importlib.import_module('m.a')\n",
        "m.d": "from m import a\n",
    }
    files = {name: tmp_path / name for name in sources}
    for name, text in sources.items():
        files[name].write_text(text)
    assert imported(files["m.a"]) == {"k.l", "m.b.x"}
    assert set(circle(graph(files))) == {"m.a", "m.b", "m.c"}
    files["m.c"].write_text("")
    assert circle(graph(files)) == []


def test_the_library_runs_without_prefect_and_mlflow():
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'prefect', 'mlflow', 'tasks', 'flows'}))\n"
    )
    library = sorted(name for name in modules() if name.startswith("bife_core"))
    done = subprocess.run(
        [sys.executable, "-c", program, *library],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


# Documented in spite of the underscore, of named tuples, `os` and SQLAlchemy's rows; and a name of types alone.
PUBLIC = {"_asdict", "_exit", "_mapping", "_NamedFuncPointer"}


def test_only_public_names_of_libraries_are_used():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in modules().values()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    used = {node.attr for node in attributes if node.attr.startswith("_") and not node.attr.endswith("__")}
    assert used - own == PUBLIC
    names = {name for path in modules().values() for name in imported(path)}
    assert [name for name in names if "._" in name and name.partition(".")[0] not in FORBIDDEN] == []

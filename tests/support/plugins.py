"""Packages that add plugins, installed for a test: files on a path, and beside them what an installer writes."""

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "data" / "plugin_package"


def install(package, target):
    """Install a package of plain Python files as ``pip install --no-deps --target`` does, without building it."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in package.iterdir():
        if folder.is_dir():
            shutil.copytree(folder, target / folder.name)
    write_metadata(target, project["name"], project["version"], project["entry-points"])


def write_metadata(target, name, version, entries):
    """Write the ``.dist-info`` of a package with the given entry points by group."""
    about = target / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, named in entries.items():
        lines += [f"[{group}]", *(f"{entry} = {where}" for entry, where in named.items()), ""]
    (about / "entry_points.txt").write_text("\n".join(lines))

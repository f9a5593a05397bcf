"""Whether names in the code use the words of the glossary: `python -m tests.words`, a part of `make lint`.

The last column of the glossary's table has the words that do not stand for a thing, and its last paragraph those that
say nothing. A name may have none of them among its parts.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
NOTHING = "what it is"
PACKAGES = ("bife_core", "tasks/bife_tasks", "flows/bife_flows", "bench", "rivals/bife_rivals")


def avoided(page: str) -> dict[str, str]:
    """Return each word that no name may have, with what to write instead."""
    words = dict[str, str]()
    for line in page.splitlines():
        if (
            line.startswith("| ")
            and len(cells := [cell.strip() for cell in line.strip("|").split(" | ")]) == 3
        ):
            words |= dict.fromkeys(re.findall(r"`(\w+)`", cells[2]), f"'{cells[0]}'")
    empty = page.rpartition("## Names that say nothing")[2]
    return words | dict.fromkeys(re.findall(r"`(\w+)`", empty), NOTHING)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each name that a module gives to something."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def parts(name: str) -> list[str]:
    """Return the words of a name.

    >>> parts("SearchResult"), parts("_last_F_HF")
    (['search', 'result'], ['last', 'f', 'hf'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def complaints(path: Path, words: dict[str, str]) -> Iterator[str]:
    """Yield a sentence for each name of a file, and for the file's own, that has a word it may not have."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, name in dict.fromkeys([(1, path.stem), *names(tree)]):
        for word in words.keys() & {name.strip("_"), *parts(name)}:
            if words[word] != NOTHING or name.strip("_") == word:
                yield f"{path.relative_to(ROOT)}:{line}: the name {name!r} has the word {word!r}; write {words[word]}."


def main() -> int:
    """Print all complaints, and return how many there are, at most 1."""
    words = avoided(GLOSSARY.read_text(encoding="utf-8"))
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    sentences = [complaint for path in files for complaint in complaints(path, words)]
    print(
        "\n".join(sentences)
        or f"{len(words)} words that no name may have: none of {len(files)} files has one."
    )
    return min(1, len(sentences))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env bash
# A package whose stub has `from .parts import f as g`, a function of its own, and names of a package by its whole path:
# one would expect the names that type checkers see. Seen with lazy_loader 0.6: attach_stub offers f, not g, and leaves
# everything but imports out without a word; `from own.parts import f` is refused.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check lazy_loader==0.6
cat > seen.py <<'PY'
import importlib
import importlib.metadata
import pathlib
import sys

sys.path.insert(0, ".")
print("lazy_loader", importlib.metadata.version("lazy_loader"))
for place, stub in enumerate(("from .parts import f", "from .parts import f as g", "from .parts import f\ndef h() -> int: ...", "from own3.parts import f")):
    folder = pathlib.Path(f"own{place}")
    folder.mkdir()
    (folder / "parts.py").write_text("f = 1\n")
    (folder / "__init__.pyi").write_text(stub + "\n")
    (folder / "__init__.py").write_text("import lazy_loader\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n")
    try:
        print(repr(stub), importlib.import_module(folder.name).__all__)
    except ValueError as error:
        print(repr(stub), "refused:", error)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
lazy_loader 0.6
'from .parts import f' ['f']
'from .parts import f as g' ['f']
'from .parts import f\ndef h() -> int: ...' ['f']
'from own3.parts import f' refused: Only within-module imports are supported (`from .* import`)
SEEN

"""Write docs/api.md, the reference of the public interface, from the docstrings: `python -m bench.reference`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import bife_core

PAGE: Final = Path(__file__).parents[1] / "docs" / "api.md"
_HEAD: Final = """# API reference

The names of `bife_core`, written from their docstrings by `python -m bench.reference`. What other modules hold is not
public and may change; what a package of your own may rely on besides is in [extending.md](extending.md). All functions
raise a `ConfigError`, a `BifeError` like all others, for an argument of another type than they take.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for name in sorted(bife_core.__all__) for line in entry(name))])


def entry(name: str) -> Iterator[str]:
    """Yield the lines of one name."""
    thing = getattr(bife_core, name)
    yield f"## `{name}`\n"
    if inspect.isclass(thing) or callable(thing):
        if shown := signature(thing):
            yield f"```python\n{name}{shown}\n```\n"
        yield text(inspect.getdoc(thing) or "")
        for member, method in members(thing):
            shown = signature(method) if callable(method) else ""
            about = inspect.getdoc(method) or ""
            yield f"- `.{member}{shown}`: {about.partition(chr(10) + chr(10))[0].replace(chr(10), ' ')}"
        yield ""
    else:
        yield f"A {type(thing).__name__} of {len(thing)} entries.\n"


def signature(thing: Any) -> str:
    """Return the signature as it is written, without `self`; nothing for strict values, whose fields are listed."""
    if hasattr(thing, "model_fields"):
        return ""
    try:
        shown = inspect.signature(thing)
    except ValueError:
        return ""
    kept = [
        one
        for one in shown.parameters.values()
        if one.name not in ("self", "cls") and not one.name.startswith("_")
    ]
    written = str(shown.replace(parameters=kept)).replace("'", "").replace("bife_core.", "")
    return re.sub(r" at 0x[0-9a-f]+|<factory>", "...", written)


def members(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the documented public methods and properties a class defines itself."""
    for name, value in vars(thing).items() if inspect.isclass(thing) else ():
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield name, value


def text(docstring: str) -> str:
    """Return a docstring in NumPy's style as Markdown."""
    lines, out, listing = docstring.splitlines(), [], False
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip()):
            out.append(f"**{line.strip()}**\n")
            listing = line.strip() in {"Parameters", "Attributes", "Returns", "Raises", "Yields"}
        elif re.fullmatch(r"-{3,}", line.strip()):
            continue
        elif listing and line and not line.startswith(" "):
            out.append(f"- `{line}`")
        elif line.startswith(">>>") or line.startswith("..."):
            out.append(f"    {line}")
        else:
            out.append(f"  {line.strip()}" if listing and line else line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write the pages that are made: `python -m bench.reference`.

docs/reference/api.md is the public interface, from the docstrings; docs/explanation/same-file.md what solvers read
otherwise, from the table that readers refuse and note by.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Final

import griffe
from griffe2md import ConfigDict, default_config, prepare_context, prepare_env

import bife_core
from bife_core.solver.scip.differences import differences

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "reference" / "api.md"
SAME_FILE: Final = DOCS / "explanation" / "same-file.md"
_HEAD: Final = """# API reference

The public names of `bife_core`; [extending BiFE](../developers/extending.md) has those that a package may use besides.
Other modules may change. An argument of the wrong type raises `ConfigError`, which, as all errors of BiFE, is a
`BifeError`. This page is written from docstrings by `python -m bench.reference`.

"""
_OPTIONS: Final[ConfigDict] = {
    **default_config,
    "docstring_style": "numpy",
    "inherited_members": False,
    "show_bases": False,
    "show_if_no_docstring": False,
    "show_object_full_path": False,
    "show_root_full_path": False,
    "show_root_members_full_path": False,
    "show_signature_annotations": True,
    "summary": False,
}


_LIST: Final = re.compile(r"\*\*(Attributes|Parameters|Returns|Raises):\*\*\n\n((?:[^\n]+\n)+)")
_ENTRY: Final = re.compile(
    r"- (?:\*\*([\w, ]+)\*\*|`([*\w]+)`|)(?: ?\(?<code>(.*?)</code>\)?)? – (.*)", flags=re.DOTALL
)
# A property or a method of one paragraph, which becomes a row.
_MEMBER: Final = re.compile(r"### `(\w+)`\n\n```python\n(\1[^\n]*)\n```\n\n((?:(?!#)[^\n]+\n)+)\n(?=#|\Z)")
_ATTRIBUTES: Final = "| attributes | type | |\n|---|---|---|\n"
_METHODS: Final = "| methods | |\n|---|---|\n"


def _row(names: str, kind: str, text: str) -> str:
    name = ", ".join(f"`{name}`" for name in names.split(", ") if name)
    kind = kind.removeprefix("(").removesuffix(")") if kind.startswith("(") and kind.endswith(")") else kind
    return f"| {name} | {kind.replace(' | ', ' or ')} | {' '.join(text.split())} |"


def _shorter(section: re.Match[str]) -> str:
    """Return a list as a table, in which names of one description share a row; return what is raised as text."""
    names = dict[tuple[str, str], list[str]]()
    for entry in re.split(r"\n(?=- )", section[2].strip()):
        if not (match := _ENTRY.fullmatch(entry)):
            raise ValueError(f"expected an entry of a docstring, found {entry!r}")
        names.setdefault((match[3] or "", match[4]), []).append(match[1] or match[2] or "")
    if section[1] == "Raises":
        kinds = [
            (re.sub(r"(\w+)", r"`\1`", kind.strip("()")), " ".join(text.split())) for kind, text in names
        ]
        return "".join(f"Raises {kind}: {text[0].lower()}{text[1:]}\n\n" for kind, text in kinds)
    rows = [_row(", ".join(name), *rest) for rest, name in names.items()]
    return "\n".join([_ATTRIBUTES.strip().replace("attributes", section[1].lower()), *rows, ""])


def _fields(name: str, docs: griffe.Object) -> str:
    """Return rows of the fields of a model that have a description."""
    fields = getattr(getattr(bife_core, name), "model_fields", {})
    return "".join(
        _row(key, str(docs[key].annotation), field.description + f" Default {field.default}." * plain) + "\n"
        for key, field in fields.items()
        if field.description
        for plain in [type(field.default) in (bool, int, float)]
    )


def _with_rows(entry: str, rows: str) -> str:
    """Return the entry of a class with rows in the table of its attributes, and members of one paragraph as rows."""
    methods = ""
    for name, signature, text in _MEMBER.findall(entry):
        if signature.startswith(f"{name}: "):
            rows += f"{_row(name, signature.removeprefix(f'{name}: '), text)}\n"
        else:
            code = re.sub(r"([|*])", r"\\\1", html.escape(signature, quote=False))
            methods += f"| <code>{code}</code> | {' '.join(text.split())} |\n"
    head, heading, rest = _MEMBER.sub("", entry).partition("\n### ")
    head, table, attributes = head.rstrip().partition(_ATTRIBUTES)
    if rows and table:
        own_rows, _, after = attributes.partition("\n\n")
        head = f"{head}{table}{own_rows}\n{rows}\n{after}"
    else:
        head = f"{head}{table}{attributes}" + f"\n\n{_ATTRIBUTES}{rows}" * bool(rows)
    return f"{head.rstrip()}\n" + f"\n{_METHODS}{methods}" * bool(methods) + heading + rest


def page() -> str:
    package = griffe.load("bife_core", docstring_parser="numpy", resolve_aliases=True)
    environment, entries = prepare_env(), []  # one for all: each compiles its templates anew
    for name in dir(bife_core):
        docs = package[name].final_target
        template = environment.get_template(f"{docs.kind.value}.md.jinja")
        entry = template.render(**prepare_context(docs, _OPTIONS))
        # Links to what the page does not have.
        entry = re.sub(r"\[([^\]]+)\]\(#[^)]+\)", r"\1", entry)
        entry = re.sub(r"\*\*(\*+\w+)\*\*", r"`\1`", entry)
        entry = re.sub(r"\n{3,}", "\n\n", _LIST.sub(_shorter, entry)).strip() + "\n\n"
        entries.append(_with_rows(entry, _fields(name, docs)).strip())
    return _HEAD + "\n\n".join(entries) + "\n"


_SAME_FILE_HEAD: Final = """# The same file, other models

Two solvers may read one file as two models, without a message; then their times and optima cannot be compared. BiFE
checks a file before SCIP reads it. It refuses it, with the line and what to do, or notes what others read otherwise;
`bife doctor --instances DIR` and every run say both. A name in the last column is a script in
[findings](../../findings/README.md), which runs without BiFE; `make findings` says what has changed.

Versions: SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, CBC of cbcbox 2.935, CBC 2.10.3 of PuLP 3.3.2, GLPK 5.0 (swiglpk
5.0.13), OR-Tools 9.15.6755.

"""
_FORMATS: Final = {
    **{
        "any": "All formats",
        "lp": "LP, RLP, PIP",
        "mps": "MPS",
        "opb": "OPB and WBO",
        "fzn": "FlatZinc",
        "nl": "NL",
    },
    **{"osil": "OSiL", "cip": "CIP", "cnf": "CNF"},
}
_SAME_FILE_TAIL: Final = """## Solutions

| written by | read by SCIP | read by HiGHS | a start for CBC |
|---|---|---|---|
| SCIP | yes, but for names that begin with `NAME` | refused | no, and no error |
| HiGHS, style 0 | refused | yes | yes |
| HiGHS, style 3 (GLPK's) | **as zeros** | refused | no, and no error |
| CBC | **as zeros** | refused | yes |

If zeros satisfy all rows, as in a knapsack, SCIP keeps that solution and calls it feasible. Proof:
`scip-sol-of-other-solvers`, `scip-sol-names`.

## Settings

| what is in the file | SCIP | OR-Tools | proof |
|---|---|---|---|
| a comment | reads it | refuses the whole | `ortools-scip-parameters` |
| a line of more than 1022 bytes | reads it as several | | `scip-set-long-line` |
| a character in quotes | refuses it | refuses the whole | `ortools-scip-parameters` |
| an integer beyond 32 bits | cuts it without a word | | `scip-set-integers` |
| a value that is no number, or a part of one | leaves out the rest, or takes the part | | `scip-set-half-read` |

BiFE refuses long lines, and values that SCIP reads otherwise.

## What to do

Write `.mps`, with one lower and then one upper bound of each column, the upper one from 0 to 1e19, with numbers of at
most 12 digits (`writers-digits`), and minimise an objective without a constant (`glpk-writes-objective`): this avoids
most of the rows above. Then compare optima, and not only [statuses](limits.md).
"""


def same_file_page() -> str:
    parts = []
    for format_, cases in differences().items():
        parts.append(f"## {_FORMATS[format_]}\n")
        if rows := [case for case in cases.values() if "construct" in case]:
            parts.append("| what is in the file | SCIP | others | BiFE | proof |\n|---|---|---|---|---|")
            for row in rows:
                proof = row["proved"] if " " in row["proved"] else f"`{row['proved']}`"
                does = "refuses it" if "refused" in row else "notes it"
                parts.append(f"| {row['construct']} | {row['scip']} | {row['others']} | {does} | {proof} |")
            parts.append("")
        if refused := [case["refused"] for case in cases.values() if "construct" not in case]:
            parts.append(f"{'Also refused' if rows else 'Refused'}, as BiFE says it:\n")
            parts += [f"- {re.sub('{.*?}', '…', sentence)}" for sentence in sorted(refused)]
            parts.append("")
    return _SAME_FILE_HEAD + "\n".join(parts) + "\n" + _SAME_FILE_TAIL


PAGES: Final = {PAGE: page, SAME_FILE: same_file_page}


def main() -> None:
    for path, write in PAGES.items():
        path.write_text(write(), encoding="utf-8")


if __name__ == "__main__":
    main()

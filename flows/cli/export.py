"""`bife export`: a rule as a C file or a shared library, for SCIP without Python."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.completion import rule_references
from flows.cli.consoles import say, standard_output


class Target(StrEnum):
    """What a rule can be written as."""

    C = "c"
    SO = "so"


def export(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            autocompletion=rule_references,
            help="A Python file, a reference rule (`bife rules list`), or models:/NAME@ALIAS.",
        ),
    ],
    to: Annotated[Target, typer.Option(help="A C file, or a shared library built from it.")] = Target.C,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="the rule's name, here", help="Where to write."),
    ] = None,
    scip: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default="no headers",
            help="With --to so: the folder SCIP is installed in, to build with its headers.",
        ),
    ] = None,
) -> None:
    """Write a rule as a branching-rule plugin of SCIP: one C file, for C++, Julia or the command line."""
    from bife_core.export import INCLUDE_FUNCTION, build, export_c

    if scip is not None and to is Target.C:
        raise typer.BadParameter("--scip is for --to so; a C file is the same for every SCIP.")
    text = export_c(rule)
    where = output if output is not None else Path(f"{_plain_name(rule)}.{to.value}")
    if where.suffix == ".py" or (to is Target.SO and where.suffix == ".c"):
        kind = "C file" if to is Target.C else "shared library"
        raise typer.BadParameter(f"--to {to.value} writes a {kind}; {where.name} is not what one is called.")
    if where.is_file() and where.resolve() == Path(rule).resolve():
        raise typer.BadParameter(f"{where} is the rule itself; name another file to write to.")
    if not where.parent.is_dir():
        raise typer.BadParameter(
            f"There is no folder {where.parent} to write {where.name} to; make it first."
        )
    if to is Target.C:
        where.write_text(text, encoding="utf-8")
    else:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "rule.c"
            source.write_text(text, encoding="utf-8")
            build(source, where, scip)
    say(standard_output(), f"Wrote {where}. Call {INCLUDE_FUNCTION}(scip) before the solve (docs/rules.md).")


def _plain_name(reference: str) -> str:
    """Return a file name for a rule, without suffix."""
    path = Path(reference)
    name = path.stem if path.is_file() else reference.partition(":")[2].strip("/") or reference
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "rule"

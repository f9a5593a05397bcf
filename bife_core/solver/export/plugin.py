"""A rule, rows on demand and an order of branching as one C file, a plugin for SCIP 8 to 10.

It has just the features that the rule reads.

`plugin.c` is a template of Jinja, with statements after ``//?`` and values as ``@NAME@``: what is kept between
branchings, as by `bife_core.solver.scip.compiled`, and the guard. Formulas and the rule are made from their Python.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from bife_core.base.errors import ConfigError, RuleError
from bife_core.language.features import FEATURES, GROUPS, columns, groups_of, members_of, rows
from bife_core.language.features.feature import Call
from bife_core.language.rules import Rejection, check_source
from bife_core.solver.export.writing import feature_constant, formula_in_c, number, rule_in_c
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import AnyReference, load_method, registered_tags, rule_method
from bife_core.solver.scip.branching import Guard
from bife_core.solver.scip.libscip import library_file
from bife_core.solver.scip.row_classes import with_unnamed
from bife_core.solver.scip.solve import versions
from bife_core.solver.scip.variable_classes import PREFIX as VARIABLES

INCLUDE_FUNCTION: Final = "SCIPincludeBranchruleBife"
"""What the C file defines for others to call."""

_FORMULAS: Final[tuple[tuple[str, Callable[..., Any]], ...]] = (
    *((group.name.upper(), group.formula) for group in GROUPS if group.formula is not None),
    ("STRUCTURE|DEGREE", columns.structure),
    ("STRUCTURE|DEGREE|SPREAD", rows.add_value),
    ("STRUCTURE|DEGREE|SPREAD", rows.spread),
    ("DEGREE", rows.degree),
    ("RHS_RATIO", rows.add_side),
    ("ONE_TO_ALL", rows.add_share),
    ("WEIGHTED", rows.add_active),
    ("ACTIVE_ROW_SUM|ACTIVE_CANDIDATE_SUM", rows.weight_from_sum),
)
"""Formulas by the groups that need them."""

_IN_C: Final = {
    "scip": ("SCIP*", "scip"),
    "column": ("SCIP_COL*", "column"),
    "variable": ("SCIP_VAR*", "variable"),
    "UP": ("SCIP_BRANCHDIR", "SCIP_BRANCHDIR_UPWARDS"),
    "DOWN": ("SCIP_BRANCHDIR", "SCIP_BRANCHDIR_DOWNWARDS"),
}
"""Type and text of what functions of SCIP are given."""


def export_c(ref: AnyReference) -> str:
    """Return the C99 file of a rule, as `load_method` takes it, or raise `RuleError`; its budget becomes a default.

    Of a configuration it has the rule, if one branches, the rows on demand and the order of branching; its settings
    are not in it.

    Examples
    --------
    >>> "SCIPincludeBranchruleBife" in export_c("paper_ca")
    True
    """
    method = load_method(ref)
    text: dict[str, Any] = {"VERSION": versions()["bife"]}
    configuration = method if isinstance(method, Configuration) else Configuration(branching=method)
    on_demand, first = configuration.on_demand, configuration.first
    if (by_class := on_demand + first) and configuration.params.get("presolving/maxrounds") == 0:
        does = "puts rows on demand" if on_demand else "sets what is branched on first"
        raise RuleError(
            f"{method.name} has no presolving, in whose first round a plugin {does}; solve with it in Python, or "
            "export it without that."
        )
    if on_demand:
        text |= {"ROWS": ", ".join(on_demand), "CLASSES": ", ".join(map(_c_string, with_unnamed(on_demand)))}
    if first:
        names = (_c_string(name.removeprefix(VARIABLES)) for name in first)
        text |= {"FIRST": ", ".join(first), "NAMES": ", ".join(names)}
    if not by_class or not configuration.by_scip:
        text |= _rule(configuration.branching, registered_tags(ref).get("solver"))
    template = Environment(
        loader=PackageLoader("bife_core.solver", "export"),
        line_statement_prefix="//?",
        variable_start_string="@",
        variable_end_string="@",
        keep_trailing_newline=True,
    ).get_template("plugin.c")
    return re.sub(r"\n{3,}", "\n\n", template.render(text))


def _rule(ref: Method, solver: str | None) -> dict[str, Any]:
    """Return what the template needs for a rule, which was measured under a `solver`."""
    method = rule_method(ref)
    name, rule = method.name, check_source(method.source)
    assert not isinstance(rule, Rejection)
    features = rule.features
    conditions = _conditions(features)
    formulas = [formula_in_c(formula) for groups, formula in _FORMULAS if conditions & set(groups.split("|"))]
    named = {group.name.upper(): group for group in GROUPS}
    calls = dict.fromkeys(call for group in GROUPS for call in group.calls if call is not None)
    structure = [feature.name for feature in members_of(columns.STRUCTURE)]
    guard = Guard()
    text: dict[str, Any] = {
        "RULE_NAME": _commented(name),
        "SHA": rule.sha,
        "READS": len(features),
        "MEASURED": _commented(f"\nMeasured under {solver}") if solver else "",
        "SOURCE": _commented(method.source.strip("\n")),
        "FEATURES": "\n".join(
            f"   {feature_constant(i)} = {i},  /* {FEATURES[i].meaning} */" for i in sorted(features)
        ),
        "N_FEATURES": len(FEATURES),
        "RULE": rule_in_c(rule),
        "FORMULAS": "\n\n".join(formulas),
        "DECLARATIONS": "\n".join(f"{each.returns} {each.function}({_in_c(each, 0)});" for each in calls),
        "RECORDED": [(of, len(members_of(group))) for of, group in named.items() if group.cost == "solve"],
        "ROOM": max(len(members_of(group)) for group in GROUPS),
        "DESCRIPTION": _c_string(f"BiFE rule {name}"),
        "SHARE": number(guard.max_share),
        "GRACE": number(guard.grace_s),
        "BUDGET": number(0.0 if method.budget is None else method.budget.share),
        "RETURNS": int(method.budget is None or method.budget.returns),
    }
    for each in ("NO_VALUES", "NO_RATIOS", "NO_SHARES", "NO_SUMS"):
        text[each] = f"{{{', '.join(map(number, getattr(rows, each)))}}}"
    for root in ("mean", "min", "max"):
        text[f"ROOT_{root.upper()}"] = structure.index(f"rows_deg_{root}")

    def write(name: str, values: str) -> str:
        base = values if values.isidentifier() else f"({values})"
        return "\n".join(
            f"   f[{feature_constant(feature.index)}] = {base}[{place}];"
            for place, feature in enumerate(members_of(named[name]))
            if feature.index in features
        )

    def compute(name: str, out: str) -> str:
        calls = named[name].calls
        inputs = ("fraction" if of is None else f"(double){of.function}({_in_c(of, 1)})" for of in calls)
        return f"   {getattr(named[name].formula, '__name__', '')}({', '.join([*inputs, out])});"

    for cost in ("solve", "candidate"):
        computed = [name for name, group in named.items() if group.formula and group.cost == cost]
        text[cost] = [name for name in computed if name in conditions]
    return text | {"write": write, "compute": compute} | dict.fromkeys(conditions, True)


def compile_program(source: Path) -> str:
    """Compile a rule's C file to a program beside it, on this libscip; return the command or raise `ConfigError`."""
    compiler, library = shlex.split(os.environ.get("CC", "cc")) or [""], library_file()
    if shutil.which(compiler[0]) is None:
        raise ConfigError(f"There is no C compiler {compiler[0]!r}: install one, or name it in CC.")
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-DBIFE_MAIN", "-DBIFE_NO_SCIP_HEADERS"]
    files = [str(source), "-o", str(source.with_suffix("")), str(library)]
    command = shlex.join([*compiler, *flags, *files, f"-Wl,-rpath,{library.parent}", "-lm"])
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"{command} failed: {' '.join(done.stderr.split())[:300]}.")
    return command


def _in_c(call: Call, part: int) -> str:
    return ", ".join(_IN_C[name][part] for name in call.arguments)


def _conditions(features: frozenset[int]) -> set[str]:
    """Return the names that `plugin.c` tests."""
    read = groups_of(features)
    by_cost = {"solve": ["STATIC"], "candidate": [], "row": ["BY_ROW"], "entry": ["BY_ROW", "KEPT"]}
    names = {name for group in read for name in (group.name.upper(), *by_cost[group.cost])}
    if read & {rows.UNIT, rows.ROW_SUM, rows.CANDIDATE_SUM, rows.DUAL}:
        names |= {"ACTIVE", "WEIGHTED"}
    if any(feature.index in features for feature in rows.COSTLY):
        names.add("SPREAD")
    return names


def _c_string(text: str) -> str:
    plain = "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _commented(text: str) -> str:
    """Return a text that may stand in the comment at the head of the file."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").replace("\r", "")
    return "\n".join(f" * {line}".rstrip() for line in safe.split("\n")).removeprefix(" * ")

"""Branching rules: source text in, a compiled rule or a rejection with its reason out.

`compile_rule` checks a source against an allow-list (`docs/rules.md`), compiles it to machine code, and
falls back to a worker process where numba cannot. Importing this package does not import numba.
"""

from bife_core.rules.compiling import compile_rule, interpret_rule, rule_sha
from bife_core.rules.complexity import complexity
from bife_core.rules.library import BENCHMARK_RULES, REFERENCE_RULES, ReferenceRule, reference_rule_for
from bife_core.rules.loading import load_rule, register_resolver, rule_source
from bife_core.rules.types import CompiledRule, Complexity, Rejection, RejectionKind, Rule

__all__ = [
    "BENCHMARK_RULES",
    "REFERENCE_RULES",
    "CompiledRule",
    "Complexity",
    "ReferenceRule",
    "Rejection",
    "RejectionKind",
    "Rule",
    "compile_rule",
    "complexity",
    "interpret_rule",
    "load_rule",
    "reference_rule_for",
    "register_resolver",
    "rule_sha",
    "rule_source",
]

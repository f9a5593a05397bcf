"""Branching rules: source text in, a compiled rule or a rejection out."""

from bife_core.language.rules.compiling import (
    check_source as check_source,
    compile_rule as compile_rule,
    rule_sha as rule_sha,
)
from bife_core.language.rules.complexity import complexity as complexity
from bife_core.language.rules.reference_rules import (
    BENCHMARK_RULES as BENCHMARK_RULES,
    REFERENCE_RULES as REFERENCE_RULES,
)
from bife_core.language.rules.types import CompiledRule as CompiledRule, Rejection as Rejection

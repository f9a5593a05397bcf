from .compiling import check_source as check_source, compile_rule as compile_rule, rule_sha as rule_sha
from .complexity import complexity as complexity
from .reference_rules import BENCHMARK_RULES as BENCHMARK_RULES, REFERENCE_RULES as REFERENCE_RULES
from .types import CompiledRule as CompiledRule, Rejection as Rejection

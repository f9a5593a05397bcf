"""Methods against a baseline on instances they never saw: measured fairly, compared by instance, put in a sentence."""

from bife_core.agreement import OBJECTIVE_TOLERANCE, contradictions, disagree
from bife_core.evaluation.comparing import Comparison, adjusted, compare
from bife_core.evaluation.machine import Machine, this_machine
from bife_core.evaluation.measuring import Measured, Setting, labelled, measure, protocol_solves
from bife_core.evaluation.metrics import METRICS, Metric, instance_costs, method_table, metric_of, solve_frame
from bife_core.evaluation.summary import EvaluationSummary, evaluate, summarise
from bife_core.evaluation.verdict import known_as, not_significant, statement, verdict

__all__ = [
    "METRICS",
    "OBJECTIVE_TOLERANCE",
    "Comparison",
    "EvaluationSummary",
    "Machine",
    "Measured",
    "Metric",
    "Setting",
    "adjusted",
    "compare",
    "contradictions",
    "disagree",
    "evaluate",
    "instance_costs",
    "known_as",
    "labelled",
    "measure",
    "method_table",
    "metric_of",
    "not_significant",
    "protocol_solves",
    "solve_frame",
    "statement",
    "summarise",
    "this_machine",
    "verdict",
]

"""What to do next where a search found nothing that is significantly better."""

from __future__ import annotations

from collections.abc import Mapping

from bife_core.evaluation.comparing import WORTHWHILE, evidence_text, statement
from bife_core.evaluation.summary import EvaluationSummary


def next_step(summary: EvaluationSummary, files: Mapping[str, str]) -> str:
    """Return one of "use", "search longer" and "stop" with the number behind it; empty if the leading method is better.

    `files` say where methods beside the leading one are, by identity; the best that is significantly better is to be
    used.
    """
    judged = summary.judged
    if judged.finding == "better":
        return ""
    usable = [
        (one.ratio, "these settings" if method.by_scip else "this rule", files[method.identity], one)
        for one in summary.comparisons
        if one.method != summary.rule and one.metric == judged.metric and one.finding == "better"
        if (method := summary.methods[one.method]).identity in files
    ]
    if usable:
        _, what, file, found = min(usable, key=lambda one: one[0])
        return f"Use {what}: {file}. {statement(found)}"
    if judged.further and judged.likely and judged.ratio <= WORTHWHILE and not judged.obstacle:
        return (
            f"Search longer: {judged.likely} more {judged.unit}s would show it at the measured ratio, "
            f"{judged.ratio:.3f}; {judged.further} are the fewest."
        )
    return f"Stop: nothing to gain here ({evidence_text(judged)})."

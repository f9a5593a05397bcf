"""Files a run leaves for its reader: the samples, where the best rule came from, and figures."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd
from pydantic import TypeAdapter

from bife_core import plots
from bife_core.files import write_whole
from bife_core.search import CostPoint, GenerationSummary, Sample, SearchCost

SAMPLES = "samples.json"
LINEAGE = "lineage.json"
BEST_RULE = "best_rule.py"
BEST_DIFF = "best.diff"
COST = "search_cost.json"
CURVE = "anytime.csv"
TRIALS = "trials.csv"

_ROWS: Final = TypeAdapter(list[dict[str, Any]])


def ranked(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples by F_HF, then by F_LF, best first; those without come last."""

    def key(sample: Sample) -> tuple[float, float]:
        high, low = sample.f_hf, sample.f_lf
        return (math.inf if high is None else -high, math.inf if low is None else -low)

    return sorted(samples, key=key)


def sample_rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Return the table of samples, best first, one row each, source last."""
    return [
        {
            "id": sample.id,
            "f_hf": sample.f_hf,
            "f_lf": sample.f_lf,
            "operator": sample.operator,
            "generation": sample.generation,
            "parents": " ".join(sample.parents),
            "niche": sample.niche,
            "failure": sample.failure,
            "thought": sample.thought,
            "sha": sample.sha,
            "source": sample.source,
        }
        for sample in ranked(samples)
    ]


def abstract(sample: Sample) -> str:
    """Return a sample in Markdown: where it is from, how good it is, the thought behind it, its source."""
    parents = f" from {', '.join(sample.parents)}" if sample.parents else ""
    fidelities = ", ".join(
        f"{name} {value:.4g}"
        for name, value in (("F_LF", sample.f_lf), ("F_HF", sample.f_hf))
        if value is not None
    )
    parts = [f"**{sample.id}** by {sample.operator}{parents}: {sample.failure or fidelities}"]
    if sample.thought:
        parts.append(sample.thought)
    if sample.source:
        parts.append(f"```python\n{sample.source.rstrip()}\n```")
    return "\n\n".join(parts)


def descent(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return who descends from whom by which operator, as nodes and edges."""
    return {
        "nodes": [
            {"id": c.id, "generation": c.generation, "operator": c.operator, "f_lf": c.f_lf, "f_hf": c.f_hf}
            for c in samples
        ],
        "edges": [{"parent": parent, "child": c.id} for c in samples for parent in c.parents],
    }


def write_search(directory: Path, samples: Sequence[Sample]) -> None:
    """Write what is known of a search under way."""
    write_whole(directory / SAMPLES, json.dumps(sample_rows(samples), indent=1))
    write_whole(directory / LINEAGE, json.dumps(descent(samples), indent=1))


def write_outcome(
    directory: Path,
    best: Sample | None,
    samples: Sequence[Sample],
    summaries: Sequence[GenerationSummary],
    cost: SearchCost,
    trials: Sequence[Mapping[str, Any]],
) -> None:
    """Write what a search ended with: its best rule, its cost with the anytime curve, its trials if there are any."""
    if best is not None:
        write_best(directory, best, samples, summaries)
    write_whole(directory / COST, cost.model_dump_json(indent=1))
    curve = pd.DataFrame([point.model_dump() for point in cost.curve], columns=list(CostPoint.model_fields))
    write_whole(directory / CURVE, curve.to_csv(index=False))
    if trials:
        write_whole(directory / TRIALS, pd.DataFrame(trials).to_csv(index=False))


def write_best(
    directory: Path,
    best: Sample,
    samples: Sequence[Sample],
    summaries: Sequence[GenerationSummary],
) -> None:
    """Write the best rule, its differences from its parents and the figures."""
    known = {sample.id: sample for sample in samples}
    parents = [known[name] for name in dict.fromkeys(best.parents) if name in known]
    write_whole(directory / BEST_RULE, best.source or "")
    write_whole(directory / BEST_DIFF, "\n".join(difference(parent, best) for parent in parents))
    figures = {
        "progress": plots.progress(summaries),
        "fidelities": plots.fidelity_scatter(samples),
        "lineage": plots.lineage(samples, best.id),
    }
    for name, figure in figures.items():
        plots.save(figure, directory, name, formats=("png",))


def read_samples(directory: Path) -> tuple[Sample, ...] | None:
    """Return the samples on record, best first, or None where there are none that can be read."""
    try:
        rows = _ROWS.validate_json((directory / SAMPLES).read_bytes())
        return tuple(_sample(row) for row in rows)
    except (FileNotFoundError, ValueError):
        return None


def read_cost(directory: Path) -> SearchCost | None:
    """Return the cost on record, or None where there is none that can be read."""
    try:
        return SearchCost.model_validate_json((directory / COST).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def outcome_known(directory: Path, best: Sample | None) -> bool:
    """Whether what a search ended with lies in a directory whole."""
    rule = best is None or (directory / BEST_RULE).is_file()
    return rule and read_samples(directory) is not None and read_cost(directory) is not None


def _sample(row: dict[str, Any]) -> Sample:
    known = {name: row[name] for name in Sample.model_fields if name in row}
    return Sample.model_validate(known | {"parents": tuple(str(row.get("parents") or "").split())})


def difference(parent: Sample, child: Sample) -> str:
    """Return the unified difference between two rules, empty when they read the same."""
    return "".join(
        difflib.unified_diff(
            (parent.source or "").splitlines(keepends=True),
            (child.source or "").splitlines(keepends=True),
            fromfile=f"{parent.id}.py",
            tofile=f"{child.id}.py",
        )
    )

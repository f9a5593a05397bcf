"""Files a run leaves for its reader: the samples, its rules, what the search cost, and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bife_core.base.files import write_whole
from bife_core.base.values import digest_of
from bife_core.base.wording import as_markdown, fenced
from bife_core.run.show import plots
from bife_core.search import GenerationSummary, Sample, SearchCost
from bife_core.search.population import ranked
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import method_of

SAMPLES: Final = "samples.json"
BEST_RULE: Final = "best_rule.py"
RULES: Final = "rules"
"""Folder of the files of rules, which never change: users hand them on."""
COST: Final = "search_cost.json"
FIDELITIES: Final = "fidelities"

_FIRST: Final = ("id", "f_hf", "f_lf", "operator", "generation", "parents")
_LONG: Final = ("behaviour", "source")
_COLUMNS: Final = (*_FIRST, *(name for name in Sample.model_fields if name not in _FIRST + _LONG), *_LONG)


def sample_rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Return the table of samples, best first, one row each, source last."""
    return [
        {name: getattr(sample, name) for name in _COLUMNS} | {"parents": " ".join(sample.parents)}
        for sample in ranked(samples)
    ]


def abstract(sample: Sample | None) -> str:
    """Return a sample, if there is one, in Markdown: its origin, how good it is, the thought behind it, its source."""
    if sample is None:
        return ""
    fidelities = ", ".join(f"{name.upper()} {value:.4g}" for name, value in sample.fidelities.items())
    parts = [f"**{sample.lineage}**: {as_markdown(sample.failure or fidelities)}"]
    if sample.thought:
        parts.append(sample.thought)
    if sample.source:
        parts.append(fenced(sample.source, "python"))
    return "\n\n".join(parts)


def rule_file(directory: Path, method: Method) -> Path:
    """Return the file of a method of a search: that of its name, unless another method has it."""
    stem, suffix = re.sub(r"[^\w.-]+", "-", method.name), Path(method.file_name).suffix
    path = directory / RULES / f"{stem}{suffix}"
    if path.is_file() and path.read_bytes() != method.text.encode():
        return path.with_stem(f"{stem}-{digest_of(method.text)[:8]}")
    return path


def keep_rule(directory: Path, method: Method) -> Path:
    """Write a method of a search into its file, unless it is there, and return that."""
    path = rule_file(directory, method)
    if not path.is_file():
        write_whole(path, method.text)
    return path


def folder_of(rule: Path) -> Path:
    """Return the folder of the search that a file of a rule lies in."""
    return rule.parent.parent if rule.parent.name == RULES else rule.parent


def write_samples(directory: Path, samples: Sequence[Sample]) -> None:
    """Write the table of samples of a search that ended or is under way."""
    write_whole(directory / SAMPLES, json.dumps(sample_rows(samples), indent=1))


def write_outcome(
    directory: Path,
    best: Sample | None,
    samples: Sequence[Sample],
    summaries: Sequence[GenerationSummary],
    cost: SearchCost,
) -> None:
    """Write what a search ended with: samples, best rule and figures, and last what it cost."""
    write_samples(directory, samples)
    if best is not None:
        kept = keep_rule(directory, method_of(best.source or "", best.id))
        write_whole(directory / BEST_RULE, kept.read_bytes())
        tau = summaries[-1].tau if summaries else None
        figures = {"progress": plots.progress(summaries), FIDELITIES: plots.fidelity_scatter(samples, tau)}
        for name, figure in figures.items():
            plots.save(figure, directory, name, formats=("png",))
    write_whole(directory / COST, cost.model_dump_json(indent=1))

"""What a series learns, by the score of the MIP Workshop's competition on reoptimization (arXiv 2311.14834).

    python -m bench.series --families DIR --instances 50 --time-limit 120

The instances of a folder, by name, each solved once by `bife_core.Series` and once under SCIP's default settings. One
JSON object a line: {series, position, instance, arm, starts, score, default, integral, default_integral}, where a score
is the share of the limit that a solve took, plus its gap, plus 1 without a solution; at the end {series, solves, ratio,
from_fifth, from_tenth}: mean score over the default's. `--chart FILE` draws means over five positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Final

from matplotlib.figure import Figure

from bench import emit, parse
from bife_core import Series, SolveResult, SolveSettings, Store, WorkerPool, load_method
from bife_core.extend import RPB, Instance, SolveJob, run_solves
from bife_core.instances.base import digest_of_file
from bife_core.instances.folder import instance_files
from bife_core.tuning.series.series import gap_of

_AROUND: Final = 2
"""Positions on each side of one over which the chart shows means."""


def score(result: SolveResult, limit_s: float) -> float:
    time = min(result.cpu_s / limit_s, 1.0) if result.finished else 1.0
    return time + gap_of(result) + (result.primal_bound is None and not result.proven)


def draw(series: Mapping[str, Sequence[tuple[float, float]]], file: Path) -> None:
    figure = Figure(figsize=(8, 2.4 * ((len(series) + 1) // 2)), layout="constrained")
    panels = figure.subplots((len(series) + 1) // 2, 2, squeeze=False).flat
    for (name, scores), axes in zip(series.items(), panels, strict=False):
        positions = range(1, len(scores) + 1)
        for which, label, colour in ((1, "SCIP default settings", "#8a8a8a"), (0, "bife series", "#1b6e53")):
            values = [pair[which] for pair in scores]
            around = [fmean(values[max(at - _AROUND, 0) : at + _AROUND + 1]) for at in range(len(values))]
            axes.plot(positions, values, ".", color=colour, markersize=4, clip_on=False)
            axes.plot(positions, around, color=colour, label=label)
        axes.set_title(name, fontsize="medium")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("position in the series", fontsize="medium")
    figure.supylabel("score (lower is better)", fontsize="medium")
    figure.axes[0].legend(frameon=False, fontsize="small")
    for axes in panels:  # what no series fills
        axes.set_axis_off()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    options = parse(__doc__, instances=50, time_limit=120.0, home="bench-series", chart="")
    drawn = dict[str, Sequence[tuple[float, float]]]()
    limit_s, store = options.time_limit, Store(options.home)
    settings = SolveSettings(time_limit_s=limit_s)
    with WorkerPool(1) as pool:
        for folder in map(Path, options.families):
            series = Series(folder.name, store=store, time_limit_s=limit_s)
            scores: list[tuple[float, float]] = []
            for position, file in enumerate(islice(instance_files(folder), options.instances), start=1):
                instance = Instance(name=file.name, path=file, digest=digest_of_file(file))
                job = SolveJob(instance=instance, method=load_method(RPB), settings=settings)
                (usual,) = run_solves([[job]], store, pool)
                if usual.result is None:
                    raise SystemExit(f"SCIP's default settings fail on {file.name}: {usual.failure}")
                learnt = series.solve(file)
                scores.append((score(learnt.result, limit_s), score(usual.result, limit_s)))
                line = {"series": folder.name, "position": position, "instance": file.name, "arm": learnt.arm}
                line |= {"starts": learnt.starts, "score": scores[-1][0], "default": scores[-1][1]}
                integrals = (learnt.result.primal_dual_integral, usual.result.primal_dual_integral)
                emit(line | dict(zip(("integral", "default_integral"), integrals, strict=True)))
            parts = {"ratio": scores, "from_fifth": scores[4:], "from_tenth": scores[9:]}
            means = {
                name: [fmean(column) for column in zip(*part, strict=True)] for name, part in parts.items()
            }
            ratios = {name: mean[0] / mean[1] if mean else None for name, mean in means.items()}
            emit({"series": folder.name, "solves": len(scores)} | ratios)
            drawn[folder.name] = scores
    if options.chart:
        draw(drawn, Path(options.chart))


if __name__ == "__main__":
    main()

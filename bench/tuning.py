"""Ways of tuning at equal CPU seconds, and what they find on instances that no trial used.

Each of `--tuners` tunes the settings of SCIP and one of `--methods` for `--seconds` CPU seconds of solves on `--design`
instances of a family. What it found is compared with SCIP's default settings, and with the rules under them if
`--alone`, on `--test` others, all methods of an instance interleaved. After ``tpe/without`` no rule but SCIP's may
branch; ``tpe/model`` first tries what a language model proposed: `--answers` is the file of its answer, with
`{family}`. One JSON object a line: {family, seed, tuner, trials, cpu_s, design, found, led, notes}, where `design` is
the ratio on the design instances and `led` trials that became the best, and then of every method {family, seed, method,
ratio, ci_low, ci_high, worst, missing, wrong}; ratios are of CPU time over that of SCIP's default settings, and in the
last lines of the first tuner over another (`over`). `--test-size transfer` judges on larger instances, which
`--test-limit` seconds limit.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench import benchmark_of, emit, parse
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.config import EvaluationConfig
from bife_core.measure.evaluation.summary import evaluate
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.loading import load_method
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from bife_core.tuning.configurator import read_configurations
from bife_core.tuning.proposer import Proposer, Tpe
from bife_core.tuning.space import Choices, Space
from bife_core.tuning.tuner import tune
from bife_core.workers import WorkerPool


class RandomChanges:
    """SCIP default settings with a few rows drawn anew, each with equal probability."""

    def __init__(self, space: Space, seed: int, rows: int = 6) -> None:
        self.space, self.rows = space, rows
        self.rng = np.random.Generator(np.random.PCG64(seed))

    def base(self) -> Choices:
        """Return what is changed."""
        return {}

    def ask(self, seen: Sequence[Choices]) -> Choices:
        """Return the base with some rows drawn anew."""
        while True:
            choices = dict(self.base())
            for row in self.space.rows:
                if self.rng.random() < self.rows / len(self.space.rows):
                    choices[row.name] = str(self.rng.choice(row.choices))
            if (counting := self.space.counting(choices)) not in seen:
                return counting

    def tell(self, choices: Choices, value: float | None) -> None:
        """Learn nothing."""


class LocalSearch(RandomChanges):
    """The best so far with two rows drawn anew on average, as ParamILS and irace sample around their elites."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed, rows=3)
        self.best: tuple[float, Choices] = (0.0, {})

    def base(self) -> Choices:
        """Return the best so far."""
        return self.best[1]

    def tell(self, choices: Choices, value: float | None) -> None:
        """Keep the best."""
        if value is not None and value < self.best[0]:
            self.best = (value, choices)


class Smac:
    """SMAC3's algorithm-configuration facade (a random forest over all rows), by ask and tell; our races cap."""

    def __init__(self, space: Space, seed: int) -> None:
        from ConfigSpace import Categorical, ConfigurationSpace  # type: ignore[import-not-found]
        from smac import (  # type: ignore[import-not-found]
            HyperparameterOptimizationFacade as Facade,
            Scenario,
        )

        self.space = space
        self.own = ConfigurationSpace(seed=seed)
        self.own.add([Categorical(row.name, row.choices, default=row.choices[0]) for row in space.rows])
        scenario = Scenario(
            self.own,
            deterministic=True,
            n_trials=10_000,
            seed=seed,
            output_directory=Path(f"/tmp/smac/{seed}-{id(self)}"),
        )
        self.smac = Facade(
            scenario,
            lambda config, seed=0: 0.0,
            initial_design=Facade.get_initial_design(
                scenario, n_configs=0, additional_configs=[self.own.get_default_configuration()]
            ),
            overwrite=True,
            logging_level=50,
        )

    def ask(self, seen: Sequence[Choices]) -> Choices:
        """Return what SMAC asks for; what was tried before is told again."""
        for _ in range(10):
            self.info = self.smac.ask()
            choices = self.space.counting(
                {name: str(value) for name, value in dict(self.info.config).items()}
            )
            if choices not in seen:
                break
        return choices

    def tell(self, choices: Choices, value: float | None) -> None:
        """Enter a trial, also one that SMAC did not ask for."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue  # type: ignore[import-not-found]

        values = {row.name: choices.get(row.name, row.choices[0]) for row in self.space.rows}
        info = TrialInfo(Configuration(self.own, values), seed=0)
        self.smac.tell(info, TrialValue(cost=3.0 if value is None else value))


TUNERS: dict[str, Callable[[Space, int], Proposer]] = {
    "tpe": Tpe,
    "tpe_plain": lambda space, seed: Tpe(space, seed, mutation=1.0),
    "random": RandomChanges,
    "local": LocalSearch,
    "smac": Smac,
}


def main() -> None:
    """Run the tuners and print what they found."""
    options = parse(
        __doc__, tuners=["tpe"], methods=["pscost", "general"], seconds=300.0, design=6, test=12, draw=20261201,
        home="bench-tuning", workers=1,
        answers="", alone=False, cost="time", time_limit=120.0, test_size="", test_limit=0.0,
    )  # fmt: skip
    with WorkerPool(options.workers) as pool:
        for family in options.families:
            for seed in options.seeds:
                tuned_and_judged(family, seed, options, pool)


def tuned_and_judged(family: str, seed: int, options: Namespace, pool: WorkerPool) -> None:
    """Tune on a family's design instances with each tuner, and print how what it found does on others."""
    benchmark, store = benchmark_of(family, options), Store(options.home)
    design = benchmark.instances("design", options.design)
    solving = SolveContext(
        HighFidelityConfig(cost=options.cost, time_limit_s=options.time_limit), SolverConfig(), pool, store
    )
    methods = {name: load_method(name) for name in options.methods}
    found: list[Method] = []
    for name in options.tuners:
        tuner, _, how = name.partition("/")
        space = Space({key: one for key, one in methods.items() if one.by_scip or how != "without"})
        answer = Path(options.answers.replace("{family}", family)).read_text() if how == "model" else ""
        proposals = read_configurations(answer, space)
        proposer: Proposer = TUNERS[tuner](space, seed)
        tuned = tune(design, solving, space, options.seconds, proposals=proposals, proposer=proposer)
        found.append(tuned.configuration.model_copy(update={"name": name}))
        led = [(at, trial.raced.ratio) for at, trial in enumerate(tuned.trials) if trial.raced.won]
        emit(
            {"family": family, "seed": seed, "tuner": name, "trials": len(tuned.trials), "cpu_s": tuned.cpu_s}
            | {
                "design": tuned.best.raced.ratio,
                "found": tuned.best.choices,
                "led": led,
                "notes": tuned.notes,
            }
        )
    rules = [one for one in methods.values() if options.alone and not one.by_scip]
    judged = EvaluationConfig(
        seeds=(0,), metric=options.cost, time_limit_s=options.test_limit or options.time_limit
    )
    if options.test_size:
        benchmark = benchmark_of(family, Namespace(**vars(options) | {"size": options.test_size}))
    better = [method for method in [*found, *rules] if method.identity != RPB]
    for method in found:
        if method.identity == RPB:  # nothing is better than SCIP's default settings
            emit({"family": family, "seed": seed, "method": method.name, "ratio": 1.0})
    if not better:
        return
    summary = evaluate(better, benchmark.instances("test", options.test), judged, pool, store)
    fields = {"method", "ratio", "ci_low", "ci_high", "worst", "missing"}
    for one in summary.comparisons:
        emit({"family": family, "seed": seed, **one.model_dump(include=fields), "wrong": summary.mismatches})
    for other in found[1:]:
        if (pair := summary.versus(other.name)) is not None:
            about = {"family": family, "seed": seed, "method": summary.rule, "over": other.name}
            emit(about | pair.model_dump(include=fields - {"method"}))


if __name__ == "__main__":
    main()

"""Ways of tuning at equal CPU seconds, and what they find on instances that no trial used.

Each of `--tuners` tunes SCIP's settings and one of `--methods` for `--seconds` CPU seconds of solves on `--design`
instances. `--test` other instances compare what it found, and with `--alone` the rules, with SCIP's default settings.
After ``tpe/without`` only SCIP's own rules branch; ``tpe/model`` first tries what a language model proposed in the file
`--answers` (`{family}` is the family). One JSON object a line: {family, seed, tuner, trials, cpu_s, design, found, led,
notes}, where `led` are trials that became the best; for every method {family, seed, metric, method, ratio, ci_low,
ci_high, worst, missing, wrong}; and ratios of the first tuner to another (`over`). `--test-size` and `--test-limit` are
those of the comparison, by the `--cost` of a trial and further `--metrics`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench import benchmark_of, context_of, emit, parse
from bife_core import Method, Store, WorkerPool, compare, load_method
from bife_core.extend import RPB
from bife_core.tuning.large_classes import family_facts
from bife_core.tuning.proposals import Proposer, Tpe, read_configurations
from bife_core.tuning.space import Choices, Space
from bife_core.tuning.tuner import tune


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
        self.configurations = ConfigurationSpace(seed=seed)
        self.configurations.add(
            [Categorical(row.name, row.choices, default=row.choices[0]) for row in space.rows]
        )
        scenario = Scenario(
            self.configurations,
            deterministic=True,
            n_trials=10_000,
            seed=seed,
            output_directory=Path(f"/tmp/smac/{seed}-{id(self)}"),
        )
        self.smac = Facade(
            scenario,
            lambda config, seed=0: 0.0,
            initial_design=Facade.get_initial_design(
                scenario, n_configs=0, additional_configs=[self.configurations.get_default_configuration()]
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
        info = TrialInfo(Configuration(self.configurations, values), seed=0)
        self.smac.tell(info, TrialValue(cost=3.0 if value is None else value))


TUNERS: dict[str, Callable[[Space, int], Proposer]] = {
    "tpe": Tpe,
    "tpe_plain": lambda space, seed: Tpe(space, seed, mutation=1.0),
    "random": RandomChanges,
    "local": LocalSearch,
    "smac": Smac,
}


def main() -> None:
    options = parse(
        __doc__, tuners=["tpe"], methods=["pscost", "general"], seconds=300.0, design=6, test=12, draw=20261201,
        home="bench-tuning", workers=1,
        answers="", alone=False, cost="time", metrics=[], time_limit=120.0, test_size="", test_limit=0.0,
    )  # fmt: skip
    for family in options.families:
        for seed in options.seeds:
            tuned_and_judged(family, seed, options)


def tuned_and_judged(family: str, seed: int, options: Namespace) -> None:
    """Tune on a family's design instances with each tuner, and print how what it found does on others."""
    benchmark, store = benchmark_of(family, options), Store(options.home)
    design = benchmark.instances("design", options.design)
    limits = {"cost": options.cost, "time_limit_s": options.time_limit}
    methods = {name: load_method(name) for name in options.methods}
    facts = family_facts([str(instance.path) for instance in design])
    configurations: list[Method] = []
    for name in options.tuners:
        tuner, _, how = name.partition("/")
        branch = {key: each for key, each in methods.items() if each.by_scip or how != "without"}
        space = Space(branch, facts=facts)
        answer = Path(options.answers.replace("{family}", family)).read_text() if how == "model" else ""
        proposals = read_configurations(answer, space)
        proposer: Proposer = TUNERS[tuner](space, seed)
        with WorkerPool(options.workers) as pool:
            solving = context_of(pool, store, **limits)
            tuned = tune(design, solving, space, options.seconds, proposals=proposals, proposer=proposer)
        configurations.append(tuned.configuration.model_copy(update={"name": name}))
        led = [(at, trial.raced.ratio) for at, trial in enumerate(tuned.trials) if trial.raced.won]
        about = {"family": family, "seed": seed, "tuner": name, "trials": len(tuned.trials)}
        result = {"design": tuned.best.raced.ratio, "found": tuned.best.choices, "led": led}
        emit(about | {"cpu_s": tuned.cpu_s} | result | {"notes": tuned.notes})
    rules = [rule for rule in methods.values() if options.alone and not rule.by_scip]
    if options.test_size:
        benchmark = benchmark_of(family, Namespace(**vars(options) | {"size": options.test_size}))
    better = [method for method in [*configurations, *rules] if method.identity != RPB]
    for method in configurations:
        if method.identity == RPB:  # nothing is better than SCIP's default settings
            emit({"family": family, "seed": seed, "method": method.name, "ratio": 1.0})
    if not better:
        return
    test = benchmark.instances("test", options.test)
    fields = {"method", "ratio", "ci_low", "ci_high", "worst", "missing"}
    for metric in (options.cost, *options.metrics):
        limit_s = options.test_limit or options.time_limit
        summary = compare(
            better, test, metric=metric, time_limit_s=limit_s, workers=options.workers, store=store
        )
        about = {"family": family, "seed": seed, "metric": metric}
        for row in summary.comparisons:
            emit(about | row.model_dump(include=fields) | {"wrong": summary.mismatches})
        for other in configurations[1:]:
            if (pair := summary.versus(other.name)) is not None:
                over = {"method": summary.rule, "over": other.name}
                emit(about | over | pair.model_dump(include=fields - {"method"}))


if __name__ == "__main__":
    main()

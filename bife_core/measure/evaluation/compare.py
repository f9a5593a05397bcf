"""`compare`: methods on instances of the user's own, in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError, InstanceError
from bife_core.base.places import home
from bife_core.instances.base import Instance, digest_of_file
from bife_core.instances.config import FAMILIES, InstancesConfig
from bife_core.instances.folder import instance_files
from bife_core.instances.generated import open_benchmark
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.evaluation.protocol import enter_comparisons
from bife_core.measure.evaluation.summary import EvaluationSummary, evaluate
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import AnyReference, load_method, warn_of_others
from bife_core.solver.scip.cost import Cost
from bife_core.solver.scip.reader import model_format, no_instance
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from bife_core.workers import WorkerPool

Given: TypeAlias = str | Path | Instance
"""An instance as users name it: a file, a folder of files, or an instance of a benchmark."""


@checked
def compare(
    methods: AnyReference | Iterable[AnyReference],
    instances: Given | Iterable[Given],
    *,
    baseline: AnyReference = "relpscost",
    seeds: Sequence[int] = (0,),
    settings: str | Path | SolverConfig = "default",
    metric: Cost = "time",
    time_limit_s: float = 1000.0,
    workers: int | None = None,
    store: Store | str | Path | None = None,
) -> EvaluationSummary:
    """Solve instances under several methods and compare each with a baseline.

    Instances on which no method branches count in no ratio and no test, unless the methods differ in settings.

    Parameters
    ----------
    methods, baseline : references
        What `load_method` takes: names, files, compiled rules, functions, methods; relpscost is SCIP's default (RPB).
    instances : str, Path, Instance, or iterable of them
        Files that SCIP reads, folders of such files, instances of a benchmark, or the name of a family, such as
        ``"set_covering"``, which stands for its first 20 test instances.
    seeds : sequence of int
        SCIP seeds; each instance is solved once with each.
    settings : str, Path or SolverConfig
        ``"default"``, ``"paper"`` (cuts at the root only, no restarts), or a settings file of SCIP (.set).
    metric : str
        What is compared, such as ``"time"`` or ``"nodes"``.
    time_limit_s : float
        CPU seconds a solve may take.
    workers : int, optional
        Solves at once; by default one per usable core.
    store : Store, str or Path, optional
        Where solves are kept and found again; by default the store in BiFE's home.

    Returns
    -------
    EvaluationSummary
        With `conclusion` (sentences), `comparisons`, `frame` (all solves as a DataFrame) and `plot()`.

    Raises
    ------
    RuleError, InstanceError, ConfigError
        If a method cannot be loaded, an instance does not exist, or a setting does not fit.

    Examples
    --------
    >>> result = compare(["paper_ca", "pscost"], "instances/", seeds=(0, 1))  # doctest: +SKIP
    >>> print(result.conclusion)  # doctest: +SKIP
    """
    if isinstance(methods, str | Method) or not isinstance(methods, Iterable):
        methods = [methods]
    methods, solver = list(methods), SolverConfig.model_validate(settings)
    if not methods:
        raise ConfigError("At least one method was expected, and none was given.")
    chosen, against = [load_method(method) for method in methods], load_method(baseline)
    for reference in (*methods, baseline):
        warn_of_others(reference, lambda: solver.effective)
    protocol = {"seeds": tuple(seeds), "metric": metric, "time_limit_s": time_limit_s}
    config = EvaluationConfig.checked({**protocol, "baseline": against.name})
    solved = given_instances(instances)
    kept = store if isinstance(store, Store) else Store(store if store is not None else home())
    enter_comparisons(kept, chosen, [*chosen, against], solved, config, solver)
    with WorkerPool(workers) as pool:
        return evaluate(chosen, solved, config, pool, kept, baseline=against, solver=solver)


def given_instances(sources: Given | Iterable[Given]) -> tuple[Instance, ...]:
    """Return files, folders, instances and families as instances, each content once, by names of their own.

    A file is called by its path below its folder; where names are equal, by as much of the paths as distinguishes them.
    """
    by_digest: dict[str, Instance] = {}
    for source in [sources] if isinstance(sources, str | Path | Instance) else sources:
        for instance in [source] if isinstance(source, Instance) else _of_path(source):
            by_digest.setdefault(instance.digest, instance)
    if not by_digest:
        raise InstanceError("At least one instance was expected, and none was given.")
    instances = tuple(by_digest.values())
    while len(names := Counter(instance.name for instance in instances)) < len(instances):
        instances = tuple(
            _by_longer_name(instance) if names[instance.name] > 1 else instance for instance in instances
        )
    return instances


def _by_longer_name(instance: Instance) -> Instance:
    longer = "/".join(instance.path.parts[-instance.name.count("/") - 2 :])
    # One file that has changed meanwhile is two instances by all of its path.
    return replace(instance, name=f"{instance.digest} {longer}" if longer == instance.name else longer)


def _of_path(source: object) -> list[Instance]:
    if not isinstance(source, str | Path):
        raise InstanceError(f"An instance was expected to be a path and is {source!r}.")
    path = Path(source).expanduser().absolute()
    if isinstance(source, str) and source in FAMILIES and not path.exists():
        benchmark = open_benchmark(InstancesConfig(benchmark=source), home() / "instances")
        return benchmark.instances("test", EvaluationConfig().instances)
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file for file in instance_files(path)}
    elif model_format(path) is not None:
        files = {path.name: path}
    else:
        raise InstanceError(no_instance(path, f", a folder of them, or a family: {', '.join(FAMILIES)}"))
    try:
        return [Instance(name, file, digest_of_file(file)) for name, file in files.items()]
    except (OSError, EOFError) as error:
        raise InstanceError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error

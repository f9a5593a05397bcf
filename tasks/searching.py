"""The tasks a search is made of: a rule written, scored, tried, solved with. A rule's failure is their result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, cast

from prefect import Task, task

from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import Draft
from bife_core.search import SampleRequest, SolveRequest, TrialRequest, WrittenRequest
from bife_core.study import Evaluator, Pending
from tasks.policy import TRIED_AGAIN
from tasks.states import REJECTED, told

P = ParamSpec("P")
T = TypeVar("T")
Score = TypeVar("Score", LowScore, HighScore, TrialScore)


@task(name="propose", task_run_name="propose {request.id} by {request.operator}", **TRIED_AGAIN)
def propose(work: Callable[[WrittenRequest], Draft], request: WrittenRequest) -> Draft:
    """Have one rule or reflection written; an answer without one is a result too."""
    draft = work(request)
    if draft.text is not None:
        return told(draft, draft.text)
    if draft.source is None:
        return told(draft, draft.failure or "The generator gave no rule.", REJECTED)
    return told(draft, draft.thought or "A rule was written.")


@task(name="score low", task_run_name="score {request.id} low", **TRIED_AGAIN)
def score_low(
    work: Callable[[SampleRequest, Draft], LowScore], request: SampleRequest, draft: Draft
) -> LowScore:
    """Check what a generator wrote, and measure F_LF."""
    score = work(request, draft)
    return _judged(score, f"F_LF {score.f_lf:.4f}" if score.f_lf is not None else "The rule is sound.")


@task(name="try", task_run_name="try {request.id}", **TRIED_AGAIN)
def score_trial(work: Callable[[TrialRequest], TrialScore], request: TrialRequest) -> TrialScore:
    """Solve training instances as a search asks."""
    score = work(request)
    return _judged(score, f"Costs {', '.join(f'{cost:.4g}' for cost in score.costs or ())}")


@task(name="measure RPB", task_run_name="solve the design instances with RPB", **TRIED_AGAIN)
def measure_reference(work: Callable[[], Reference]) -> Reference:
    """Solve the design instances with RPB, which others are measured by."""
    reference = work()
    solved = sum(result is not None for result in reference.results)
    return told(reference, f"{solved} of {len(reference.results)} solved, {reference.cpu_s:.1f} CPU seconds")


@task(name="score high", task_run_name="score {request.id} high", **TRIED_AGAIN)
def score_high(
    work: Callable[[SolveRequest, Reference], HighScore], request: SolveRequest, reference: Reference
) -> HighScore:
    """Solve the design instances with a rule."""
    score = work(request, reference)
    solves = f"{len(score.results)} solves, {score.cpu_s:.1f} CPU seconds"
    if score.eliminated is not None:
        return _judged(score, f"Given up in its race: {score.eliminated}; {solves}")
    return _judged(score, f"F_HF {score.f_hf:.4g}: {solves}" if score.f_hf is not None else "")


_TASKS: Final[dict[str, Task[..., Any]]] = {
    Evaluator.write.__name__: propose,
    Evaluator.score.__name__: score_low,
    Evaluator.try_out.__name__: score_trial,
    Evaluator.refer.__name__: measure_reference,
    Evaluator.solve.__name__: score_high,
}


class TaskExecutor:
    """Has the work of a `Evaluator` done by tasks of the flow that runs."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        """Submit the task that stands for a method of `Evaluator`."""
        return cast(Pending[T], _TASKS[work.__name__].submit(work, *args, **kwargs))


def _judged(score: Score, praise: str) -> Score:
    """Return a score, and have the task's page say what it is or why there is none."""
    return told(score, praise) if score.failure is None else told(score, score.failure, REJECTED)

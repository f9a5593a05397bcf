"""One training run of Symb4CO: expressions are written, judged by the expert's choices, and the best teach the network.

Every step writes a batch, keeps those of highest imitation accuracy on the training samples, and updates the policy
with them. Every few steps the best of a batch are measured on validation samples, which decide what the run returns
and when it ends. A checkpoint holds all there is to know: a run that was killed goes on to the same weights.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field, model_validator

from bife_core import Decisions
from bife_core.extend import BaseScorer, ConfigError, Value, chosen_rows, digest_of, write_whole
from bife_rivals.scaled_rule import Floats, ScaledRule, scaled
from bife_rivals.symb4co_grammar import Grammar
from bife_rivals.symb4co_policy import Batch, Objective, Policy

_VALIDATION_SHARE: Final = 2 / 7
"""400 of 1,400 expert samples, as published."""
_CHECKPOINT_S: Final = 30.0
_KEPT: Final = ("step", "waited", "cpu_s", "history")
"""What a checkpoint has of a run as it is."""
_PART: Final = 200
"""Samples that are worked on at a time: what expressions make of their nodes is to fit into memory."""


class TrainingOptions(Value):
    """How a run is trained; the defaults are published."""

    batch: int = Field(1024, ge=2, description="Expressions written in each step.")
    kept: int = Field(48, ge=1, description="Of those, the most accurate, which the policy is updated with.")
    steps: int = Field(3000, ge=1, description="Steps of a run at most.")
    patience: int = Field(1000, ge=1, description="Steps without a better expression after which a run ends.")
    validated: int = Field(16, ge=1, description="Expressions that are validated at a time.")
    validate_every: int = Field(10, ge=1, description="Steps between validations.")
    hidden: int = Field(128, ge=1, description="Cells of each of the two layers.")
    rate: float = Field(5e-5, gt=0, description="Step size of Adam.")
    epochs: int = Field(8, ge=1, description="Updates of the policy in each step.")
    clip: float = Field(0.2, gt=0, description="How far the ratio of probabilities is trusted.")
    entropy: float = Field(0.05, ge=0, description="Weight of the entropy of what is written.")
    entropy_decay: float = Field(0.9, gt=0, le=1, description="Factor of that weight, token by token.")
    least_length: int = Field(4, ge=1, description="Tokens of an expression at least.")
    most_length: int = Field(64, ge=4, description="Tokens of an expression at most.")
    soft_length: int = Field(20, ge=1, description="Tokens that an expression is drawn to.")

    @model_validator(mode="after")
    def _lengths_fit(self) -> Self:
        least, most = self.least_length, self.most_length
        if least >= most:
            raise ValueError(f"least_length ({least}) must be below most_length ({most})")
        return self


class Run(TrainingOptions):
    """A run as a value: its settings and its seed; equal runs on equal samples find equal expressions."""

    seed: int

    @classmethod
    def of(cls, training: dict[str, Any]) -> Run:
        """Return the run of a request."""
        return cls.model_validate({name: training[name] for name in cls.model_fields})


class Found(Value):
    """An expression with its imitation accuracy on the validation samples; `choices` is a hash of what it chose."""

    tokens: tuple[int, ...]
    accuracy: float
    choices: int


class Samples(ABC):
    """Expert samples that expressions are evaluated on; `offsets` says where the candidates of each begin."""

    def __init__(self, decisions: Decisions) -> None:
        self.offsets, self.best = decisions.offsets, decisions.best

    @abstractmethod
    def scores(self, tokens: tuple[int, ...]) -> Any:
        """Return the score an expression gives each candidate."""


class ScaledSamples(Samples):
    """Features are scaled at each node."""

    def __init__(self, decisions: Decisions) -> None:
        super().__init__(decisions)
        nodes = np.split(decisions.matrix, decisions.offsets[1:-1])
        rows = np.concatenate([scaled(node) for node in nodes])
        self._columns = [*np.ascontiguousarray(rows.T, dtype=np.float32)]

    def scores(self, tokens: tuple[int, ...]) -> Any:
        """Return the score an expression gives each candidate."""
        return Grammar().value(tokens, self._columns, np.float32)


def judged(parts: Sequence[Samples], batch: Batch) -> tuple[Floats, npt.NDArray[np.uint64]]:
    """Return the imitation accuracy of each expression on all parts of the samples, and a hash of its choices."""
    expressions = [tuple(batch.expression(row)) for row in range(len(batch.lengths))]
    right, digests = dict.fromkeys(expressions, 0), {tokens: hashlib.sha256() for tokens in expressions}
    with np.errstate(all="ignore"):  # what overflows is not chosen
        for part in parts:
            for tokens, digest in digests.items():
                chosen = chosen_rows(np.asarray(part.scores(tokens), dtype=np.float64), part.offsets)
                right[tokens] += int(np.count_nonzero(part.best[chosen] & (chosen >= 0)))
                digest.update(chosen.tobytes())
    count = sum(len(part.offsets) - 1 for part in parts)
    choices = [int.from_bytes(digests[tokens].digest()[:8], "big") for tokens in expressions]
    return np.array([right[tokens] for tokens in expressions]) / count, np.array(choices, dtype=np.uint64)


def split(decisions: Decisions) -> tuple[Decisions, Decisions]:
    """Return training and validation samples: of different instances, unless there is but one."""
    if len(decisions) < 2:
        raise ConfigError("Training needs two expert samples, one to train on and one to validate with.")
    cut = round((1.0 - _VALIDATION_SHARE) * len(decisions))
    edges = [
        place
        for place in range(1, len(decisions))
        if decisions.instance[place] != decisions.instance[place - 1]
    ]
    place = min(edges or [max(1, cut)], key=lambda edge: abs(edge - cut))
    return decisions[:place], decisions[place:]


class Training:
    """A run under way; what differs for GS4CO are its class attributes, its samples and its methods."""

    search: ClassVar[str] = "symb4co"
    expressions: ClassVar[type[Grammar]] = Grammar
    network: ClassVar[Callable[..., Any]] = Policy

    def __init__(self, run: Run, decisions: Decisions) -> None:
        self.run, self.decisions = run, decisions
        lengths = {"least": run.least_length, "most": run.most_length, "soft_length": run.soft_length}
        self.grammar = self.expressions(**lengths)
        self.rng = np.random.Generator(np.random.PCG64(run.seed))
        self.policy = type(self).network(self.grammar, run.hidden, self.rng)
        self.step, self.waited, self.cpu_s = 0, 0, 0.0
        self.ranked: list[Found] = []
        self.history: list[dict[str, float]] = []

    @cached_property
    def judges(self) -> tuple[list[Samples], list[Samples]]:
        """Training and validation samples, in parts; a run that is over does without."""
        made = self.samples()
        training, validation = (
            [made(some[begin : begin + _PART]) for begin in range(0, len(some), _PART)]
            for some in split(self.decisions)
        )
        return training, validation

    def samples(self) -> Callable[[Decisions], Samples]:
        """Return what is called with one part of the decisions after the other."""
        return ScaledSamples

    def method(self, tokens: Sequence[int], depth: int | None) -> BaseScorer:
        """Return an expression as a method."""
        formula = self.grammar.formula(tokens, "variable_features[{}]")
        source = f"def candidate_variable_score(variable_features):\n    return {formula}\n"
        return ScaledRule(name="", source=source, depth=depth)

    @property
    def done(self) -> bool:
        """Whether the run is over."""
        return self.step >= self.run.steps or self.waited >= self.run.patience

    def advance(self) -> None:
        """Make one step."""
        run, began_s = self.run, time.process_time()
        batch = self.policy.sample(self.rng, run.batch)
        accuracy, _ = judged(self.judges[0], batch)
        ranked = np.argsort(-accuracy, kind="stable")
        if self.step % run.validate_every == 0:
            self._validate(batch[ranked[: run.validated]], accuracy)
        kept = ranked[: run.kept]
        returns = accuracy[kept]
        spread = returns.max() - returns.min()
        advantages = (returns - returns.min()) / (spread if spread > 1e-6 else 1.0)
        objective, teaching = Objective(run.clip, run.entropy, run.entropy_decay), batch[kept]
        for _ in range(run.epochs):
            self.policy.update(teaching, advantages, objective, run.rate)
        self.step += 1
        self.cpu_s += time.process_time() - began_s

    def _validate(self, batch: Batch, accuracy: Floats) -> None:
        before = max((entry.accuracy for entry in self.ranked), default=-1.0)
        # Of expressions that choose alike the shortest stays, of equally short ones the first.
        by_choices = {entry.choices: entry for entry in self.ranked}
        for row, (value, choices) in enumerate(zip(*judged(self.judges[1], batch), strict=True)):
            entry = Found(tokens=tuple(batch.expression(row)), accuracy=float(value), choices=int(choices))
            other = by_choices.get(entry.choices)
            if other is None or len(entry.tokens) < len(other.tokens):
                by_choices[entry.choices] = entry
        ranked = sorted(by_choices.values(), key=lambda entry: (-entry.accuracy, len(entry.tokens)))
        self.ranked = ranked[: 4 * self.run.validated]
        self.waited = 0 if self.ranked[0].accuracy > before else self.waited + self.run.validate_every
        self.history.append(
            {
                "step": self.step,
                "mean_accuracy": float(accuracy.mean()),
                "best_accuracy": float(accuracy.max()),
                "validation_accuracy": self.ranked[0].accuracy,
                "length": float(batch.lengths.mean()),
            }
        )

    def save(self, path: Path) -> None:
        """Write a checkpoint at once or not at all, and the curves of the run as a table beside it."""
        arrays: dict[str, Any] = {
            f"{part} {name}": value for part, values in self._parts() for name, value in values.items()
        }
        about: dict[str, Any] = {name: getattr(self, name) for name in _KEPT}
        about |= {"updates": self.policy.updates, "rng": self.rng.bit_generator.state}
        about["found"] = [expression.model_dump() for expression in self.ranked]
        content = io.BytesIO()
        np.savez(content, about=np.array(json.dumps(about)), **arrays)
        write_whole(path, content.getvalue())
        write_whole(path.with_suffix(".csv"), pd.DataFrame(self.history).to_csv(index=False))

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        with np.load(path) as file:
            for part, values in self._parts():
                for name in values:
                    values[name] = file[f"{part} {name}"]
            about = json.loads(str(file["about"]))
        for name in _KEPT:
            setattr(self, name, about[name])
        self.policy.updates, self.rng.bit_generator.state = about["updates"], about["rng"]
        self.ranked = [Found(**fields) for fields in about["found"]]

    def _parts(self) -> list[tuple[str, dict[str, npt.NDArray[np.floating]]]]:
        policy = self.policy
        return [("value", policy.parameters), ("first", policy.moments[0]), ("second", policy.moments[1])]


def trained(training: Training, folder: Path) -> Training:
    """Finish a run, from its checkpoint in a folder as far as that goes, and return it."""
    key = digest_of([training.run.model_dump(), training.decisions.digest])
    path = folder / f"{training.search}-{key}.npz"
    if path.is_file():
        training.load(path)
    saved_s, steps = time.monotonic(), training.step
    while not training.done:
        training.advance()
        if time.monotonic() - saved_s > _CHECKPOINT_S:
            training.save(path)
            saved_s = time.monotonic()
    if training.step > steps:
        training.save(path)
    return training


def rule_of(training: Training, rank: int, depth: int | None) -> dict[str, Any]:
    """Return the method of the expression of a rank, 0 being the most accurate, and a thought; or else a failure."""
    if rank >= len(training.ranked):
        return {"failure": f"The run found only {len(training.ranked)} expressions that choose differently."}
    entry, grammar = training.ranked[rank], training.grammar
    # The run is charged to its first expression, all that was done before a process was killed included.
    return ({"seconds": training.cpu_s} if rank == 0 else {}) | {
        "source": training.method(entry.tokens, depth).model_dump_json(indent=1, exclude={"name", "budget"}),
        "thought": f"Found in {training.step} steps of policy gradient, with an imitation accuracy of "
        f"{entry.accuracy:.3f} on validation samples: {grammar.formula(entry.tokens)}.",
    }

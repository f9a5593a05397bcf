"""A search for rules that score cuts: formulas bred by F_HF alone, since no recorded decision says what a cut is worth.

It is BiFE's search without F_LF. It begins with formulas drawn at random, or written by the search's generator, and
with the score of SCIP's `hybrid`; in each generation crossing and variation alternate. What branches beside is a
setting, so that a found branching rule and a cut rule can be searched for together.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError

from bife_core.errors import ConfigError
from bife_core.methods.base import RPB, AnyMethod, ScipMethod
from bife_core.methods.loading import code_of, is_json, load_method, method_of
from bife_core.rules.language import FUNCTION_NAME
from bife_core.search import Answered, Sample, SampleRequest, sample_id, sample_seed
from bife_core.search.bife import HighOnlySearch
from bife_core.search.config import SearchConfig
from bife_core.values import Value, describe
from bife_rivals import prompt
from bife_rivals.cut_rule import CUT_FEATURES, CUT_FUNCTION, HYBRID, CutRule

_MOST_NODES: Final = 60
_DEPTH: Final = 3
_TRIES: Final = 100
_JOINS: Final = ("{} + {}", "{} + {}", "{} - {}", "{} * {}", "{} * {}", "max({}, {})", "min({}, {})")


def _loaded(given: Any) -> Any:
    return load_method(given) if isinstance(given, str) else given


THEMES: Final = (
    "how far the LP solution is from the cut",
    "how dense the cut is, and what that costs every LP",
    "the cut's direction beside the objective's",
    "the sizes of the cut's coefficients",
    "a threshold below which cuts are left out",
    "the incumbent, and the way to it",
)
"""What first rules are to build on: a model without memory answers the same prompt with the same rule."""


class CutOptions(Value):
    """The search's own settings."""

    branching: Annotated[AnyMethod, BeforeValidator(_loaded)] = Field(
        ScipMethod(name=RPB),
        description="What branches beside the cut rules: a reference, or a method's JSON.",
    )
    writer: Literal["grammar", "model"] = Field(
        "grammar",
        description="Who writes: a grammar, or the search's generator, a language model, by prompts.",
    )


class CutSearch(HighOnlySearch):
    """Cut rules behind `ask` and `tell`: BiFE's search without F_LF, with other requests.

    Examples
    --------
    >>> search = CutSearch(SearchConfig(method="cuts", samples=4, initial=2))
    >>> [(request.operator, request.source is None) for request in search.ask()]
    [('i1', True), ('i1', True), ('hybrid', False)]
    """

    operators: tuple[str, ...] = ("e2", "m1", "e2", "m1")
    Options: ClassVar[type[Value]] = CutOptions
    options: CutOptions

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        if not all(is_json(rule) and isinstance(method_of(rule), CutRule) for rule in config.first_rules):
            raise ConfigError(
                "cuts begins with cut rules: search.first_rules takes files of kind cut_rule here."
            )
        try:  # a formula of the grammar has no names but these
            for rule in config.first_rules if self.options.writer == "grammar" else ():
                _written(ast.unparse(_tree(code_of(rule))), {"kind": "scip", "name": RPB})
        except ValidationError as error:
            raise ConfigError("cuts varies first rules that return one expression of `cut`.") from error

    def first_rules(self, position: int, operator: str) -> tuple[SampleRequest, ...]:
        """Return SCIP's own score, and the rules the search is to begin with."""
        if self.generation > 0:
            return ()
        named = HYBRID.replace(CUT_FUNCTION, FUNCTION_NAME) if self.options.writer == "model" else HYBRID
        source = _text(named, self.options.branching.model_dump())
        hybrid = self.sample_request(position, "hybrid", source=source)
        return (hybrid, *super().first_rules(position + 1, operator))

    def sample_request(
        self, position: int, operator: str, parents: tuple[Sample, ...] = (), **fields: Any
    ) -> SampleRequest:
        """Return the request for a sample: for a formula of its parents, or with the prompt of an operator."""
        if "source" in fields:
            fields["method"] = True
        elif self.options.writer == "model":
            theme = (THEMES[position % len(THEMES)],) if operator == "i1" else ()
            fields |= {"hints": theme, "prompt": prompt(f"cuts_{operator}"), "frame": prompt("cuts")}
        else:
            fields["training"] = {
                "seed": sample_seed(self.config.drawn, sample_id(self.generation, position)),
                "parents": [code_of(parent.source or "") for parent in parents],
                "branching": self.options.branching.model_dump(mode="json"),
            }
        return super().sample_request(position, operator, parents, **fields)

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Draw a formula, or make one of its parents'."""
        rng = np.random.Generator(np.random.PCG64(training["seed"]))
        formula = bred(rng, training["parents"])
        source = _written(formula, training["branching"])
        return {"source": source, "thought": f"Scores a cut by {words(formula)}."}

    def admit(self, answered: Answered) -> list[Sample]:
        """Enter the samples; what a model wrote becomes the method it is to be, or says why it cannot be one."""
        return [self._as_method(sample) for sample in super().admit(answered)]

    def _as_method(self, sample: Sample) -> Sample:
        written = sample.source or ""
        if not sample.valid or self.options.writer == "grammar" or is_json(written):
            return sample
        try:
            known = {"source": _text(written, self.options.branching.model_dump())}
        except ValidationError as error:
            known = {"failure": describe(error)}
        self.update(sample := sample.model_copy(update=known))
        return sample


def bred(rng: np.random.Generator, parents: list[str]) -> str:
    """Return a formula: drawn without parents, varied with one, crossed with two; always another than a parent's."""
    old = {ast.unparse(_tree(parent)) for parent in parents}
    for _ in range(_TRIES):
        if not parents:
            return _drawn(rng, _DEPTH)
        tree = _tree(parents[0])
        places = _expressions(tree)
        place = places[int(rng.integers(len(places)))]
        if len(parents) > 1:
            others = _expressions(_tree(parents[1]))
            new = others[int(rng.integers(len(others)))]
        elif isinstance(place, ast.Constant) and isinstance(place.value, float):
            new = ast.Constant(float(f"{place.value * np.exp(rng.normal()):.3g}"))
        else:
            new = ast.parse(_drawn(rng, int(rng.integers(_DEPTH))), mode="eval").body
        formula = ast.unparse(_Replaced(place, new).visit(tree))
        if formula not in old and sum(1 for _ in ast.walk(ast.parse(formula))) <= 4 * _MOST_NODES:
            return formula
    return _drawn(rng, _DEPTH)


def words(formula: str) -> str:
    """Return a formula with the names of what it reads."""
    for index in reversed(range(len(CUT_FEATURES))):
        formula = formula.replace(f"cut[{index}]", CUT_FEATURES[index])
    return formula


def _drawn(rng: np.random.Generator, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.2:
            return repr(float(f"{10 ** rng.uniform(-2, 1):.2g}"))
        return f"cut[{int(rng.integers(len(CUT_FEATURES)))}]"
    left, right = (_drawn(rng, depth - 1) for _ in range(2))
    return f"({_JOINS[int(rng.integers(len(_JOINS)))].format(left, right)})"


def _written(formula: str, branching: dict[str, Any]) -> str:
    return _text(f"def {CUT_FUNCTION}(cut):\n    return {formula}\n", branching)


def _text(source: str, branching: dict[str, Any]) -> str:
    rule = CutRule.model_validate({"name": "", "source": source, "branching": branching})
    return rule.model_dump_json(indent=1, exclude={"name"})


def _tree(source: str) -> ast.expr:
    """Return what the function of a rule returns at last."""
    returned = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Return)]
    assert returned[-1] is not None
    return returned[-1]


def _expressions(tree: ast.expr) -> list[ast.expr]:
    """Return the parts of a formula that another may take the place of."""
    inner = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    kinds = (ast.BinOp, ast.Call, ast.Subscript, ast.Constant)
    return [node for node in ast.walk(tree) if isinstance(node, kinds) and id(node) not in inner]


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)

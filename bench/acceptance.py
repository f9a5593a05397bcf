"""How many written rules the language takes: references, recorded answers of a model, and rules of the offline grammar.

    python -m bench.acceptance --offline 2000 --recorded DIR

One JSON line: for each group the rules, how many were compiled, the first reasons of the others, and a digest of all
scores on made-up features: equal digests mean that two versions of BiFE give every rule the same scores, bit by bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import emit, parser_of
from bife_core import FEATURES, Rejection, compile_rule
from bife_core.extend import (
    GENERATORS,
    REFERENCE_RULES,
    BaseSearch,
    GeneratorConfig,
    PromptContext,
    Sample,
    SampleRequest,
)
from bife_core.search.generators.account import recorded_calls
from bife_core.search.generators.parsing import parse_answer

_SHOWN_REASONS = 5
_POOL = 8
N_FEATURES = len(FEATURES)
OPERATORS = (BaseSearch.founding, *BaseSearch.operators)


def features(rows: int = 200) -> npt.NDArray[np.float64]:
    """Return candidates with features far apart, some of them zero, negative, infinite or no number."""
    rng = np.random.default_rng(0)
    X: npt.NDArray[np.float64] = np.exp(rng.normal(0.0, 3.0, (rows, N_FEATURES))) * rng.choice(
        [1.0, 1.0, -1.0], (rows, N_FEATURES)
    )
    X[rng.random(X.shape) < 0.2] = 0.0
    X[rng.random(X.shape) < 0.01] = np.inf
    X[rng.random(X.shape) < 0.01] = np.nan
    return X


def recorded(directory: Path) -> Iterator[str]:
    """Yield the rules in the recorded answers in a directory of calls; an answer without one is left out."""
    for call in recorded_calls(directory):
        source = parse_answer(call.answer).source
        if source is not None:
            yield source


def offline(count: int, seed: int) -> Iterator[str]:
    """Yield rules of all operators, children of children included."""
    generator = GENERATORS.find("offline")(GeneratorConfig(), None)

    def written(operator: str, number: int, parents: tuple[str, ...]) -> str:
        samples = tuple(
            Sample(id=str(i), generation=0, operator="i1", source=source) for i, source in enumerate(parents)
        )
        about = {"id": f"{operator}-{number}", "generation": 1, "operator": operator, "seed": seed + number}
        request = SampleRequest.model_validate(about | {"parents": samples})
        source = generator.generate(request, PromptContext(benchmark="any")).source
        assert source is not None
        return source

    pool = [written("i1", number, ()) for number in range(_POOL)]
    for number in range(count):
        operator = OPERATORS[number % len(OPERATORS)]
        parents = (pool[3 * number % _POOL], pool[(5 * number + 1) % _POOL])
        pool[number % _POOL] = written(operator, number, parents[: 2 if operator.startswith("e") else 1])
        yield pool[number % _POOL]


def acceptance(sources: Iterable[str], X: npt.NDArray[np.float64]) -> dict[str, Any]:
    rules = compiled = 0
    rejected: list[str] = []
    digest = hashlib.sha256()
    for source in sources:
        rules += 1
        if isinstance(rule := compile_rule(source), Rejection):
            rejected.append(rule.reason)
            continue
        compiled += 1
        scores = rule.score(X)
        scores[np.isnan(scores)] = np.nan  # one bit pattern for all that is no number
        digest.update(scores.tobytes())
    counts = {"rules": rules, "compiled": compiled, "scores": digest.hexdigest()[:16]}
    return counts | ({"rejected": rejected[:_SHOWN_REASONS]} if rejected else {})


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--recorded", type=Path, help="directory of recorded answers (JSON files)")
    parser.add_argument(
        "--offline", type=int, default=200, help="rules of the offline grammar (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=0, help="first seed of the offline grammar (default: 0)")
    options = parser.parse_args()
    X = features()
    result = {"references": acceptance((rule.source for rule in REFERENCE_RULES.values()), X)}
    if options.recorded is not None:
        result["recorded"] = acceptance(recorded(options.recorded), X)
    result["offline"] = acceptance(offline(options.offline, options.seed), X)
    emit(result)


if __name__ == "__main__":
    main()

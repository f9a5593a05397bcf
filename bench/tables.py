"""Tables in Markdown of what `bench.claims` and `bench.miplib` printed: one for all, then one a comparison, and more.

Reads JSON lines from files or standard input, as in `python -m bench.claims ... | python -m bench.tables`. What a run
that was stopped had printed until then makes tables too. The first has a row for each family and settings of SCIP:
ratios to RPB, of searches the median over their seeds and the range; `found` is the first of them, and interval and
proofs, beside RPB's, are those of its median rule.
"""

from __future__ import annotations

import fileinput
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bench import PUBLISHED, parser_of
from bife_core.extend import RPB

_BESIDE: Final = "ratio ci_low ci_high p_adjusted wins groups instances share note"
_COMPARED: Final = f"method search_seed cpu_s nodes branching solved {_BESIDE}"
_PAIRS: Final = "family size solver searches mean_ratios ranges counts p_value ratio ci_low ci_high p_rules"
_SECONDS: Final = "collection_s generation_s f_lf_s f_hf_s work_s solver_s"
_COST: Final = f"family search search_seed {_SECONDS} solved samples"
_SHIFTED: Final = "sgm_cpu_s sgm_cpu_s_ratio sgm_nodes sgm_nodes_ratio"
_FOLDER: Final = f"method solved not_proven {_SHIFTED} ratio ci_low ci_high worst worst_instance"

Row = Mapping[str, Any]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="*", help="what bench.claims printed; standard input without")
    with fileinput.input(parser.parse_args().files, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    compared: dict[str, list[Row]] = {}
    folders: dict[str, list[Row]] = {}
    for row in rows:
        if "sgm_cpu_s" in row:
            folders.setdefault(row["folder"], []).append(row)
        elif "cpu_s" in row and "family" in row:
            where = f"{row['family']}, {row['size']}, SCIP as in {row['solver']}, solves a method: {row['solves']}"
            compared.setdefault(where, []).append(row)
    if compared:
        heads = list(map(head, compared.values()))
        print(f"{table(' '.join(dict.fromkeys(name for columns in heads for name in columns)), heads)}\n")
    for where, methods in compared.items():
        metric = next((row["metric"] for row in methods if "metric" in row), "time")
        print(f"{where}, by {metric}:\n\n{table(_COMPARED, methods)}\n")
    if pairs := [row for row in rows if "p_value" in row]:
        print(f"Searches, permutation test over their seeds:\n\n{table(_PAIRS, pairs)}\n")
    for folder, methods in folders.items():
        print(f"{folder}:\n\n{table(_FOLDER, methods)}\n")
    if costs := [row for row in rows if "work_s" in row]:
        print(f"Searches, CPU seconds:\n\n{table(_COST, costs)}")


def head(rows: Sequence[Row]) -> Row:
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    first, (rpb,) = rows[0], by_method[RPB]
    searches = {name: rows_of for name, rows_of in by_method.items() if "search_seed" in rows_of[0]}
    best_search = next(iter(searches), "")
    best = middle(by_method[best_search]) if best_search else {}
    published = PUBLISHED.get(first["family"])
    columns = {"pscost": "pscost", "tuned SCIP": "tuned SCIP", published: "published"}
    others = {title: over_seeds(by_method[name]) for name, title in columns.items() if name in by_method}
    others |= {name: over_seeds(rows_of) for name, rows_of in searches.items() if name != best_search}
    return {
        "family": first["family"],
        "SCIP": first["solver"],
        "groups": next((row["groups"] for row in rows if "groups" in row), None),
        "RPB_s": rpb["cpu_s"],
        "branching": f"{100 * rpb['branching']:.0f} %",
        **{title.replace(" ", "_"): text for title, text in others.items()},
        "found": over_seeds(by_method[best_search]) if best_search else None,
        "interval": f"{best['ci_low']} to {best['ci_high']}" if "ci_low" in best else None,
        "proofs": f"{best['proofs']}, RPB {best['proofs_rpb']}" if "proofs" in best else None,
        "version": first.get("version"),
    }


def middle(rows: Sequence[Row]) -> Row:
    """Return the row of the median ratio, of two the lower."""
    return sorted(rows, key=lambda row: row["ratio"])[(len(rows) - 1) // 2]


def over_seeds(rows: Sequence[Row]) -> str:
    """Return the ratio of a method: of several searches the median and the range."""
    ratios, median = [row["ratio"] for row in rows], middle(rows)
    none = sum(str(row.get("note", "")).endswith("counts as RPB") for row in rows)
    text = f"{median['ratio']}" + (f" ({min(ratios)} to {max(ratios)})" if len(rows) > 1 else "")
    return f"{text}, {none} without a rule" if none else "is RPB" if "note" in median else text


def table(columns: str, rows: Iterable[Row]) -> str:
    """Return rows as a table, without the columns that none has a value for; each row once."""
    different = list({json.dumps(row): row for row in rows}.values())
    filled = [name for name in columns.split() if any(row.get(name) is not None for row in different)]
    body = [[_text(row.get(name)) for name in filled] for row in different]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (filled, ["---"] * len(filled), *body))


def _text(value: Any) -> str:
    return "" if value is None else " and ".join(map(_text, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    main()

"""Tables in Markdown of what `bench.results` and `bench.miplib` printed: one a comparison, and one of searches' cost.

Reads JSON lines from files or standard input, as in `python -m bench.results ... | python -m bench.tables`. What a run
that was stopped had printed until then makes tables too.
"""

from __future__ import annotations

import fileinput
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bench import parser_of

_COMPARED: Final = "method cpu_s nodes branching solved ratio ci_low ci_high p_adjusted wins instances share"
_COST: Final = "family search collection_s generation_s f_lf_s f_hf_s design_s solved"
_SHIFTED: Final = "sgm_cpu_s sgm_cpu_s_ratio sgm_nodes sgm_nodes_ratio"
_FOLDER: Final = f"method solved not_proven {_SHIFTED} ratio ci_low ci_high worst worst_instance"

Row = Mapping[str, Any]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="*", help="what bench.results printed; standard input without")
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
    for where, methods in compared.items():
        metric = next((row["metric"] for row in methods if "metric" in row), "time")
        print(f"{where}, by {metric}:\n\n{table(_COMPARED, methods)}\n")
    for folder, methods in folders.items():
        print(f"{folder}:\n\n{table(_FOLDER, methods)}\n")
    if costs := [row for row in rows if "design_s" in row]:
        print(f"Searches, CPU seconds:\n\n{table(_COST, costs)}")


def table(columns: str, rows: Iterable[Row]) -> str:
    """Return rows as a table, without the columns that none has a value for; each row once."""
    different = list({json.dumps(row): row for row in rows}.values())
    filled = [name for name in columns.split() if any(row.get(name) is not None for row in different)]
    body = [[_text(row.get(name)) for name in filled] for row in different]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (filled, ["---"] * len(filled), *body))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


if __name__ == "__main__":
    main()

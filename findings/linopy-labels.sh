#!/usr/bin/env bash
# Arrays of linopy whose labels differ, such as production of 2020 to 2022 and stock of 2021 to 2023: one would expect
# that labels are matched, as xarray and pandas do, or an error, as of gurobipy-pandas. Seen with linopy 0.10.1 (defaults)
# and HiGHS 1.16.0: variables of equal length are added by position, 2020 to 2021, others by label. Where a side of a
# row is NaN or has no such label, the row is not there, and the status is "optimal". A warning is all that is said.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check linopy==0.10.1 highspy==1.16.0

cat > seen.py <<'PY'
import importlib.metadata

import linopy
import pandas as pd


def years(*labels):
    return pd.Index(labels, name="year")


def terms(left, right):
    model = linopy.Model()
    x, y = model.add_variables(coords=[left], name="x"), model.add_variables(coords=[right], name="y")
    return "; ".join(str(x + y).splitlines()[2:])


def smallest(demand):
    model = linopy.Model()
    x = model.add_variables(lower=0, coords=[years(2020, 2021, 2022)], name="x")
    model.add_constraints(x >= demand)
    model.add_objective(x.sum())
    status = model.solve(solver_name="highs", output_flag=False)
    return status[1], model.solution["x"].values.tolist()


print("linopy", importlib.metadata.version("linopy"))
print("x + y, 2020 to 2022 and 2021 to 2023:", terms(years(2020, 2021, 2022), years(2021, 2022, 2023)))
print("x + y, 2020 to 2022 and 2021 to 2022:", terms(years(2020, 2021, 2022), years(2021, 2022)))
for words, demand in (
    ("of all years", pd.Series([7.0, 8.0, 9.0], index=years(2020, 2021, 2022))),
    ("with NaN", pd.Series([7.0, float("nan"), 9.0], index=years(2020, 2021, 2022))),
    ("of two years", pd.Series([7.0, 8.0], index=years(2020, 2021))),
):
    print(f"x >= demand {words}:", *smallest(demand))
PY
venv/bin/python seen.py 2> errors.txt | grep -e '^linopy' -e '^x ' | tee seen.txt
diff seen.txt - <<'SEEN'
linopy 0.10.1
x + y, 2020 to 2022 and 2021 to 2023: [2020]: +1 x[2020] + 1 y[2021]; [2021]: +1 x[2021] + 1 y[2022]; [2022]: +1 x[2022] + 1 y[2023]
x + y, 2020 to 2022 and 2021 to 2022: [2020]: +1 x[2020]; [2021]: +1 x[2021] + 1 y[2021]; [2022]: +1 x[2022] + 1 y[2022]
x >= demand of all years: optimal [7.0, 8.0, 9.0]
x >= demand with NaN: optimal [7.0, 0.0, 9.0]
x >= demand of two years: optimal [7.0, 8.0, 0.0]
SEEN

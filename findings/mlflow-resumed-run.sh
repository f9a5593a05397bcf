#!/usr/bin/env bash
# A tag written to a run that has ended, by mlflow.start_run(run_id=...): one would expect the status and the end of the
# run to stay. Seen with MLflow 3.17.2 on SQLite: the end moves to now, and a failed run is FINISHED. A metric of
# infinity is read back as 1.8e308, while NaN stays NaN.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic==1.20.1
cat > seen.py <<'PY'
import time

import mlflow

print("MLflow", mlflow.__version__)
mlflow.set_tracking_uri("sqlite:///own.db")
try:
    with mlflow.start_run() as run:
        mlflow.log_metrics({"infinity": float("inf"), "nan": float("nan")})
        raise RuntimeError
except RuntimeError:
    first = mlflow.get_run(run.info.run_id)
time.sleep(1)
with mlflow.start_run(run_id=run.info.run_id):
    mlflow.set_tag("seen", "yes")
again = mlflow.get_run(run.info.run_id)
print("status", first.info.status, "then", again.info.status)
print("end moved", again.info.end_time - first.info.end_time >= 1000, "begin moved", again.info.start_time != first.info.start_time)
print("metrics", first.data.metrics)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
MLflow 3.17.2
status FAILED then FINISHED
end moved True begin moved False
metrics {'infinity': 1.7976931348623157e+308, 'nan': nan}
SEEN

#!/usr/bin/env bash
# The value of a metric that `run.data.metrics` shows, of several that a run has: one would expect the last one logged. Seen
# with MLflow 3.17.2 on SQLite: it is that of the highest step, at one step that of the latest time, and at one time the
# highest value, in which NaN counts as 0: NaN outlives a negative value, and is lost to a positive one. A search by
# the metric finds no NaN, but by `!=`.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic==1.20.1
cat > seen.py <<'PY'
import mlflow

nan = float("nan")
mlflow.set_tracking_uri("sqlite:///own.db")
client = mlflow.MlflowClient()
experiment = client.create_experiment("own")
print("MLflow", mlflow.__version__)
for logged in (
    ((1, 100, 5), (9, 200, 3)),
    ((1, 100, 0), (9, 100, 0), (4, 100, 0)),
    ((nan, 100, 0), (-3, 100, 0)),
    ((nan, 100, 0), (3, 100, 0)),
    ((3, 100, 0), (nan, 100, 0)),
):
    run = client.create_run(experiment).info.run_id
    for value, time, step in logged:
        client.log_metric(run, "loss", value, timestamp=time, step=step)
    print("value, time, step", *logged, "shown", client.get_run(run).data.metrics["loss"])
for words in ("metrics.loss < 0.5", "metrics.loss >= 0.5", "metrics.loss != 3"):
    print(words, "finds", sorted((run.data.metrics["loss"] for run in client.search_runs([experiment], words)), key=str))
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
MLflow 3.17.2
value, time, step (1, 100, 5) (9, 200, 3) shown 1.0
value, time, step (1, 100, 0) (9, 100, 0) (4, 100, 0) shown 9.0
value, time, step (nan, 100, 0) (-3, 100, 0) shown nan
value, time, step (nan, 100, 0) (3, 100, 0) shown 3.0
value, time, step (3, 100, 0) (nan, 100, 0) shown 3.0
metrics.loss < 0.5 finds []
metrics.loss >= 0.5 finds [1.0, 3.0, 3.0, 9.0]
metrics.loss != 3 finds [1.0, 9.0, nan]
SEEN

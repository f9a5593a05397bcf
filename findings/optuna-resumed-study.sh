#!/usr/bin/env bash
# A study of Optuna that is opened again with load_if_exists=True, here from minimising to maximising, and with the seed it
# had: one would expect an error of the direction, and trials that go on. Seen with Optuna 5.0.0 on SQLite: the study
# minimises on, also where two directions are asked for, and a sampler begins again, so that random and TPE's first trials
# are those of before, and the search does no more with twice as many. Of a QMC sampler they go on.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check optuna==5.0.0 scipy==1.17.1

cat > seen.py <<'PY'
import warnings

import optuna

STORAGE = "sqlite:///own.db"
optuna.logging.set_verbosity(optuna.logging.WARNING)
warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
print("Optuna", optuna.__version__)
optuna.create_study(storage=STORAGE, study_name="own", direction="minimize")
for words in ({"direction": "maximize"}, {"directions": ["maximize", "minimize"]}):
    study = optuna.create_study(storage=STORAGE, study_name="own", load_if_exists=True, **words)
    print(words, "opens a study of", [direction.name for direction in study.directions])
for sampler in (optuna.samplers.RandomSampler, optuna.samplers.TPESampler, optuna.samplers.QMCSampler):
    for _ in range(2):
        study = optuna.create_study(storage=STORAGE, study_name=sampler.__name__, load_if_exists=True, sampler=sampler(seed=1))
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=4)
    tried = [trial.params["x"] for trial in study.trials]
    print(f"{sampler.__name__}: {len(tried)} trials, {len(set(tried))} different, the last four are the first four {tried[:4] == tried[4:]}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
Optuna 5.0.0
{'direction': 'maximize'} opens a study of ['MINIMIZE']
{'directions': ['maximize', 'minimize']} opens a study of ['MINIMIZE']
RandomSampler: 8 trials, 4 different, the last four are the first four True
TPESampler: 8 trials, 4 different, the last four are the first four True
QMCSampler: 8 trials, 8 different, the last four are the first four False
SEEN

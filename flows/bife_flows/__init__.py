"""The top floor: one flow a stage, order and policy only."""

import bife_tasks  # noqa: F401  (sets the environment up before any module here imports Prefect)

"""The top floor: one flow a stage, order and policy only."""

import tasks  # noqa: F401  (settles the environment before any module here imports Prefect)

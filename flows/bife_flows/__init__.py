"""One flow a stage, and the servers and schedules around them."""

from bife_tasks import INSTALLED
from bife_tasks.home import prepare_environment

if INSTALLED:
    prepare_environment()  # Prefect reads it when it is imported

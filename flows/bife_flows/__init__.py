"""One flow a stage, order and policy only, and the machinery around them."""

from bife_tasks import INSTALLED
from bife_tasks.home import prepare_environment

if INSTALLED:
    prepare_environment()  # Prefect reads it when it is imported

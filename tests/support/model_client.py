"""Asks a model API for rules until all are there; a process to be killed by tests.

``python -m tests.support.model_client DIRECTORY COUNT`` with the API's settings in the environment.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bife_core.search import SampleRequest
from bife_core.search.generators.account import Account
from bife_core.search.generators.base import PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.openai_compatible import OpenAIGenerator
from bife_core.store import Store
from tests.support.stored import STUDY

THREADS = 16


def main():
    """Ask for as many rules as the command line says."""
    directory, count = Path(sys.argv[1]), int(sys.argv[2])
    generator = OpenAIGenerator(GeneratorConfig(), Account(Store(directory), STUDY))
    requests = [
        SampleRequest(id=f"g00-c{number:02d}", generation=0, operator="i1", seed=number)
        for number in range(count)
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        for generation in pool.map(generator.generate, requests, [PromptContext(benchmark="toys")] * count):
            assert generation.source is not None, generation.failure


if __name__ == "__main__":
    main()

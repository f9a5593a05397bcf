"""Benchmarks: families of generated models, and folders of one's own."""

from bife_core.benchmarks.base import SPLITS, Benchmark, Family, Instance, Split
from bife_core.benchmarks.folder import FolderBenchmark, open_folder
from bife_core.benchmarks.generated import GeneratedBenchmark
from bife_core.benchmarks.milp import MilpData
from bife_core.benchmarks.mps import mps_text
from bife_core.benchmarks.registry import FAMILIES, open_benchmark
from bife_core.benchmarks.screening import ModelFacts, screen

__all__ = [
    "FAMILIES",
    "SPLITS",
    "Benchmark",
    "Family",
    "FolderBenchmark",
    "GeneratedBenchmark",
    "Instance",
    "MilpData",
    "ModelFacts",
    "Split",
    "mps_text",
    "open_benchmark",
    "open_folder",
    "screen",
]

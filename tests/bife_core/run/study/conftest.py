"""Data of a small search, and the search itself, for all tests of studies."""

import shutil

import pytest

import bife_core
from bife_core.store import DATABASE
from tests.support.stored import forget_events


def small(**overrides):
    few = {"search__samples": 5, "search__initial": 3, "search__population": 2}
    settings = few | {"search__threshold_share": 1.0} | overrides  # all rules race, and some are given up
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    return bife_core.with_overrides(bife_core.preset("smoke"), dotted)


def outcome(search):
    fields = ("id", "sha", "f_lf", "f_hf", "eliminated", "failure")
    return [tuple(getattr(sample, field) for field in fields) for sample in search.samples]


def with_solves_of(source, folder):
    """Give a folder the solves of a search, so that another need not make them, and nothing else of it."""
    folder.mkdir(exist_ok=True)
    for name in (
        DATABASE,
        f"{DATABASE}-wal",
    ):  # what is not merged into it yet; the index of that is made anew
        if (source / name).is_file():
            shutil.copy(source / name, folder)
    forget_events(folder, 0.0)
    return folder


@pytest.fixture(scope="session")
def search_home(tmp_path_factory):
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="session")
def data(search_home, knapsack_family):
    workers, folder = bife_core.InProcess(), search_home / "decisions"
    decisions = bife_core.collect_decisions(knapsack_family, small().collection, folder, workers)
    instances = knapsack_family.instances("design", 2)
    return {"instances": instances, "decisions": decisions, "workers": workers}


@pytest.fixture(scope="session")
def whole(search_home, data):
    return bife_core.create_study(small(), **data, folder=search_home / "whole").run()


@pytest.fixture(scope="session")
def soon_solved(data):
    """The one of them that takes a sixth of the nodes of the other."""
    return data["instances"][1:]

"""Instances that take a tenth of a second and about a hundred branchings each, under a name of BiFE's own."""

from dataclasses import replace

from tests.data.plugin_package.bife_example.knapsack import FAMILY

KNAPSACKS = replace(FAMILY, sizes={"tiny": {"items": 20, "resources": 10}})
QUICK_AUCTIONS = replace(KNAPSACKS, name="combinatorial_auction")
"""Knapsacks that stand in for auctions, where a test is about what is done with instances."""

"""Solvers that `bench.peers` compares, beside those that come with BiFE: each a file that a process of its own runs."""

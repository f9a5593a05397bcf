"""Benchmarks: families of generated models, and folders of one's own."""

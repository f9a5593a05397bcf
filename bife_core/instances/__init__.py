"""Benchmarks: families of generated instances, and folders of one's own."""

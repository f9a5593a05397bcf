"""Measurements: each module prints one JSON object a line and is no test."""

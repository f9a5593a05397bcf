"""Registered rules: versions, each the text of a method, with their evidence, and which of them is champion and why."""

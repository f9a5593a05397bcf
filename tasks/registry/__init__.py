"""Registered rules: versions in MLflow's registry with their evidence, and which of them is champion and why.

A version is an MLflow model without pickle. `deciding.register` makes one, `evidence.gate` decides by its evidence
whether it becomes champion, and a person may promote, refuse or roll back. All raise `TrackingError` if MLflow does not
answer.
"""

"""Registered rules: versions with their evidence, which of them is champion, and why.

`Registry` decides; where versions are kept is up to its subclasses: `LocalRegistry` keeps them in the store, and
`bife_tasks.registry` in MLflow. A version is the text of a method, and nothing in it is ever unpickled.
"""

"""Machinery around the stages: servers and workers, deployments and automations, what is watched, what was left."""

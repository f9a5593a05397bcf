"""Registered rules: versions with their evidence, who is champion and why, and what MLflow's runs hold of rules."""

from tasks.registry.evidence import Evidence, Origin, lineage
from tasks.registry.registering import register
from tasks.registry.versions import (
    CHALLENGER,
    CHAMPION,
    RegisteredRule,
    by_alias,
    by_hash,
    list_rules,
    origin_of,
    registered,
    registered_name,
    sample_name,
    tag_of_run,
)

__all__ = [
    "CHALLENGER",
    "CHAMPION",
    "Evidence",
    "Origin",
    "RegisteredRule",
    "by_alias",
    "by_hash",
    "lineage",
    "list_rules",
    "origin_of",
    "register",
    "registered",
    "registered_name",
    "sample_name",
    "tag_of_run",
]

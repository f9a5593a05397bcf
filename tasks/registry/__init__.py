"""Registered rules: versions with their evidence, who is champion and why, and what MLflow's runs hold of rules."""

from tasks.registry.evidence import Evidence, Origin, lineage
from tasks.registry.registering import register
from tasks.registry.runs import known_as, origin_of, tag_of_run
from tasks.registry.versions import (
    CHALLENGER,
    CHAMPION,
    RegisteredRule,
    by_alias,
    by_hash,
    list_rules,
    registered,
    registered_name,
)

__all__ = [
    "CHALLENGER",
    "CHAMPION",
    "Evidence",
    "Origin",
    "RegisteredRule",
    "by_alias",
    "by_hash",
    "known_as",
    "lineage",
    "list_rules",
    "origin_of",
    "register",
    "registered",
    "registered_name",
    "tag_of_run",
]

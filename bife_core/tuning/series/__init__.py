"""Instances that come one after the other: what earlier solves teach the next one."""

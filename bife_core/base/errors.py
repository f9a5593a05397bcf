"""The one exception family of BiFE: every message is a sentence written for the person who reads it."""


class BifeError(Exception):
    """Base of all errors BiFE raises on purpose; its text says what was expected, found and what to do."""


class ConfigError(BifeError):
    """A configuration value or an environment setting cannot be used."""


class InstanceError(BifeError):
    """A model file or an instance family cannot be used."""


class SolverError(BifeError):
    """SCIP, its library or its Python binding did not do what was asked."""


class InterruptedSolveError(SolverError):
    """A signal ended a solve: SCIP takes Ctrl-C itself."""


class RuleError(BifeError):
    """A branching rule was named, loaded or run and cannot be used."""


class StoreError(BifeError):
    """The store cannot be opened, read or written to."""


class DecisionsError(BifeError):
    """A file of strong-branching decisions cannot be read or does not fit."""


class GeneratorError(BifeError):
    """A rule generator cannot be set up or must stop (for instance a refused API key)."""


class RegistryError(BifeError):
    """The registry of rules cannot be reached or used."""

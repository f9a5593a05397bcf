"""The command line, ``bife``. Commands import what they need when they run, so that help is instant."""

from flows.cli.program import app as app, main as main

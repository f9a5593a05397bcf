"""The command line, ``bife``. Commands import what they need when they run, so that help is instant."""

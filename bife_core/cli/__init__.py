"""The command line, ``bife``. Commands import what they need when they run, so that help is instant."""


def main() -> None:
    """Run the command line of this process and exit."""
    from bife_core.cli.program import main as run

    run()

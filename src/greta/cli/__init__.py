"""The ``greta`` command: argument list in, text on stdout out, exit code 0, 1 or 2."""

from greta.cli.app import main

__all__ = ["main"]

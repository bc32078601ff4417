"""``python -m greta.cli`` is ``greta``."""

from greta.cli.app import main

main()

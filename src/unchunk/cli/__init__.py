"""The command line: a thin edge over the engine."""

from unchunk.cli.main import main

__all__ = ["main"]

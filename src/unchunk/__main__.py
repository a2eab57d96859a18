"""`python -m unchunk` is the command `unchunk`."""

from unchunk.cli import main

main()

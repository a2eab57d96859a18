"""A library that a server of this machine has open, for the commands that are run beside it."""

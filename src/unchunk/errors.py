"""Every error that unchunk raises on purpose.

    UnchunkError
    ├── PermanentError            the same call will fail again
    │   ├── InvalidInputError     what was given cannot be used (also a ValueError)
    │   │   ├── InvalidTextError      not text, or text that no encoding can hold
    │   │   └── InvalidStrategyError  a chunk size or overlap that makes no sense
    │   ├── IntegrityError        an installed part is not the one that was published
    │   └── OutputError           a file cannot be written: no right, no space, no folder
    └── TransientError            the same call may succeed later

A message says what happened, to what, and what to do.
"""


class UnchunkError(Exception):
    """The root: `except UnchunkError` catches what unchunk foresaw, and no bug."""


class PermanentError(UnchunkError):
    """Trying again does not help."""


class TransientError(UnchunkError):
    """Trying again may help."""


class InvalidInputError(PermanentError, ValueError):
    """What was given cannot be used."""


class InvalidTextError(InvalidInputError):
    """Not text, or text that cannot be encoded."""


class InvalidStrategyError(InvalidInputError):
    """A chunking strategy that cannot be carried out."""


class OutputError(PermanentError):
    """A file cannot be written."""


class IntegrityError(PermanentError):
    """An installed part differs from the one that was published."""

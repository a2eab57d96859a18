"""Every error that unchunk raises on purpose.

    UnchunkError
    ├── PermanentError            the same call will fail again
    │   ├── InvalidInputError     what was given cannot be used (also a ValueError)
    │   │   ├── InvalidTextError      not text, or text that no encoding can hold
    │   │   ├── InvalidStrategyError  a chunk size or overlap that makes no sense
    │   │   └── InvalidSettingError   a setting that is unknown or cannot be
    │   ├── ExtractionError       a file gives no text; `code` says why
    │   ├── NotFoundError         there is no such document, or not for this owner
    │   ├── MigrationNeededError  the library was built with other settings
    │   ├── MissingPartError      an optional part is not installed; the message names it
    │   ├── ProviderRefusedError  a provider will not do this: a wrong key, a wrong model
    │   ├── IntegrityError        a part or an archive is not what it should be
    │   ├── ClosedError           the library was closed before it could answer (also a RuntimeError)
    │   └── OutputError           a file cannot be written: no right, no space, no folder
    └── TransientError            the same call may succeed later
        ├── ProviderUnavailableError  a provider is down, slow or busy
        ├── IndexUnavailableError     the index cannot be reached
        └── LibraryInUseError         another process has the library open

A message says what happened, to what, and what to do.
"""

from typing import Literal

ExtractionCode = Literal[
    "unreadable",
    "unsupported",
    "mismatch",
    "empty",
    "encrypted",
    "image-only",
    "damaged",
    "too-big",
    "too-many-pages",
    "expands-too-far",
    "too-slow",
    "too-much-memory",
    "crashed",
    "refused",
]


class UnchunkError(Exception):
    """The root: `except UnchunkError` catches what unchunk foresaw, and no bug.

    `code` is its kind in one word, for programs.
    """

    code: str = "failed"


class PermanentError(UnchunkError):
    """Trying again does not help."""


class TransientError(UnchunkError):
    """Trying again may help."""

    code = "unavailable"


class InvalidInputError(PermanentError, ValueError):
    """What was given cannot be used."""

    code = "invalid"


class InvalidTextError(InvalidInputError):
    """Not text, or text that cannot be encoded."""


class InvalidStrategyError(InvalidInputError):
    """A chunking strategy that cannot be carried out."""


class InvalidSettingError(InvalidInputError):
    """A setting that is unknown or cannot be."""


class ExtractionError(PermanentError):
    """A file gives no text. `code` is one of a closed set; the message is for people."""

    def __init__(self, code: ExtractionCode, message: str) -> None:
        super().__init__(message)
        self.code: ExtractionCode = code

    def __reduce__(self) -> tuple[type["ExtractionError"], tuple[ExtractionCode, str]]:
        return type(self), (self.code, str(self))


class NotFoundError(PermanentError, LookupError):
    """No such document, or not this owner's: the two look alike on purpose."""

    code = "not-found"


class MigrationNeededError(PermanentError):
    """The library was built with another embedder or another chunking."""

    code = "migration-needed"


class MissingPartError(PermanentError):
    """An optional part is not installed."""

    code = "missing-part"


class ProviderRefusedError(PermanentError):
    """A provider understood, and will not. `about_text` tells that another text may pass."""

    code = "provider-refused"

    def __init__(self, message: str, *, about_text: bool = False) -> None:
        super().__init__(message)
        self.about_text = about_text


class ProviderUnavailableError(TransientError):
    """A provider is down, slow or busy; `retry_after` is how many seconds it asked to wait."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class IndexUnavailableError(TransientError):
    """The index cannot be reached."""


class LibraryInUseError(TransientError):
    """Another process has the library open."""


class OutputError(PermanentError):
    """A file cannot be written."""

    code = "not-written"


class IntegrityError(PermanentError):
    """A part or an archive is not what its checksum says."""

    code = "damaged"


class ClosedError(PermanentError, RuntimeError):
    """The library was closed before it was asked, or before it could answer."""

    code = "closed"

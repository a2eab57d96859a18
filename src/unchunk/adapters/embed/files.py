"""The files of a local model, checked as they are read. Knows nothing of what is in them."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from unchunk.adapters.embed.models import LocalModel, ModelFile
from unchunk.errors import IntegrityError

T = TypeVar("T")


class Once(Generic[T]):
    """Something that is made when it is first asked for, whichever thread that is."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = Lock()
        self._made: T | None = None

    def get(self) -> T:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made


class Files:
    """`places` says where each of the model's files lies.

    A pack is read once and kept: its tokenizer and its network both come from it, and its words
    are read where they lie.
    """

    def __init__(self, model: LocalModel, places: Mapping[str, Path]) -> None:
        self._model, self._places = model, places
        self._pack = Once(lambda: self._read(model.weights))

    def weights(self) -> bytes:
        is_pack = self._model.format == "pack"
        return self._pack.get() if is_pack else self._read(self._model.weights)

    def tokenizer(self) -> bytes | None:
        """None where it is in the weights."""
        file = self._model.tokenizer
        return None if file is None else self._read(file)

    def _read(self, file: ModelFile) -> bytes:
        path = self._places[file.path]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise IntegrityError(f"cannot read {path}: {error.strerror or error}") from error
        found = hashlib.sha256(data).hexdigest()
        if found != file.sha256:
            raise IntegrityError(
                f"{path} is not the file it should be: its SHA-256 is {found}, not {file.sha256}; "
                "delete it and get the model anew"
            )
        return data

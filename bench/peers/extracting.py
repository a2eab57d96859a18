"""The readers of PDFs that people use, each as a player: it reads all files of a list.

A way is what is told of them: `characters` found, or how many files were `unread`, because of an
error or because nothing but white space came out of them.
"""

import asyncio
import logging
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.embedding import Embedding
from bench.peers.playing import Player

# Of a path, the text of each page or of all.
Read = Callable[[Path], Iterable[str]]
Lengths = Callable[[Sequence[Path]], Iterable[int]]


class Extracting(Player):
    """`folder` is a file that has the paths, one in each line. The texts are thrown away."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        self._lengths = VARIANTS[variant]()

    def build(
        self,
        documents: Any,  # noqa: ANN401, ARG002 -- the paths are in `folder`
        embedding: Embedding,  # noqa: ARG002
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        files = [Path(line) for line in folder.read_text("utf-8").splitlines()]
        found = list(self._lengths(files))
        return found.count(0) if "unread" in wanted else sum(found)


def player(variant: str) -> Player:
    return Extracting(variant)


def _each(read: Read) -> Lengths:
    def lengths(files: Sequence[Path]) -> Iterator[int]:
        for file in files:
            try:
                yield len("".join(read(file)).strip())
            except Exception:  # noqa: BLE001 -- whatever a reader raises, it has not read the file
                yield 0

    return lengths


def _ours() -> Lengths:
    """As in the product: one worker in a process of its own, kept from file to file."""
    from unchunk.adapters.extract.isolated import IsolatedExtractor
    from unchunk.adapters.extract.limits import Limits
    from unchunk.errors import ExtractionError

    loop, extractor = asyncio.new_event_loop(), IsolatedExtractor(Limits(), 1)

    async def one(file: Path) -> int:
        try:
            return len((await extractor.extract(file, file.name)).text.strip())
        except ExtractionError:
            return 0

    async def all_of(files: Sequence[Path]) -> list[int]:
        return await asyncio.gather(*map(one, files))

    return lambda files: loop.run_until_complete(all_of(files))


def _bare() -> Read:
    import pypdfium2  # type: ignore[import-untyped]  # it has no types of its own

    def read(file: Path) -> Iterator[str]:
        document = pypdfium2.PdfDocument(file)
        try:
            for page in document:
                content = page.get_textpage()
                yield content.get_text_range()
                content.close()
                page.close()
        finally:
            document.close()

    return read


def _pypdf() -> Read:
    import pypdf

    return lambda file: (page.extract_text() for page in pypdf.PdfReader(file).pages)


def _pdfminer() -> Read:
    from pdfminer.high_level import extract_text  # type: ignore[import-not-found]  # in theirs

    return lambda file: [extract_text(file)]


def _pymupdf() -> Read:
    import pymupdf  # type: ignore[import-not-found]  # in the peers' interpreter

    def read(file: Path) -> Iterator[str]:
        with pymupdf.open(file) as document:
            for page in document:
                yield page.get_text()

    return read


def _langchain() -> Read:
    from langchain_community.document_loaders import (  # type: ignore[import-not-found]  # in theirs
        PyPDFLoader,
    )

    return lambda file: (page.page_content for page in PyPDFLoader(str(file)).lazy_load())


def _llamaindex() -> Read:
    from llama_index.readers.file import PDFReader

    reader = PDFReader()
    return lambda file: (page.text for page in reader.load_data(file))


def _haystack() -> Read:
    from haystack.components.converters import (  # type: ignore[import-not-found]  # in theirs
        PyPDFToDocument,
    )

    converter = PyPDFToDocument()

    def read(file: Path) -> list[str]:
        (document,) = converter.run([file])["documents"]
        return [document.content or ""]

    return read


VARIANTS: dict[str, Callable[[], Lengths]] = {
    "ours": _ours,
    "bare": lambda: _each(_bare()),
    "pypdf": lambda: _each(_pypdf()),
    "pdfminer": lambda: _each(_pdfminer()),
    "pymupdf": lambda: _each(_pymupdf()),
    "langchain": lambda: _each(_langchain()),
    "llamaindex": lambda: _each(_llamaindex()),
    "haystack": lambda: _each(_haystack()),
}

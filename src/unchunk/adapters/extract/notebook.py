"""Jupyter notebooks: prose as it is, code in fences, what the code printed below it."""

import json
from collections.abc import Mapping

from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError
from unchunk.text.markdown import read_outline


def read(source: Source) -> Extracted:
    try:
        book = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise ExtractionError("damaged", f"it is not valid JSON: {error}") from error
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise ExtractionError(
            "damaged", "it is not a notebook of version 4 or later: it has no cells"
        )
    out = Composition(source.limits)
    out.notes += source.notes
    metadata = book.get("metadata")
    language = ""
    if isinstance(metadata, dict):
        out.title = _line(metadata.get("title"))
        kernel = metadata.get("kernelspec")
        language = _line(kernel.get("language")) if isinstance(kernel, dict) else ""
    for cell in book["cells"]:
        if isinstance(cell, dict):
            _write(cell, language, out)
    return out.finish(source.media_type)


def _write(cell: Mapping[str, object], language: str, out: Composition) -> None:
    text = _text(cell.get("source"))
    if cell.get("cell_type") == "markdown":
        _write_markdown(text, out)
    elif cell.get("cell_type") == "code":
        out.code(text, language)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            if isinstance(output, dict):
                out.code(_printed(output))
    else:
        out.verbatim(text)


def _write_markdown(text: str, out: Composition) -> None:
    """Headings one by one, so that they are known as such; the rest as it stands."""
    done = 0
    for heading in read_outline(text).headings:
        out.verbatim(text[done : heading.start])
        out.heading(heading.level, heading.path[-1])
        done = heading.body
    out.verbatim(text[done:])


def _printed(output: Mapping[str, object]) -> str:
    data = output.get("data")
    if isinstance(data, dict):
        return _text(data.get("text/plain"))
    return _text(output.get("text"))


def _text(value: object) -> str:
    """Notebooks keep a text whole, or as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _line(value: object) -> str:
    return " ".join(_text(value).split())[:40]

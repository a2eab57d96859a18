"""Notebooks: prose, code and what it printed."""

import json

import pytest

from adapters.extract.conftest import Read
from unchunk.domain import Heading
from unchunk.errors import ExtractionError


def notebook(*cells: object, **more: object) -> str:
    return json.dumps({"nbformat": 4, "cells": cells, **more})


def test_cells_come_in_their_order(read: Read) -> None:
    found = read(
        notebook(
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Some *prose*\n", "## Next"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"data": {"text/plain": "2", "image/png": "xxxx"}},
                    {"ename": "ValueError"},
                    None,
                ],
            },
            {"cell_type": "raw", "source": "  raw"},
            {"cell_type": "code", "source": 7, "outputs": 7},
            "nonsense",
            metadata={"kernelspec": {"language": "python"}, "title": "A notebook"},
        ),
        "a.ipynb",
    )
    assert found.text == (
        "# Title\n\nSome *prose*\n\n## Next\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n"
        "```\n2\n```\n\n  raw"
    )
    assert found.headings == (Heading(0, 1, "Title"), Heading(23, 2, "Next"))
    assert found.title == "A notebook"


def test_half_characters_do_not_get_through(read: Read) -> None:
    found = read(notebook({"cell_type": "markdown", "source": "a\ud800b"}), "a.ipynb")
    assert found.text == "ab"


@pytest.mark.parametrize(
    "text",
    ['{"nbformat": 4, "cells": 1}', '{"nbformat": 4', '{"nbformat": 4, "x": ' + "[" * 200_000],
)
def test_what_is_no_notebook_is_damaged(read: Read, text: str) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(text, "a.ipynb")
    assert refused.value.code == "damaged"


def test_metadata_may_be_anything(read: Read) -> None:
    cell = {"cell_type": "code", "source": "x"}
    for metadata in (None, 7, {"kernelspec": 7}):
        assert read(notebook(cell, metadata=metadata), "a.ipynb").text == "```\nx\n```"

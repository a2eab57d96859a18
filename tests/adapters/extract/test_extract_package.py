"""Packages: the parts that are there, and those that are not."""

from pathlib import Path

import pytest

from adapters.extract import making
from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.package import main_part, parts_of_kind, relationships
from unchunk.errors import ExtractionError


def test_targets_are_parts_and_links_to_elsewhere_are_not(tmp_path: Path) -> None:
    table = making.relationships(
        ("a", "image", "../media/a.png"), ("b", "image", "/word/b.png"), ("c", "image", "no.png")
    ).replace('Id="c"', 'Id="c" TargetMode="External"')
    path = tmp_path / "a.zip"
    path.write_bytes(making.zipped({"word/_rels/d.xml.rels": table, "media/a.png": "", "x": ""}))
    with Archive(path, Limits()) as archive:
        found = [(each.id, each.kind, each.part) for each in relationships(archive, "word/d.xml")]
        assert found == [("a", "image", "media/a.png"), ("b", "image", "word/b.png")]
        assert parts_of_kind(archive, "word/d.xml", "image") == ["media/a.png"]
        assert relationships(archive, "x") == []
        with pytest.raises(ExtractionError, match="main part is missing"):
            main_part(archive)

"""Office Open XML packages: which part is which, as their relationships say."""

import posixpath
from typing import NamedTuple

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.xmlparts import attributes_of, first_text
from unchunk.errors import ExtractionError


class Relationship(NamedTuple):
    """`kind` is the last word of its type, such as `slide`; `part` is a name in the archive."""

    id: str
    kind: str
    part: str


def relationships(archive: Archive, part: str) -> list[Relationship]:
    """Where `part` points to inside the archive; the package itself is the part ``''``."""
    folder, name = posixpath.split(part)
    table = posixpath.join(folder, "_rels", f"{name}.rels")
    if table not in archive:
        return []
    return [
        Relationship(
            record.get("Id", ""),
            record.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, record.get("Target", ""))).lstrip("/"),
        )
        for record in attributes_of(table, archive.pieces(table), "Relationship")
        if record.get("TargetMode") != "External"
    ]


def parts_of_kind(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts that exist and that `part` points to as `kind`."""
    return [
        found.part
        for found in relationships(archive, part)
        if found.kind == kind and found.part in archive
    ]


def main_part(archive: Archive) -> str:
    for part in parts_of_kind(archive, "", "officeDocument"):
        return part
    raise ExtractionError("damaged", "its main part is missing")


def title(archive: Archive) -> str:
    for part in parts_of_kind(archive, "", "core-properties"):
        return first_text(part, archive.pieces(part), "title")
    return ""

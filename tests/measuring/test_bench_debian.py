"""Debian's documentation takes part where it is installed, packed or not, and each text once."""

import gzip
from pathlib import Path

import pytest
from bench import debian


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    policy, faq = tmp_path / "doc" / "debian-policy", tmp_path / "doc" / "debian" / "FAQ"
    for folder in (policy, faq):
        folder.mkdir(parents=True)
    (policy / "policy.txt.gz").write_bytes(gzip.compress("Pólicy.".encode()))
    (policy / "policy.pdf.gz").write_bytes(gzip.compress(b"%PDF policy"))
    (faq / "faq.txt").write_text("Questions.", "utf-8")
    (faq / "faq.en.pdf").write_bytes(b"%PDF faq")
    (faq / "faq.pdf").symlink_to("faq.en.pdf")
    (faq / "gone.pdf").symlink_to("nowhere.pdf")
    return tmp_path / "doc"


def test_texts_are_unpacked(place: Path) -> None:
    assert [*debian.texts(place)] == ["Questions.", "Pólicy."]


def test_manuals_are_unpacked_and_a_link_is_no_second_one(place: Path, tmp_path: Path) -> None:
    found = debian.manuals(tmp_path / "cache", place)

    assert [(one.name, one.read_bytes()) for one in found] == [
        ("debian-FAQ-faq.en.pdf", b"%PDF faq"),
        ("debian-policy-policy.pdf", b"%PDF policy"),
    ]


def test_a_manual_that_lies_elsewhere_keeps_the_name_of_its_link(
    place: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.pdf").write_bytes(b"%PDF elsewhere")
    (place / "debian" / "more.pdf").symlink_to(tmp_path / "elsewhere.pdf")

    names = [one.name for one in debian.manuals(tmp_path / "cache", place)]

    assert "debian-more.pdf" in names


def test_where_no_package_is_there_is_nothing(tmp_path: Path) -> None:
    assert not [*debian.texts(tmp_path)]
    assert not debian.manuals(tmp_path / "cache", tmp_path)

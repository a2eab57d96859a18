"""Two libraries whose originals would lie in one place, however it is spelled, are no move."""

from dataclasses import replace
from pathlib import Path

import pytest

from unchunk.errors import InvalidInputError, InvalidSettingError
from unchunk.settings import Settings
from unchunk.wiring.apart import check_apart


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    (tmp_path / "here" / "uploads").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "here")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "uploads").symlink_to(tmp_path / "here" / "uploads")
    return Settings(tmp_path / "here", index="pgvector")


@pytest.mark.parametrize(
    "where",
    ["here", "here/", "other/../here", "link", "link/", "linked", "here/uploads", "here/a/b", ""],
)
def test_a_folder_is_the_same_however_it_is_spelled(
    here: Settings, tmp_path: Path, where: str
) -> None:
    at = f"folder:{tmp_path}/{where}"
    target = replace(here, catalog="postgresql://db/x", blobs=at)
    with pytest.raises(InvalidInputError, match="share their originals"):
        check_apart(here, target)
    with pytest.raises(InvalidInputError, match="share their originals"):
        check_apart(target, here)


def test_folders_beside_each_other_are_apart(here: Settings, tmp_path: Path) -> None:
    for where in ("here2", "linked/own", "other"):
        check_apart(here, replace(here, catalog="x", blobs=f"folder:{tmp_path}/{where}"))
    check_apart(here, Settings(tmp_path / "home"))


def test_an_index_in_the_home_belongs_to_one_library(here: Settings, tmp_path: Path) -> None:
    source = replace(here, index="edge")
    target = replace(source, catalog="x", blobs=f"folder:{tmp_path}/other")
    with pytest.raises(InvalidInputError, match="share their index"):
        check_apart(source, target)


@pytest.mark.parametrize(
    ("bucket", "url"),
    [
        ("s3:b/p", "http://store:9000/"),
        ("s3:b/p/", "HTTP://STORE:9000"),
        ("s3:b//p", "https://store:9000"),
        ("s3:b", "http://store:9000"),
        ("s3:b/p/q", "http://store:9000"),
    ],
)
def test_a_bucket_is_the_same_however_it_is_spelled(here: Settings, bucket: str, url: str) -> None:
    source = replace(here, blobs="s3:b/p", blobs_url="http://store:9000", catalog="one")
    with pytest.raises(InvalidInputError, match="share their originals"):
        check_apart(source, replace(source, catalog="x", blobs=bucket, blobs_url=url))


def test_servers_are_compared_and_not_their_addresses(
    here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(url: str, blobs: str = "s3:b") -> Settings:
        return replace(here, blobs=blobs, blobs_url=url, catalog=f"{url} {blobs}")

    for one, other in (
        ("", "https://s3.eu-west-1.amazonaws.com"),
        ("http://localhost:9000", "http://127.0.0.1:9000"),
        ("https://store", "https://store:443/"),
    ):
        with pytest.raises(InvalidInputError, match="share their originals"):
            check_apart(at(one), at(other, "s3:b/p"))
    check_apart(at("http://store:9000"), at("http://store:9001"))
    check_apart(at("http://store:9000", "s3:b/p"), at("http://store:9000", "s3:b/pq"))
    check_apart(at("http://store:9000"), replace(here, catalog="x"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store:9000")
    with pytest.raises(InvalidInputError, match="share their originals"):
        check_apart(at(""), at("http://store:9000/"))
    with pytest.raises(InvalidSettingError, match="makes no sense"):
        check_apart(at("http://store:port"), at("http://store"))

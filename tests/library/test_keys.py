"""Keys: safe for every owner, and no two owners share one."""

from datetime import date
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from unchunk.adapters.blobs.keys import check_key
from unchunk.library.keys import blob_key

DAY, NUMBER = date(2026, 2, 3), UUID(int=7)
OWNERS = st.text(st.characters(codec=None, exclude_categories=()), max_size=200) | st.text(
    "./\\%aAé:\0", max_size=6
)


def test_a_plain_owner_is_read_in_the_key() -> None:
    expected = "ann.lee@example.org/2026-02-03/00000000-0000-0000-0000-000000000007"
    assert blob_key("ann.lee@example.org", DAY, NUMBER) == expected


@given(OWNERS)
@example("")
@example("..")
@example(".")
@example("../../etc")
@example("a/b")
@example("a" * 5000)
@example("\ud800")
def test_every_owner_has_a_safe_key(owner: str) -> None:
    key = blob_key(owner, DAY, NUMBER)
    check_key(key)
    folder, day, name = key.split("/")
    assert (day, name) == ("2026-02-03", str(NUMBER))
    assert folder.isascii()
    assert len(folder) < 200


@given(OWNERS, OWNERS)
@example("", "%")
@example("a/b", "a%2Fb")
@example("é", "e\u0301")
@example("x" * 200, "x" * 201)
@example("\u00e9", "\udcc3\udca9")
def test_no_two_owners_share_a_folder(one: str, other: str) -> None:
    same = blob_key(one, DAY, NUMBER) == blob_key(other, DAY, NUMBER)
    assert same == (one == other)

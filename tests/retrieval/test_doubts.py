"""What is not sure is told once for each kind, however often it happens."""

from unchunk.retrieval.shelf import Doubt, doubts_told


def test_doubts_of_one_kind_are_one_note_with_the_first_places() -> None:
    many = [Doubt(f"chunks {at} and {at + 1} of a.md", "share nothing") for at in range(28)]
    [nothing, missing] = doubts_told(
        [*many, Doubt("chunks 1 and 2 of b.md", "do not follow"), *many]
    )
    assert nothing == (
        "chunks 0 and 1 of a.md, chunks 1 and 2 of a.md, chunks 2 and 3 of a.md share nothing"
        " (and 25 more)"
    )
    assert missing == "chunks 1 and 2 of b.md do not follow"


def test_where_nothing_is_doubtful_nothing_is_told() -> None:
    assert doubts_told([]) == []

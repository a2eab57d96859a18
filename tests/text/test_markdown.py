"""The outline of Markdown texts, after CommonMark's and GitHub's own rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.text.markdown import read_outline


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.path[-1]) for heading in read_outline(text).headings]


def solids(text: str) -> list[str]:
    edges = read_outline(text).solids
    return [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def sections(text: str) -> list[str]:
    return [text[start:end] for start, end in read_outline(text).sections(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One", [(1, "One")]),
        ("###### Six\n", [(6, "Six")]),
        ("   ## Two ##  \n", [(2, "Two")]),
        ("## C# ##", [(2, "C#")]),
        ("# a\r\nb\r\n", [(1, "a")]),
        ("#\ttab", [(1, "tab")]),
        ("#", [(1, "")]),
        ("# #", [(1, "")]),
        ("####### seven", []),
        ("#hashtag", []),
        ("    # code", []),
        ("\t# code", []),
        ("> # quoted", []),
        ("- # item", []),
        ("text\n# One", [(1, "One")]),
    ],
)
def test_reads_headings_that_begin_with_hashes(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\n===", [(1, "One")]),
        ("Two\n---\n", [(2, "Two")]),
        ("Two\r\n   -  \r\n", [(2, "Two")]),
        ("wrapped\n title\n===\n", [(1, "wrapped title")]),
        ("text\n\nOne\n=\n", [(1, "One")]),
        ("# One\nTwo\n---\n", [(1, "One"), (2, "Two")]),
        ("text\n\n---\n", []),
        ("---\n", []),
        ("- item\n---\n", []),
        ("text\n- item\n---\n", []),
        ("> quote\n---\n", []),
        ("    code\n---\n", []),
        ("Two\n- - -\n", []),
        ("***\nTwo\n---\n", [(2, "Two")]),
        ("_ _ _\nTwo\n---\n", [(2, "Two")]),
        ("Two\n: -\n", []),
    ],
)
def test_reads_headings_that_are_underlined(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\n# no\n```\n# yes", [(1, "yes")]),
        ("~~~ sh\n# no\n```\n# no\n~~~\n# yes", [(1, "yes")]),
        ("````\n```\n# no\n````\n# yes", [(1, "yes")]),
        ("```\n``` info closes nothing\n# no\n```\n# yes", [(1, "yes")]),
        ("```\nno\n---\n", []),
        ("```\n# no", []),
        ("``` a`b\n# yes", [(1, "yes")]),
        ("- item\n\n    ```\n    # no\n# yes", [(1, "yes")]),
        ("- item\n\n    ```\n    # no\n    ```\n\n# yes", [(1, "yes")]),
        ("<!--\n# no\n-->\n# yes", [(1, "yes")]),
        ("<!-- # no --> x\n# yes", [(1, "yes")]),
        ("<PRE>\n# no\n</pre>\n# yes", [(1, "yes")]),
        ("<!--\n# no", []),
        ("---\ntitle: no\n---\n# yes", [(1, "yes")]),
        ("---\n\nTwo\n---\n", [(2, "Two")]),
        ("---\ntitle\n", []),
    ],
)
def test_code_comments_and_front_matter_have_no_headings(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert headings(text) == expected


def test_a_fence_is_solid_from_its_opening_to_its_closing_line() -> None:
    assert solids("a\n```py\nx\n\ny\n```\nb") == ["```py\nx\n\ny\n```\n"]
    assert solids("- a\n\n      ~~~\n      x\n      ~~~\n") == ["      ~~~\n      x\n      ~~~\n"]


def test_an_unclosed_fence_is_solid_to_the_end() -> None:
    assert solids("a\n```\nx\n\n# y\n") == ["```\nx\n\n# y\n"]


@pytest.mark.parametrize(
    "block",
    [
        "```\nx\n```",
        "```\n```",
        "````\n``` `x`\n\n```\n`````  ",
        "``` py\r\nx\r\n```\r",
        "  ```\nx\n```",
    ],
)
def test_a_fence_may_close_at_the_very_end(block: str) -> None:
    assert solids(block) == [block]
    assert solids(f"{block}\n") == [f"{block}\n"]


def test_a_table_is_solid_with_all_its_rows() -> None:
    table = "| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 | 4 |\n"
    assert solids(f"text\n\n{table}\nmore") == [table]
    assert solids(f"{table}# One") == [table]
    assert solids("a|b\n-|-\n1|2") == ["a|b\n-|-\n1|2"]


@pytest.mark.parametrize(
    "text", ["| a | b |\n|---|\n", "a\n|---|\n", "|---|\n", "a | b\n: | :\n", "\n|---|---|\n"]
)
def test_what_only_looks_like_a_table_is_none(text: str) -> None:
    assert solids(text) == []


def test_an_escaped_bar_makes_no_column() -> None:
    assert len(solids("a \\| b\n|---|\n")) == 1


def test_a_path_has_the_open_headings_from_the_outermost_down() -> None:
    text = "# A\na\n### B\nb\n## C\nc\n# D\nd\n"
    assert [heading.path for heading in read_outline(text).headings] == [
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("D",),
    ]


def test_the_path_of_a_part_is_that_of_its_first_visible_character() -> None:
    text = "intro\n\n# A\n\nbody\n"
    outline = read_outline(text)
    assert outline.path_of(text, 0, 5) == ()
    assert outline.path_of(text, 6, 12) == ("A",)
    assert outline.path_of(text, 12, len(text)) == ("A",)
    assert outline.path_of(text, 5, 7) == ()


def test_a_part_without_another_heading_inside_has_one_path() -> None:
    text = "intro\n\n# A\n\nbody\n## B\n"
    first, second = text.index("#"), text.index("##")
    outline = read_outline(text)
    assert outline.common_path(0, first) == ()
    assert outline.common_path(0, first + 1) is None
    assert outline.common_path(first, second) == ("A",)
    assert outline.common_path(second - 1, len(text)) is None
    assert outline.common_path(second, len(text)) == ("A", "B")


def test_each_heading_begins_a_section() -> None:
    assert sections("intro\n# A\na\n## B\nb\n## C\nc\n") == [
        "intro\n",
        "# A\na\n",
        "## B\nb\n",
        "## C\nc\n",
    ]


def test_a_heading_without_a_body_stays_with_its_first_subsection() -> None:
    assert sections("# A\n\n## B\n\nb\n\n## C\nc\n") == ["# A\n\n## B\n\nb\n\n", "## C\nc\n"]


def test_an_empty_section_does_not_take_its_neighbour() -> None:
    assert sections("## A\n## B\nb\n") == ["## A\n", "## B\nb\n"]


def test_blank_lines_before_the_first_heading_are_no_section() -> None:
    assert sections("\n \n# A\na") == ["\n \n# A\na"]


def test_a_title_that_is_a_whole_paragraph_is_cut_short() -> None:
    assert headings("word " * 100_000 + "\n---\n") == [(2, ("word " * 40))]


# fmt: off
LINES = [
    "# A", "## B ##", "text", "===", "---", "```", "~~~~", "    ```", "- item", "> q", "", "  ",
    "| a | b |", "|---|---|", "<!--", "-->", "<pre>", "</pre>", "#", "***", "\r", "\x00", "漢",
]
HOSTILE = [
    "```\n", "    ```\n", "<!--\n", "a\n---\n", "|-|\n", "a|b\n", "text\n", "#########\n",
    "> a\n", "- a\n", "-", "|", " ", "\n", "`", "# # #", "*", "* ",
]
# fmt: on


@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join))
def test_sections_tile_the_text_and_solids_lie_apart_in_it(text: str) -> None:
    outline = read_outline(text)
    assert "".join(sections(text)) == text
    edges = outline.solids
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)
    starts = [heading.start for heading in outline.headings]
    assert starts == sorted(set(starts))


@pytest.mark.parametrize("line", HOSTILE)
def test_a_hostile_line_repeated_is_read_in_one_pass(line: str) -> None:
    text = line * (400_000 // len(line)) + "\n---\n# end"
    assert read_outline(text).headings or "`" in line or "<" in line


def test_a_path_lookup_in_blank_text_looks_only_at_its_part() -> None:
    text = "# A\n" + " " * 1_000_000
    outline = read_outline(text)
    assert {outline.path_of(text, at, at + 10) for at in range(4, 900_000, 10)} == {("A",)}

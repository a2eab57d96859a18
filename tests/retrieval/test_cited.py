"""The citations that the text of an answer has, whoever kept it."""

from hypothesis import given
from hypothesis import strategies as st

from unchunk.retrieval.cited import citations_in, named_in_line


def test_all_forms_of_citations_are_read_in_their_order() -> None:
    answer = "Yes [abc:3]. And [b-1:5-7; 9], [x:1, y:2] [abc:3]."
    assert citations_in(answer).chunks == (
        ("abc", 3),
        *(("b-1", at) for at in (5, 6, 7, 9)),
        ("x", 1),
        ("y", 2),
    )


def test_an_id_that_was_written_as_in_a_url_is_read_back() -> None:
    assert ("a[1]", 2) in citations_in("So [a%5B1%5D:2].").chunks


def test_numbers_are_citations_where_a_list_of_sources_tells_what_they_mean() -> None:
    answer = (
        "It costs 22 euros [2]. The lamp burned oil [1, 3][9].\n\n"
        "Sources:\n  [1] lighthouse.md, page 3\n[2] rules/harbour.md: Fees\n3. tides.md\n4. no.md"
    )
    assert citations_in(answer).sources == (
        "rules/harbour.md: Fees",
        "lighthouse.md, page 3",
        "tides.md",
    )
    assert citations_in("First [1], then [2].").sources == ()


def test_a_line_names_the_longest_name_that_it_begins_with() -> None:
    names = ["rules.md", "rules", "rules.md.bak"]
    assert named_in_line("rules.md, page 3", names) == "rules.md"
    assert named_in_line("rules.md.bak: chunk 1", names) == "rules.md.bak"
    assert named_in_line("rules.mdx", names) == ""


@given(st.text(max_size=300) | st.text("[]:;,-0123 a.\n", max_size=80))
def test_any_text_is_read_and_no_chunk_twice(text: str) -> None:
    chunks, sources = citations_in(text)
    assert len(set(chunks)) == len(chunks) <= 200
    assert len(set(sources)) == len(sources)


def test_a_range_of_any_width_costs_little() -> None:
    assert len(citations_in("[a:1-999999999]").chunks) == 33

"""What rows tell of the files that they are of, and of the order in these."""

import json

import pytest

from unchunk.adapters.sources.fields import LANGCHAIN, LLAMA_INDEX, PAGES, Fields
from unchunk.adapters.sources.listing import STRAYS, Listing
from unchunk.adapters.sources.ordering import in_order
from unchunk.adapters.sources.reading import Record
from unchunk.adapters.sources.recognising import recognised
from unchunk.errors import IntegrityError, InvalidInputError
from unchunk.ports import LostFile


def page(at: int, text: str, **more: object) -> Record:
    return Record(f"id{at}", {"parent_id": "d", "chunk_index": at, "content": text, **more})


def langchain(name: str, text: str, **metadata: object) -> Record:
    return Record(name, {"page_content": text, "metadata": {"source": "a.pdf", **metadata}})


def node(
    name: str, text: str, before: str = "", behind: str = "", *, document: str = "d", **more: object
) -> Record:
    relations = {"2": {"node_id": before}} if before else {}
    relations |= {"3": {"node_id": behind}} if behind else {}
    content = {"text": text, "relationships": relations}
    payload = {"_node_content": json.dumps(content), "_node_type": "TextNode", **more}
    return Record(name, {**payload, "ref_doc_id": document, "doc_id": document})


def listed(fields: Fields, *records: Record) -> list[LostFile]:
    listing = Listing(fields, "the store")
    for record in records:
        listing.see(record)
    return list(listing.files())


# Which names.


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (page(0, "x"), PAGES),
        (langchain("a", "x"), LANGCHAIN),
        (Record("a", {"source": "a.md"}, text="x"), LANGCHAIN),
        (node("a", "x"), LLAMA_INDEX),
        (node("a", "x", source="s", parent_id="p"), LLAMA_INDEX),
    ],
)
def test_the_names_are_those_under_which_text_and_document_are(
    record: Record, fields: Fields
) -> None:
    assert recognised([Record("?", {"unrelated": 1}), record], "the store") is fields


def test_names_that_are_not_known_are_listed() -> None:
    rows = [Record("a", {"body": "x", "file": "f"}), Record("b", {"content": "x"})]
    with pytest.raises(InvalidInputError, match=r"the store .*carry 'body', 'content', 'file'"):
        recognised(rows, "the store")


# Which files.


def test_a_file_is_called_by_what_is_the_name_of_one() -> None:
    def name(document: str, title: str) -> str:
        row = Record("a", {"parent_id": document, "title": title, "chunk_index": 0})
        return listed(PAGES, row)[0].name

    assert name("17", "Whales.md") == "Whales.md"
    assert name("/home/x/whales.txt", "About whales") == "whales.txt"
    assert name("C:\\x\\whales.txt", "") == "whales.txt"
    assert name("https://x.example/a/b/", "") == "b"
    assert name("17", "About whales") == "About whales"
    assert name("17", "") == "17"


def test_a_file_has_what_all_its_chunks_carry_alike() -> None:
    rows = [
        langchain("a", "x", team="blue", page=1, year=1, long="x" * 2_000, none=None),
        langchain("b", "y", team="blue", page=2, year=True),
    ]
    (file,) = listed(LANGCHAIN, *rows)
    assert file.attributes == {"team": "blue"}
    (file,) = listed(LLAMA_INDEX, node("a", "x", file_name="a.md", team="blue"))
    assert file.attributes == {"team": "blue", "title": "a.md"}


def test_rows_that_come_again_count_once() -> None:
    listing = Listing(PAGES, "the store")
    assert [listing.see(page(0, "x")), listing.see(page(0, "x"))] == [True, False]
    assert listing.ids("d") == ["id0"]
    assert listing.ids("other") is None


def test_what_is_listed_without_texts_has_no_mark() -> None:
    (file,) = listed(PAGES, page(0, "x"), page(1, "y"))
    assert file.mark == ""


def test_rows_of_no_file_are_counted_as_one_that_failed() -> None:
    nobody = Record("n", {"_node_type": "TextNode", "ref_doc_id": "None"})
    rows = [node("a", "x"), nobody, Record("o", {"ref_doc_id": True}), Record("p", {})]
    files = listed(LLAMA_INDEX, *rows, Record("q", {"ref_doc_id": "x" * 5_000}))
    assert [file.id for file in files] == ["d", STRAYS]
    assert files[1].status == "failed"
    assert files[1].problem.endswith("name no document in 'ref_doc_id' or 'document_id': 4")


def test_ids_without_end_are_refused() -> None:
    with pytest.raises(IntegrityError, match="the store sends ids without end"):
        Listing(PAGES, "the store").see(Record("x" * 5_000, {}))


def test_documents_that_are_pages_of_one_file_are_one_file() -> None:
    def pdf(at: int, label: str) -> Record:
        more = {"file_path": "/x/r.pdf", "file_name": "r.pdf", "page_label": label}
        return node(f"n{at}", f"page {label}", document=f"doc{at}", **more)

    rows = [pdf(0, "2"), pdf(1, "1"), node("n2", "x", document="o", file_path="/x/o.md")]
    assert [(file.id, file.name) for file in listed(LLAMA_INDEX, *rows)] == [
        ("/x/r.pdf", "r.pdf"),
        ("o", "o"),
    ]
    found = in_order(rows[:2], LLAMA_INDEX)
    assert found.texts == ("page 1", "page 2")
    assert found.notes == ("its 2 pages are joined by empty lines",)


# In which order.


def test_chunks_are_in_the_order_of_their_indices() -> None:
    rows = [page(at, str(at), chunk_count=3) for at in (2, 0, 1)]
    assert in_order(rows, PAGES) == (("0", "1", "2"), True, (), None, True)
    assert in_order([page(at, str(at)) for at in (1, 0)], PAGES).complete is None


def test_some_count_from_one() -> None:
    rows = [page(at, str(at), chunk_count=2) for at in (1, 2)]
    assert in_order(rows, PAGES) == (("1", "2"), True, (), None, True)


def test_missing_places_are_named() -> None:
    rows = [page(at, str(at), chunk_count=12) for at in (1, 2, 5, 7)]
    found = in_order(rows, PAGES)
    assert (found.from_start, found.complete) == (False, False)
    assert found.notes == ("chunks are missing: 0, 3-4, 6, 8-11",)
    many = in_order([page(at * 10_000, "x") for at in range(40)], PAGES)
    assert many.notes[0].endswith("and 29 more")


def test_a_place_that_two_claim_goes_to_the_first() -> None:
    rows = [page(0, "a"), page(1, "b"), page(1, "c")._replace(id="again")]
    found = in_order(rows, PAGES)
    assert found.texts == ("a", "b")
    assert found.complete is False
    assert found.notes == ("several chunks claim one place, the first is used: 1",)


def test_what_is_there_twice_is_used_once() -> None:
    twice = "chunks that are there twice, one is used: 1"
    rows = [page(0, "a"), page(1, "b"), page(0, "a")._replace(id="again")]
    assert in_order(rows, PAGES) == (("a", "b"), True, (twice,), None, None)
    rows = [langchain(str(at), text) for at, text in enumerate("abab")]
    assert in_order(rows, LANGCHAIN).texts == ("a", "b")
    rows = [langchain(str(at), text) for at, text in enumerate("aba")]
    assert in_order(rows, LANGCHAIN).texts == ("a", "b", "a")


def test_without_indices_offsets_tell() -> None:
    rows = [langchain("a", "two", start_index=4), langchain("b", "one", start_index=0)]
    assert in_order(rows, LANGCHAIN) == (("one", "two"), True, (), (0, 4), None)
    late = in_order([langchain("a", "two", start_index=4)], LANGCHAIN)
    assert (late.from_start, late.starts) == (None, (4,))


def test_without_some_of_the_offsets_none_are_used() -> None:
    rows = [langchain("a", "two", start_index=-1), langchain("b", "one", start_index=0)]
    found = in_order(rows, LANGCHAIN)
    assert (found.texts, found.starts) == (("two", "one"), None)
    assert "the store does not tell the order" in found.notes[0]


def test_without_offsets_the_neighbours_tell() -> None:
    rows = [node("c", "3", "b"), node("a", "1", "", "b"), node("b", "2", "a", "c")]
    assert in_order(rows, LLAMA_INDEX) == (("1", "2", "3"), True, (), None, True)


def test_neighbours_that_are_not_there_are_missing() -> None:
    rows = [node("e", "5", "d"), node("b", "2", "a", "c"), node("c", "3", "b", "d")]
    found = in_order(rows, LLAMA_INDEX)
    assert found.texts == ("5", "2", "3")
    assert (found.from_start, found.complete) == (False, False)
    assert found.notes == ("chunks that are missing, and others name as neighbours: 2",)


def test_neighbours_in_a_ring_lose_no_chunk() -> None:
    rows = [node("a", "1", "b", "b"), node("b", "2", "a", "a"), node("c", "3")]
    assert sorted(in_order(rows, LLAMA_INDEX).texts) == ["1", "2", "3"]


def test_offsets_that_begin_anew_on_each_page_are_counted_on() -> None:
    rows = [
        langchain("a", "B of two", page=1, start_index=0),
        langchain("b", "end", page=0, start_index=6),
        langchain("c", "begin", page=0, start_index=0),
        langchain("d", "tail", page=1, start_index=9),
    ]
    found = in_order(rows, LANGCHAIN)
    assert found.texts == ("begin", "end", "B of two", "tail")
    assert found.starts == (0, 6, 11, 20)
    assert found.notes == ("its 2 pages are joined by empty lines",)
    one_each = [langchain(str(at), f"page {at}", page=at, start_index=2) for at in (2, 0, 1)]
    assert in_order(one_each, LANGCHAIN).starts == (2, 12, 22)


def test_offsets_that_go_on_from_page_to_page_are_left_so() -> None:
    rows = [langchain(str(at), "ab", page=at, start_index=at) for at in range(1)]
    rows += [
        langchain("x", "bc", page=1, start_index=1),
        langchain("y", "d", page=2, start_index=9),
    ]
    assert in_order(rows, LANGCHAIN).starts == (0, 1, 9)
    assert in_order(rows, LANGCHAIN).notes == ()


def test_indices_that_begin_anew_on_each_page_lose_no_chunk() -> None:
    rows = [
        langchain(f"{number}{at}", f"{number}-{at}", page=number, chunk_index=at)
        for number in (1, 0)
        for at in (1, 0)
    ]
    assert in_order(rows, LANGCHAIN).texts == ("0-0", "0-1", "1-0", "1-1")


def test_rows_that_are_no_chunks_are_named() -> None:
    found = in_order([page(0, "a"), page(1, ""), page(2, "\ud800")], PAGES)
    assert found.texts == ("a",)
    assert found.complete is False
    assert found.notes == (
        "1 left out: no text in 'content'",
        "1 left out: the text in 'content' is half a character",
    )
    assert in_order([page(1, "")], PAGES).texts == ()

"""What other people's chunks carry, and what is made of it."""

import json

import pytest

from unchunk.adapters.sources.fields import LANGCHAIN, LLAMA_INDEX, PAGES, PRESETS, Fields
from unchunk.adapters.sources.reading import Record, matches, read
from unchunk.errors import InvalidInputError, InvalidSettingError
from unchunk.ports import Among, ForeignChunk, ForeignChunks

ANY = Among()
GOOD = {"parent_id": "d", "chunk_index": 2, "content": "text", "chunk_count": 8}


def reads(
    *payloads: dict[str, object], fields: Fields = PAGES, among: Among = ANY
) -> ForeignChunks:
    records = [Record(f"id{at}", payload) for at, payload in enumerate(payloads)]
    return read(records, fields, among, "the store")


def one(payload: dict[str, object], fields: Fields = PAGES) -> ForeignChunk:
    (chunk,) = reads(payload, fields=fields).chunks
    return chunk


def test_a_chunk_of_document_001_is_read() -> None:
    payload: dict[str, object] = {
        "mongo_id": "507f1f77bcf86cd799439011",
        "parent_id": "507f1f77bcf86cd799439011",
        "chunk_index": 2,
        "chunk_count": 8,
        "content": "...chunk text...",
        "title": "Authentication Architecture",
        "content_type": "page",
        "project_name": "Security Framework",
    }
    assert one(payload) == ForeignChunk(
        document="507f1f77bcf86cd799439011",
        chunk_index=2,
        text="...chunk text...",
        id="id0",
        chunk_count=8,
        title="Authentication Architecture",
        content_type="page",
        metadata={"project_name": "Security Framework"},
    )


def test_the_first_name_that_is_there_counts() -> None:
    for parent in ({}, {"parent_id": None}, {"parent_id": ""}):
        assert one({"mongo_id": "m", "content": "x", **parent}).document == "m"
    assert one({"mongo_id": "m", "parent_id": "p", "content": "x"}).document == "p"


def test_numbers_may_name_documents_and_may_be_kept_as_fractions() -> None:
    chunk = one(GOOD | {"parent_id": 17, "chunk_index": 2.0, "chunk_count": 8.0})
    assert (chunk.document, chunk.chunk_index, chunk.chunk_count) == ("17", 2, 8)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"parent_id": None}, "no document in 'parent_id' or 'mongo_id'"),
        (
            {"parent_id": ["d"]},
            "'parent_id' or 'mongo_id' is not a valid document (for example ['d'])",
        ),
        (
            {"parent_id": True},
            "'parent_id' or 'mongo_id' is not a valid document (for example True)",
        ),
        ({"content": None}, "no text in 'content'"),
        ({"content": ""}, "no text in 'content'"),
        (
            {"content": {"a": "b" * 99}},
            "'content' is not a valid text (for example {'a': 'bbbbbbbbbbbbb",
        ),
        ({"content": "\ud800"}, "the text in 'content' is half a character"),
        ({"chunk_index": "2"}, "'chunk_index' is not a valid chunk index (for example '2')"),
        ({"chunk_index": -1}, "'chunk_index' is not a valid chunk index (for example -1)"),
        ({"chunk_index": 1.5}, "'chunk_index' is not a valid chunk index (for example 1.5)"),
        ({"chunk_index": True}, "'chunk_index' is not a valid chunk index (for example True)"),
    ],
)
def test_a_chunk_that_makes_no_sense_is_left_out_and_named(
    bad: dict[str, object], said: str
) -> None:
    found = reads(GOOD, GOOD | bad, GOOD | bad)
    assert len(found.chunks) == 1
    reason = said.partition(" (for example")[0]
    assert found.notes == (f"the store: some chunks were left out: {reason}",)
    with pytest.raises(InvalidInputError, match="no chunk of the store can be used") as refused:
        reads(GOOD | bad)
    assert said in str(refused.value)
    assert "'chunk_count', 'chunk_index', 'content'" in str(refused.value)


def test_a_payload_of_many_fields_is_named_in_short() -> None:
    with pytest.raises(InvalidInputError, match="and 10 more"):
        reads({f"f{at:02}": at for at in range(30)})
    with pytest.raises(InvalidInputError, match="They carry nothing"):
        reads({})


def test_what_is_not_needed_may_be_anything() -> None:
    chunk = one(GOOD | {"title": 3, "content_type": [], "chunk_count": "many", "page": "iv"})
    assert (chunk.title, chunk.content_type, chunk.chunk_count, chunk.page) == ("", "", None, None)


def test_places_count_only_if_they_are_as_long_as_the_text() -> None:
    for places, span in (
        ({"start": 10, "end": 14}, (10, 14)),
        ({"start": 10, "end": 15}, (None, None)),
        ({"start": 10}, (None, None)),
        ({"start": -1, "end": 3}, (None, None)),
        ({"start": "10", "end": "14"}, (None, None)),
    ):
        chunk = one(GOOD | places)
        assert (chunk.start, chunk.end) == span


def test_pages_count_from_one_whatever_they_count_from() -> None:
    from_zero = Fields(first_page=0)
    assert [one(GOOD | {"page": page}).page for page in (1, "7", 0)] == [1, 7, None]
    assert [one(GOOD | {"page": page}, from_zero).page for page in (0, 6)] == [1, 7]


def test_what_is_nested_is_found_and_named_with_dots() -> None:
    nested = Fields(document=("about.from",), text=("about.said",), chunk_index=("n",))
    payload: dict[str, object] = {
        "about": {"from": "d", "said": "text", "team": "blue", "deep": {"er": None}},
        "n": 0,
        "tags": ["x", 1],
        "rows": [{"a": 1}],
    }
    chunk = one(payload, nested)
    assert (chunk.document, chunk.text) == ("d", "text")
    assert chunk.metadata == {
        "about.team": "blue",
        "about.deep.er": None,
        "tags": ("x", 1),
        "rows": '[{"a": 1}]',
    }
    assert one({"about.from": "flat", "about": {"said": "x"}, "n": 0}, nested).document == "flat"


def test_json_that_is_none_has_nothing_inside() -> None:
    for node in ("no json", "[" * 100_000, "[1]", 5):
        with pytest.raises(InvalidInputError, match=r"no text in '_node_content\.text'"):
            reads({"ref_doc_id": "d", "_node_content": node}, fields=LLAMA_INDEX)


def test_a_real_node_of_llama_index_is_read() -> None:
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document
    from llama_index.core.vector_stores.utils import node_to_metadata_dict

    text = "Call me Ishmael. Some years ago I went to sea. " * 60
    about = {"file_name": "moby.txt", "file_type": "text/plain", "page_label": "3"}
    document = Document(text=text, metadata=about, id_="doc-1")
    nodes = SentenceSplitter(chunk_size=128, chunk_overlap=20).get_nodes_from_documents([document])
    for in_chroma in (False, True):
        payload = node_to_metadata_dict(nodes[2], remove_text=in_chroma, flat_metadata=True)
        record = Record("n", payload, None, nodes[2].get_content() if in_chroma else None)
        (chunk,) = read([record], LLAMA_INDEX, Among(), "the store").chunks
        assert (chunk.document, chunk.chunk_index, chunk.page) == ("doc-1", None, 3)
        assert (chunk.title, chunk.content_type) == ("moby.txt", "text/plain")
        assert chunk.text == nodes[2].get_content() == text[chunk.start : chunk.end]
        assert "_node_content" not in chunk.metadata


def test_a_real_document_of_langchain_is_read() -> None:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    text = "Call me Ishmael. Some years ago I went to sea.\n\n" * 60
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=200, chunk_overlap=40, add_start_index=True
    )
    made = splitter.create_documents([text], [{"source": "moby.txt", "page": 0, "by": "Melville"}])[
        3
    ]
    nested: dict[str, object] = {"page_content": made.page_content, "metadata": made.metadata}
    flat = Record("n", made.metadata, None, made.page_content)
    for record, by in ((Record("n", nested), "metadata.by"), (flat, "by")):
        (chunk,) = read([record], LANGCHAIN, Among(), "the store").chunks
        assert (chunk.document, chunk.chunk_index, chunk.page) == ("moby.txt", None, 1)
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.metadata == {by: "Melville"}


def test_two_chunks_of_one_place_are_not_told_apart() -> None:
    other = GOOD | {"content": "other"}
    found = reads(GOOD, other, other, GOOD | {"chunk_index": 3}, other | {"chunk_index": 3})
    assert [chunk.text for chunk in found.chunks] == ["text", "text"]
    same = "another chunk has the same document and chunk index"
    assert found.notes == (f"the store: some chunks were left out: {same}",)


def test_values_that_are_wrong_in_one_way_make_one_note() -> None:
    found = reads(GOOD, *(GOOD | {"chunk_index": str(at)} for at in range(9)))
    assert found.notes == (
        "the store: some chunks were left out: 'chunk_index' is not a valid chunk index",
    )


def test_a_chunk_that_shows_another_value_is_never_let_through() -> None:
    among = Among(fields=(("user", "a"),))
    found = reads(GOOD | {"user": "b"}, GOOD | {"user": ["a", "b"]}, among=among)
    assert [chunk.id for chunk in found.chunks] == ["id1"]
    assert found.notes == ("the store does not keep to the filter on 'user': check its name",)


def test_a_value_matches_as_stores_match_it() -> None:
    assert matches("a", "a")
    assert matches(["b", "a"], "a")
    assert matches(2.0, 2)
    assert matches(True, True)
    assert not matches(True, 1)
    assert not matches(1, True)
    assert not matches("1", 1)
    assert not matches(None, "a")


def test_only_what_is_meant_is_kept() -> None:
    other = GOOD | {"parent_id": "e", "title": "E", "content_type": "note"}
    for among in (Among(("e",)), Among(titles=("E",)), Among(content_types=("note",))):
        assert [chunk.document for chunk in reads(GOOD, other, among=among).chunks] == ["e"]
    wanted = read([Record("", GOOD), Record("", other)], PAGES, Among(), "the store", {"e": [2]})
    assert [chunk.document for chunk in wanted.chunks] == ["e"]


def test_a_chunk_with_neither_number_nor_id_cannot_be_told_from_others() -> None:
    bare = {name: value for name, value in GOOD.items() if name != "chunk_index"}
    with pytest.raises(InvalidInputError, match="no chunk index in 'chunk_index'"):
        read([Record("", bare)], PAGES, Among(), "the store")


def test_fields_are_named_in_tuples() -> None:
    with pytest.raises(InvalidSettingError, match="text takes a tuple of names, not 'content'"):
        Fields(text="content")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(InvalidSettingError, match="document takes the name"):
        Fields(document=())
    assert PRESETS["pages"] == Fields()
    assert json.dumps(sorted(PRESETS)) == '["langchain", "llama-index", "pages"]'

"""A citation is what was sent, or it is flagged; and the answer comes through untouched."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets import even, sheet_of
from unchunk.chat.citations import CitationChecker, citations
from unchunk.chat.events import Cited, Token
from unchunk.chat.sent import Sent
from unchunk.retrieval.evidence import Passage, ReconstructedDocument
from unchunk.retrieval.fitting import beginning
from unchunk.retrieval.marking import cited_id
from unchunk.retrieval.reconstruct import assemble

OURS = "1k7gnc5lrb7otv6e"
UUID = "6e7c1a52-6b0e-4f0a-9c53-0d6f2b1f7a11"


def document(
    name: str, hits: Iterable[int] = (1, 2), chosen: Iterable[int] = range(5)
) -> ReconstructedDocument:
    text, spans = even(8)
    sheet = replace(sheet_of(text, spans, name=f"{name}.txt"), document=name)
    return assemble(sheet, chosen, dict.fromkeys(hits, 0.5))


IDS = (OURS, UUID, "x y.pdf", "report.pdf:3", "report.pdf", "a", "2", "we[ir]d, a:1", "a:1]b", " c")
SENT = Sent([document(one) for one in IDS])


def streamed(pieces: Iterable[str], sent: Sent = SENT) -> tuple[str, list[Cited]]:
    """The answer as it came out, with its citations, each where its last character had come."""
    checker = CitationChecker(sent)
    answer, cited = "", []
    for events in (*(checker.feed(piece) for piece in pieces), checker.finish()):
        for event in events:
            if isinstance(event, Token):
                assert event.text
                answer += event.text
            else:
                assert answer[event.at : event.end] == event.text
                assert answer.endswith("]")
                cited.append(event)
    return answer, cited


def brief(text: str, sent: Sent = SENT) -> list[tuple[str, str, int, str]]:
    return [(one.text, one.document, one.chunk_index, one.state) for one in citations(text, sent)]


# What was sent


def test_a_found_chunk_is_cited_and_one_that_came_along_is_context() -> None:
    states = [SENT.resolve(OURS, index).state for index in range(6)]
    assert states == ["context", "cited", "cited", "context", "context", "unknown"]
    assert SENT.resolve("another", 1).state == "unknown"


def test_a_chunk_resolves_to_its_range_pages_headings_and_name() -> None:
    text, spans = even(3)
    sheet = sheet_of(text, [span._replace(heading_path=("Top", "Part")) for span in spans])
    chunk, said = sheet.pieces[1]
    pieces = {**sheet.pieces, 1: sheet.pieces[1]._replace(chunk=chunk._replace(first_page=4))}
    [found] = citations(
        f"So it is [{sheet.document}:1].",
        Sent([assemble(replace(sheet, pieces=pieces), [0, 1], {1: 0.7})]),
    )
    assert (found.name, found.first_page, found.heading_path) == ("report.txt", 4, ("Top", "Part"))
    assert text[found.start : found.text_end] == said


def test_a_chunk_that_was_cut_short_resolves_to_the_part_that_was_sent() -> None:
    text, spans = even(2, length=400)
    sheet = sheet_of(text, spans)
    cut = beginning(sheet, 1, {1: 0.5}, "", lambda one: len(one.full_content) <= 200)
    assert cut is not None
    found = Sent([cut]).resolve(sheet.document, 1)
    assert (found.start, found.end) == (400, 400 + len(cut.passages[0].text))
    assert found.end is not None
    assert found.end < 800


def test_a_hit_that_is_there_because_others_have_its_text_is_cited() -> None:
    text, spans = even(3, length=100, overlap=50)
    shown = assemble(sheet_of(text, spans), [0, 2], {0: 0.9, 1: 0.8})
    assert [one.chunk_index for one in shown.chunks] == [0, 1]
    assert [one.chunk_index for one in shown.passages[0].chunks] == [0, 2]
    found = Sent([shown]).resolve(shown.document, 1)
    assert (found.state, found.start, found.end) == ("cited", 50, 150)


def test_a_hit_whose_text_is_nowhere_is_unknown() -> None:
    shown = document("a", hits=(1,), chosen=(0, 1))
    [passage] = shown.passages
    far = replace(shown, passages=(replace(passage, chunks=(), first_chunk=5, last_chunk=6),))
    assert Sent([far]).resolve("a", 1).state == "unknown"
    changed = replace(shown, passages=(replace(passage, chunks=(), text="other"),))
    assert Sent([changed]).resolve("a", 1).state == "unknown"


def test_a_document_that_was_sent_twice_has_the_chunks_of_both() -> None:
    sent = Sent([document("a", hits=(), chosen=(0, 1)), document("a", hits=(1,), chosen=(1, 2))])
    assert [sent.resolve("a", index).state for index in range(4)] == [
        "context",
        "cited",
        "context",
        "unknown",
    ]


def test_a_chunk_of_a_full_document_that_was_not_found_is_context() -> None:
    whole = replace(document("a", hits=(3,), chosen=range(8)), kind="full document")
    assert Sent([whole]).resolve("a", 0).state == "context"


# What is one


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"[{OURS}:1]", [(f"[{OURS}:1]", OURS, 1, "cited")]),
        (f"[{OURS.upper()}:1]", [(f"[{OURS.upper()}:1]", OURS, 1, "cited")]),
        (f"[{UUID.upper()}: 3 ]", [(f"[{UUID.upper()}: 3 ]", UUID, 3, "context")]),
        (f"end[{OURS}:7](x)", [(f"[{OURS}:7]", OURS, 7, "unknown")]),
        ("[a:1,a:2]", [("a:1", "a", 1, "cited"), ("a:2", "a", 2, "cited")]),
        ("[a:1; x y.pdf:3]", [("a:1", "a", 1, "cited"), ("x y.pdf:3", "x y.pdf", 3, "context")]),
        ("[a:1, 2 & 9]", [("a:1", "a", 1, "cited"), ("2", "a", 2, "cited"), ("9", "a", 9, "unknown")]),
        ("[a:1, 2:2]", [("a:1", "a", 1, "cited"), ("2:2", "2", 2, "cited")]),
        ("[a:1-2]", [("[a:1-2]", "a", 1, "cited"), ("[a:1-2]", "a", 2, "cited")]),
        ("[a:2–1]", [("[a:2–1]", "a", 1, "cited"), ("[a:2–1]", "a", 2, "cited")]),
        ("[a:0, 1 - 2]", [("a:0", "a", 0, "context"), ("1 - 2", "a", 1, "cited"), ("1 - 2", "a", 2, "cited")]),
        ("[a:1][a:2]", [("[a:1]", "a", 1, "cited"), ("[a:2]", "a", 2, "cited")]),
        ("[report.pdf:3]", [("[report.pdf:3]", "report.pdf", 3, "context")]),
        ("[report.pdf:3:1]", [("[report.pdf:3:1]", "report.pdf:3", 1, "cited")]),
        ("[we[ir]d, a:1:2]", [("[we[ir]d, a:1:2]", "we[ir]d, a:1", 2, "cited")]),
        ("[a:1]b:2]", [("[a:1]b:2]", "a:1]b", 2, "cited")]),
        ("[ c:1]", [("[ c:1]", " c", 1, "cited")]),
        ("[ a:1]", [("[ a:1]", "a", 1, "cited")]),
        ("[2:1]", [("[2:1]", "2", 1, "cited")]),
        ("`[a:1]`", [("[a:1]", "a", 1, "cited")]),
        ("[[a:1]]", [("[a:1]", "a", 1, "cited")]),
        ("[a:1, zz:4]", [("a:1", "a", 1, "cited"), ("zz:4", "zz", 4, "unknown")]),
    ],
)  # fmt: skip
def test_what_models_write_is_understood(text: str, found: list[tuple[str, str, int, str]]) -> None:
    assert brief(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "[x:1]",
        "as it says.[x:1]",
        "これは[資料:1]",
        "word[1k7gnc5lrb7otv6f:1]",
        "[1k7gnc5lrb7otv6f: 1](x)",
        "[other.pdf:12]",
        "[a:99]",
    ],
)
def test_an_invented_citation_is_flagged(text: str) -> None:
    [(written, *_, state)] = brief(text)
    assert state == "unknown"
    assert written.startswith("[")


def test_an_invented_one_behind_a_true_one_is_flagged() -> None:
    assert [one[3] for one in brief("[a:1][x:2][y:3]")] == ["cited", "unknown", "unknown"]


@pytest.mark.parametrize(
    "text",
    [
        "[note: 5 items]",
        "[note: 5]",
        "[10:30]",
        "[1:2]",
        "x[i:1]",
        "f(x)[i:1]",
        "m[0][i:1]",
        "[b:1](http://example.org)",
        "[^1]",
        "[^note:1]",
        "[see x y.pdf]",
        "[a]",
        "[a:]",
        "[a:-1]",
        "[a:1:2]",
        "[a:1",
        "[a:\n1]",
        "[a :    1]",
        '["b":1]',
        "[12345678:3]",
        "[a:1234567890123456]",
        "[a:1,]",
        "[]",
        "[:1]",
        "[1, a:1",
        "[::1]:8080",
        f"[{'b' * 201}:1]",
        "[a:1" + ", 1" * 400 + "]",
    ],
)
def test_what_only_looks_like_one_is_text(text: str) -> None:
    assert brief(text) == []


def test_ids_that_differ_only_in_case_are_not_guessed() -> None:
    sent = Sent([document("abc12345"), document("ABC12345")])
    assert [one[1:] for one in brief("[abc12345:1] [Abc12345:1]", sent)] == [
        ("abc12345", 1, "cited"),
        ("Abc12345", 1, "unknown"),
    ]
    assert [one[3] for one in brief("[Report.pdf:1]")] == ["unknown"]


def test_a_wide_range_is_its_sent_chunks_and_one_flag() -> None:
    found = brief("[a:1-999999999999999]")
    assert [one[2:] for one in found] == [
        (1, "cited"),
        (2, "cited"),
        (3, "context"),
        (4, "context"),
        (5, "unknown"),
    ]
    assert [one[2:] for one in brief("[zz:0-5]")] == [(0, "unknown")]


def test_a_range_over_very_much_cites_a_few() -> None:
    text, spans = even(200, length=30)
    whole = assemble(sheet_of(text, spans), range(200), {3: 0.5})
    assert len(brief(f"[{whole.document}:0-199]", Sent([whole]))) == 32


def test_what_a_document_told_the_model_to_cite_is_flagged_and_never_linked() -> None:
    [found] = citations("As I was told, I cite [x:1].", SENT)
    assert (found.state, found.start, found.name) == ("unknown", None, "")


# The stream


def fed(*pieces: str) -> list[list[str]]:
    """What comes out for each piece, as it comes."""
    checker = CitationChecker(SENT)
    out = [[one.text for one in checker.feed(piece)] for piece in pieces]
    return [*out, [one.text for one in checker.finish()]]


def test_text_is_given_out_as_soon_as_it_can_be_no_citation() -> None:
    assert fed("Before [", "see t", "his]") == [["Before "], ["[see t"], ["his]"], []]
    assert fed("[2", ":", "1", "]", " b") == [[], [], [], ["[2:1]", "[2:1]"], [" b"], []]
    assert fed("[x y", ".txt") == [[], ["[x y.txt"], []]
    assert fed("[zz:1]", "(") == [[], ["[zz:1]("], []]
    assert fed("[zz:1]", ")") == [[], ["[zz:1]", "[zz:1]", ")"], []]
    assert fed("[zz:1]") == [[], ["[zz:1]", "[zz:1]"]]
    assert fed("[a:1, 2 -") == [[], ["[a:1, 2 -"]]
    assert fed("[ ") == [[], ["[ "]]


def cut(text: str, places: Sequence[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in pairwise(edges)]


BITS = [
    *"[]:,;&-–( )123ab\nx\u00a0",
    *IDS,
    "[a:1]",
    "[a:",
    ":1",
    f"[{OURS}:",
    ", 2",
    "word",
    "1" * 14,
]


@given(
    st.lists(st.sampled_from(BITS) | st.text(max_size=3), max_size=30).map("".join),
    st.lists(st.integers(0, 10**6), max_size=12),
)
def test_however_it_is_cut_the_answer_and_its_citations_are_the_same(
    text: str, places: list[int]
) -> None:
    whole, cited = streamed([text])
    assert whole == text
    assert streamed(cut(text, places)) == (text, cited)
    assert streamed(text) == (text, cited)


@given(st.text(min_size=1, max_size=40), st.integers(0, 7))
def test_every_chunk_that_was_sent_can_be_cited_whatever_its_document_is_called(
    name: str, index: int
) -> None:
    sent = Sent([document(name, hits=(1,), chosen=range(8))])
    [*_, found] = citations(f"So. [{name}:{index}] ", sent)
    assert (found.document, found.chunk_index) == (name, index)
    assert found.state == ("cited" if index == 1 else "context")


@pytest.mark.parametrize(
    "hostile",
    ["[", "[a", "[a:", "[a:1,", "[x y.pdf", "[x y.pdf:1, ", "[ ", "[we[ir]d", "[a:1-", "[b:1]("],
)
def test_a_hostile_stream_costs_little_and_holds_little_back(hostile: str) -> None:
    text = (hostile * 200_000)[:200_000]
    for size in (1, 7, len(text)):
        checker = CitationChecker(SENT)
        said, longest, begun = 0, 0, time.process_time()
        for at in range(0, len(text), size):
            events = checker.feed(text[at : at + size])
            said += sum(len(one.text) for one in events if isinstance(one, Token))
            longest = max(longest, min(at + size, len(text)) - said)
        said += sum(len(one.text) for one in checker.finish() if isinstance(one, Token))
        assert said == len(text)
        assert longest <= 1000
        assert time.process_time() - begun < 20  # it is about 1; quadratic would be minutes


@pytest.mark.parametrize("endless", ["1", "a", "a:1, ", "a:1-", " "])
def test_a_bracket_that_never_closes_is_given_out(endless: str) -> None:
    text = "[a:1, " + endless * 20_000
    checker = CitationChecker(SENT)
    said = "".join(one.text for one in checker.feed(text))
    assert len(said) >= len(text) - 1000
    assert said + "".join(one.text for one in checker.finish()) == text


def test_a_passage_without_its_chunks_offers_nothing_to_cite() -> None:
    bare = replace(document("a"), chunks=(), passages=(Passage(0, 4, 0, 3, "abc"),))
    assert Sent([bare]).resolve("a", 0).state == "unknown"


def test_an_id_that_would_break_a_citation_is_recognised_as_it_is_written() -> None:
    for odd in ("we[ir]d, a:1", "a:1]b"):
        [one] = citations(f"So it is [{cited_id(odd)}:1].", SENT)
        assert (one.state, one.document) == ("cited", odd)

"""Document 003: which questions are answered from whole documents, and what of them is sent."""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

import unchunk
from adapters.llm.scripted import ScriptedModel, answer
from seed_documents import code_block, needs_documents
from server.houses import House, add, house
from unchunk.cli import main

HOUSE = "The color of the house is green. "
CRANE = "The crane of the harbour lifts six tonnes. "
CHAPTERS = {
    "chapter1.txt": "Mara, the protagonist, begins her journey at the lighthouse of Skagen. ",
    "chapter2.txt": "Mara goes on to the harbour of Bergen and learns to sail there. ",
    "chapter3.txt": "Mara comes home and keeps the lighthouse herself, with her daughter. ",
}
# Its name does not tell what it says, so that only its words find it.
LONG = "logbook.md"
Reply = dict[str, Any]


def filling(length: int, seed: int) -> str:
    """Sentences that answer nothing, no two alike."""
    rng = random.Random(seed)
    words = ["wind", "rope", "sail", "anchor", "gulls", "pass", "north", "under", "salt", "slowly"]
    text = ""
    while len(text) < length:
        said = " ".join(rng.choices(words, k=rng.randint(4, 11)))
        text += f"{said.capitalize()} {rng.randint(0, 10**6)}. "
    return text


def logbook() -> str:
    """Some 60,000 characters: an opening, thirty chapters with one fact in the middle, an ending."""
    parts = ["# The logbook\n\nThis logbook begins with the year 1871.\n\n"]
    for at in range(30):
        fact = f"{CRANE}\n\n" if at == 15 else ""
        parts.append(f"## Month {at}\n\n{filling(900, at)}\n\n{fact}{filling(900, 100 + at)}\n\n")
    return "".join([*parts, "This logbook ends with the storm of 1901."])


TEXTS = {
    **{name: said + filling(700, at) for at, (name, said) in enumerate(CHAPTERS.items(), 40)},
    "story.txt": f"{filling(6_000, 50)}{HOUSE}{filling(6_000, 51)}",
    "tides.txt": f"The tide of the harbour turns at noon. {filling(500, 52)}",
    LONG: logbook(),
    "berths.txt": "\n\n".join(
        f"The mooring fee of berth {at} is {at * 7} crowns. {filling(300, at)}" for at in range(12)
    ),
}


@dataclass
class Talk:
    """A server with these documents, two owners, and a model that says what it is told."""

    house: House
    model: ScriptedModel
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def client(self) -> httpx2.Client:
        return self.house["local"]

    def post(self, path: str, body: Mapping[str, object], owner: str = "local") -> Reply:
        reply = self.house[owner].post(path, json=body)
        assert reply.status_code == 200, reply.text
        found: Reply = reply.json()
        return found

    def retrieve(self, message: str, owner: str = "local", **fields: object) -> Reply:
        return self.post("/api/retrieve", {"message": message, **fields}, owner)

    def chat(self, message: str, said: str = "So it is.", **fields: object) -> Reply:
        self.model.script.append(answer(said))
        return self.post("/api/chat", {"message": message, **fields})

    def follow_up(self, question: str, said: str, **fields: object) -> Reply:
        """A question of a conversation that the client keeps and sends along."""
        messages = [
            {"role": "user", "content": "Who is the main character?"},
            {"role": "assistant", "content": said},
            {"role": "user", "content": question},
        ]
        return self.post("/api/retrieve", {"messages": messages, **fields})

    @property
    def prompt(self) -> str:
        """All that the model was sent with the last question."""
        return json.dumps(self.model.asked[-1].body["messages"], ensure_ascii=False)

    def cite(self, name: str, chunk: int = 0) -> str:
        return f"[{self.ids[name]}:{chunk}]"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with ScriptedModel() as model:
        settings: dict[str, str | float] = {
            "chat": "openai:scripted",
            "chat_url": f"{model.url}/v1",
            "chunk_size": 400,
        }
        folder = tmp_path_factory.mktemp("whole")
        with house(folder, "local", "other", settings=settings) as it:
            made = Talk(it, model)
            for name, text in TEXTS.items():
                made.ids[name] = add(made.client, name, text)
            yield made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in a library without a server."""
    folder = tmp_path_factory.mktemp("alone")
    with unchunk.open(folder / "home", embedder="hashing", chunk_size=400) as library:
        for name, text in TEXTS.items():
            path = folder / name
            path.write_text(text)
            library.add(path)
    return folder / "home"


def kinds(reply: Reply) -> dict[str, str]:
    return {one["name"]: one["kind"] for one in reply["sources"]}


def shown(reply: Reply, name: str) -> str:
    [text] = [one["full_content"] for one in reply["sources"] if one["name"] == name]
    assert isinstance(text, str)
    return text


def without_marks(source: Reply) -> str:
    text: str = source["full_content"]
    for gap in reversed(source["gaps"]):
        text = text[: gap["at"]] + text[gap["end"] :]
    return text


def asked_in_example(line: int) -> list[str]:
    return re.findall(r'^User: "(.*)"', code_block("003", line), re.MULTILINE)


# ---- what a question asks for

WORDS = [
    *("explain", "elaborate", "summarize", "detailed", "full", "summarise"),
    *("throughout", "over time", "progression", "evolution"),
    *("all", "every", "whole", "comprehensive"),
    *("relationship", "arc", "theme", "analysis"),
]


@pytest.mark.statement("003-01", "003-02", "003-03", "003-04", "003-05", "003-45")
@pytest.mark.parametrize("word", WORDS)
def test_a_listed_word_brings_whole_documents_and_is_given_as_the_reason(
    talk: Talk, word: str
) -> None:
    for written in (word, word.upper()):
        found = talk.retrieve(f"{written} the journey of Mara to the lighthouse")
        assert found["plan"]["mode"] == "full documents"
        assert any(written.casefold() in one for one in found["plan"]["reasons"])
        assert "full document" in kinds(found).values()
    assert talk.retrieve("the journey of Mara to the lighthouse")["plan"]["mode"] == "passages"


@pytest.mark.statement("003-06")
@pytest.mark.parametrize(
    "question",
    ["Who finally calls at the small harbour?", "Is wholesale moreover recalled there at all?"],
)
def test_a_part_of_a_word_and_an_idiom_are_no_keyword(talk: Talk, question: str) -> None:
    assert talk.retrieve(question)["plan"]["mode"] == "passages"


# ---- source tags


@pytest.mark.statement("003-07", "003-08", "003-16", "003-17", "003-38", "003-44")
@pytest.mark.parametrize(
    ("question", "rest", "names"),
    [
        ("What happens in Chapter 3? source:story.txt", "What happens in Chapter 3?", "story.txt"),
        ("Compare source:chapter1.txt source:chapter2.txt", "Compare", "chapter1.txt|chapter2.txt"),
        ("Why? source: chapter2.txt", "Why?", "chapter2.txt"),
        ('Why? source:"chapter3.txt"', "Why?", "chapter3.txt"),
        ("Why (source:CHAPTER1.TXT)?", "Why?", "chapter1.txt"),
        ("Explain all of it source:tides", "Explain all of it", "tides.txt"),
    ],
)
def test_tags_bring_their_documents_in_full_and_leave_the_question(
    talk: Talk, question: str, rest: str, names: str
) -> None:
    found = talk.retrieve(question)
    assert found["plan"]["mode"] == "sources"
    assert found["plan"]["question"] == rest
    assert [one["name"] for one in found["sources"]] == names.split("|")
    for one in found["sources"]:
        assert (one["kind"], one["full_content"]) == ("full document", TEXTS[one["name"]])
    talk.chat(question)
    assert "source:" not in talk.prompt
    assert rest in talk.prompt


@pytest.mark.statement("003-20")
def test_a_file_name_in_a_question_is_a_tag_if_one_document_is_called_so(talk: Talk) -> None:
    question = "What does 'Tides.txt' say about noon?"
    found = talk.retrieve(question)
    assert found["plan"]["mode"] == "sources"
    assert found["plan"]["question"] == question
    assert kinds(found) == {"tides.txt": "full document"}
    assert talk.retrieve("What does storms.txt say about noon?")["plan"]["mode"] == "passages"


@pytest.mark.statement("003-07", "003-20")
@pytest.mark.parametrize(
    "question",
    [
        "报告.txt说了什么?",
        "请总结报告.txt的内容",
        "source:报告.txt，说了什么",
        "レポート.txtについて教えて",
    ],
)
def test_a_name_ends_with_its_extension_where_a_script_has_no_blanks(
    tmp_path: Path, question: str
) -> None:
    with unchunk.open(tmp_path / "home", embedder="hashing") as library:
        for name in ("报告.txt", "レポート.txt", "other.txt"):
            (tmp_path / name).write_text(f"港口的收入。 {name}", "utf-8")
            library.add(tmp_path / name)
        evidence = library.retrieve(question)
    assert evidence.plan.mode == "sources"
    [document] = evidence.documents
    assert document.name in question
    assert document.kind == "full document"


@pytest.mark.statement("003-48")
def test_where_a_source_is_not_found_everything_is_searched_and_it_is_said(talk: Talk) -> None:
    found = talk.retrieve("What color is the house? source:storie.txt")
    assert found["plan"]["mode"] == "passages"
    assert "story.txt" in kinds(found)
    assert found["notes"][0].startswith("there is no document 'storie.txt': did you mean story.txt")
    both = talk.retrieve("Compare source:tides.txt source:nowhere.pdf")
    assert [one["name"] for one in both["sources"]] == ["tides.txt"]
    assert both["notes"] == ["there is no document 'nowhere.pdf'"]


# ---- names of files


@pytest.mark.statement("003-12", "003-13", "003-14", "003-15")
def test_a_file_is_found_by_its_name_and_none_is_guessed(tmp_path: Path) -> None:
    with unchunk.open(tmp_path / "home", embedder="hashing") as library:
        for folder, name in (
            ("plans", "Report.txt"),
            ("plans", "report.txt"),
            ("", "annual-report 2020.pdf.txt"),
            ("", "minutes.md"),
        ):
            (tmp_path / name).write_text(f"{name} in {folder}")
            library.add(tmp_path / name, folder=folder)

        def found(name: str) -> list[str]:
            return [card.path for card in library.find_file_by_name(file_name=name)]

        assert found("report.txt") == ["plans/report.txt"]
        assert found("MINUTES.MD") == ["minutes.md"]
        assert found("annual") == ["annual-report 2020.pdf.txt"]
        assert sorted(found("REPORT.txt")) == ["plans/Report.txt", "plans/report.txt"]
        assert found("nowhere.pdf") == []


# ---- how a question is answered


@pytest.mark.statement("003-18", "003-19", "003-21", "003-23")
def test_keywords_bring_what_was_found_and_the_documents_around_it(talk: Talk) -> None:
    found = talk.retrieve("Explain the harbour", full_documents=1)
    [whole, *others] = found["sources"]
    assert whole["kind"] in ("full document", "excerpt")
    assert whole["chunks"], "what was found in it is told"
    assert others
    assert {one["kind"] for one in others} == {"passages"}
    [prompt] = [it["content"] for it in found["prompt"]["messages"] if it["role"] == "user"]
    for one in found["sources"]:
        for passage in one["passages"]:
            assert passage["text"][:100].split("\n")[0] in prompt


@pytest.mark.statement("003-24")
def test_the_three_best_documents_come_whole_however_many_hits_are_in_one(talk: Talk) -> None:
    found = talk.retrieve("Explain the lighthouse, the harbour and Mara")
    whole = [name for name, kind in kinds(found).items() if kind != "passages"]
    assert len(whole) == len(set(whole)) == 3
    best = [one["name"] for one in found["found"]]
    assert set(whole) == set(list(dict.fromkeys(best))[:3])


@pytest.mark.statement("003-22", "003-39", "003-42")
def test_a_targeted_question_reads_passages_and_not_the_documents(talk: Talk) -> None:
    found = talk.retrieve("What color is the house?")
    assert found["plan"]["mode"] == "passages"
    [story] = [one for one in found["sources"] if one["name"] == "story.txt"]
    assert story["kind"] == "passages"
    assert HOUSE.strip() in story["full_content"]
    assert len(story["full_content"]) < len(TEXTS["story.txt"]) / 3


@pytest.mark.statement("003-26")
def test_the_prompt_says_what_is_a_full_document_and_what_an_excerpt(talk: Talk) -> None:
    talk.chat("Compare the pilots in source:tides.txt source:logbook.md")
    assert re.search(r"\[Source: tides\.txt[^]]*, full document, ", talk.prompt)
    assert re.search(r"\[Source: logbook\.md[^]]*, excerpt, ", talk.prompt)
    talk.chat("What color is the house?")
    assert re.search(r"\[Source: story\.txt[^]]*, passages, ", talk.prompt)


# ---- long documents


@pytest.mark.statement("003-25", "003-27", "003-28", "003-47")
def test_a_document_that_does_not_fit_keeps_its_beginning_its_end_its_matches_and_headings(
    talk: Talk,
) -> None:
    found = talk.retrieve("What does the crane lift? source:logbook.md")
    [source] = found["sources"]
    text = TEXTS[LONG]
    assert source["kind"] == "excerpt"
    # The real budget is filled, and not a fixed part of it.
    assert 20_000 <= found["usage"]["context_size"] <= 24_000
    assert source["full_content"].startswith("# The logbook\n\nThis logbook begins")
    assert source["full_content"].endswith("ends with the storm of 1901.")
    assert CRANE.strip() in source["full_content"]
    # Whatever is not there is marked, and the marks are the only thing that is not the text's.
    assert without_marks(source) == "".join(one["text"] for one in source["passages"])
    for one in source["passages"]:
        assert one["text"] == text[one["start"] : one["end"]]
    inside = [one for one in source["gaps"] if "omitted" in source["full_content"][one["at"] :]]
    assert len(inside) == len(source["gaps"]) == len(source["passages"]) - 1
    missing = [f"Month {at}" for at in range(30) if f"## Month {at}\n" not in without_marks(source)]
    assert missing
    assert all(title in source["full_content"] for title in missing)
    [omitted] = found["omitted"]
    assert omitted["name"] == LONG
    covered = {
        at for one in source["passages"] for at in range(one["first_chunk"], one["last_chunk"] + 1)
    }
    left_out = {at for first, last in omitted["chunks"] for at in range(first, last + 1)}
    assert covered | left_out == set(range(source["chunk_count"]))
    assert not covered & left_out


@pytest.mark.statement("003-27", "003-28")
@pytest.mark.parametrize("length", [700, 8_000])
@pytest.mark.parametrize("chunk_size", [400, 3_200, 4_000])
def test_chunks_that_are_large_beside_the_room_lose_neither_the_ends_nor_the_match(
    tmp_path: Path, chunk_size: int, length: int
) -> None:
    text = logbook()
    (tmp_path / LONG).write_text(text)
    with unchunk.open(tmp_path / "home", embedder="hashing", chunk_size=chunk_size) as library:
        library.add(tmp_path / LONG)
        amount = unchunk.Amount(budget=24_000, full_length=length)
        question = "What does the crane of the harbour lift? source:logbook.md"
        evidence = library.retrieve(question, amount=amount)
    [document] = evidence.documents
    opening, *_, ending = document.passages
    assert text.startswith(opening.text)
    assert text.endswith(ending.text)
    best = evidence.found[0].place.chunk_index
    assert best in [one.chunk_index for one in document.chunks]
    assert 0.75 * length <= len(document.full_content) <= length
    assert len(document.gaps) == len(document.passages) - 1
    # With what the marks stand for, it is all of the document.
    shown = {at for one in document.passages for at in range(one.first_chunk, one.last_chunk + 1)}
    told = {at for one in document.gaps for at in range(one.first_chunk, one.last_chunk + 1)}
    assert document.chunk_count == len(shown | told)


@pytest.mark.statement("003-28")
@pytest.mark.parametrize(
    "question",
    ["Summarise this document source:logbook.md", "What is logbook.md about?"],
)
def test_a_summary_needs_the_beginning_and_the_outline_and_no_neighbours_of_the_word(
    talk: Talk, question: str
) -> None:
    [source] = talk.retrieve(question)["sources"]
    assert source["chunks"] == []
    opening, ending = source["passages"]
    assert (opening["first_chunk"], ending["last_chunk"]) == (0, source["chunk_count"] - 1)
    assert len(opening["text"]) > len(ending["text"]) > 4_000
    [gap] = source["gaps"]
    assert gap["headings"]


@pytest.mark.statement("003-27")
def test_one_document_may_take_the_whole_budget_and_several_share_it_by_need(talk: Talk) -> None:
    [alone] = talk.retrieve("What? source:story.txt")["sources"]
    assert (alone["kind"], len(alone["full_content"])) == ("full document", len(TEXTS["story.txt"]))
    found = talk.retrieve("Compare source:logbook.md source:tides.txt source:story.txt")
    assert [one["name"] for one in found["sources"]] == [LONG, "tides.txt", "story.txt"]
    long, short, _ = (len(one["full_content"]) for one in found["sources"])
    assert short == len(TEXTS["tides.txt"])
    assert long > 9_000


@pytest.mark.statement("003-28")
def test_documents_that_fit_alone_but_not_together_have_their_headings_in_the_marks(
    tmp_path: Path,
) -> None:
    names = {"north.md": 30, "south.md": 20}
    with house(tmp_path, "local", settings={"chunk_size": 400}) as it:
        for seed, (name, count) in enumerate(names.items()):
            parts = (f"## Month {at}\n\n{filling(480, 100 * seed + at)}" for at in range(count))
            text = "\n\n".join((f"# The {name}", *parts))
            assert len(text) < 24_000
            add(it["local"], name, text)
        asked = {"message": "Summarise north.md and south.md"}
        sources = it["local"].post("/api/retrieve", json=asked).json()["sources"]
    assert [one["name"] for one in sources] == [*names]
    assert "excerpt" in {one["kind"] for one in sources}
    for one in sources:
        for at in range(names[one["name"]]):
            assert f"Month {at}" in one["full_content"]


@pytest.mark.statement("003-27")
def test_a_model_with_a_small_window_gets_less_and_both_ends_stay(home: Path) -> None:
    def length(window: int) -> int:
        chat = {"chat": "openai:scripted", "chat_url": "http://127.0.0.1:9/v1"}
        with unchunk.open(home, embedder="hashing", chat_window=window, **chat) as library:
            [one] = library.retrieve("What? source:logbook.md").documents
        assert one.full_content.startswith("# The logbook")
        assert one.full_content.endswith("ends with the storm of 1901.")
        return len(one.full_content)

    small, larger = length(3_000), length(5_000)
    assert 2_000 < small < larger < 15_000
    assert 15_000 < length(100_000) <= 24_000


@pytest.mark.statement("003-25", "003-35")
def test_the_length_of_one_document_can_be_set_to_8000_characters(talk: Talk) -> None:
    [source] = talk.retrieve("What? source:logbook.md", full_document_chars=8000)["sources"]
    assert 7_000 <= len(source["full_content"]) <= 8_000
    assert source["full_content"].startswith("# The logbook")
    assert source["full_content"].endswith("ends with the storm of 1901.")
    assert len(source["passages"]) == 2
    [free] = talk.retrieve("What? source:logbook.md", full_document_chars=0)["sources"]
    assert len(free["full_content"]) > 15_000


@pytest.mark.statement("003-43", "003-47")
def test_a_file_of_megabytes_keeps_its_ends_and_the_one_sentence_that_answers(
    tmp_path: Path,
) -> None:
    text = f"{filling(1_000_000, 1)}\n\n{CRANE}\n\n{filling(1_000_000, 2)}"
    (tmp_path / "huge.txt").write_text(text)
    with unchunk.open(tmp_path / "home", embedder="hashing") as library:
        library.add(tmp_path / "huge.txt")
        evidence = library.retrieve("What does the crane lift? source:huge.txt")
        [one] = evidence.documents
        assert one.kind == "excerpt"
        assert 15_000 < len(one.full_content) <= 24_000
        assert one.full_content.startswith(text[:500])
        assert one.full_content.endswith(text[-500:])
        assert CRANE.strip() in one.full_content


# ---- follow-ups


@pytest.mark.statement("003-09", "003-10", "003-32")
@pytest.mark.parametrize(
    "question",
    [
        "Tell me more",
        "Can you also describe it?",
        "What else?",
        "Please continue",
        "Expand on that",
    ],
)
def test_words_that_ask_for_more_escalate_within_a_conversation_alone(
    talk: Talk, question: str
) -> None:
    found = talk.follow_up(question, f"Mara {talk.cite('chapter1.txt')}.")
    assert found["plan"]["follow_up"]
    assert found["plan"]["mode"] == "full documents"
    alone = talk.retrieve(question)
    assert not alone["plan"]["follow_up"]
    assert alone["plan"]["mode"] == "passages"


def _stored(talk: Talk, said: str) -> Reply:
    first = talk.chat("Who is the main character?", said, conversation="new")
    return talk.retrieve("Tell me more about them", conversation=first["conversation"])


def _sent_along(talk: Talk, said: str) -> Reply:
    return talk.follow_up("Tell me more about them", said)


@pytest.mark.statement("003-29", "003-31", "003-46")
@pytest.mark.parametrize("ask", [_stored, _sent_along])
def test_a_follow_up_brings_the_cited_documents_first_and_in_full(
    talk: Talk, ask: Callable[[Talk, str], Reply]
) -> None:
    talk.chat("Who is Mara?")
    said = f"Mara {talk.cite('chapter2.txt')}, as she says {talk.cite('chapter1.txt')}."
    # Only what was sent with a question can be cited in a conversation that is kept here.
    found = ask(talk, said)
    names = [one["name"] for one in found["sources"]]
    assert names[:2] == ["chapter2.txt", "chapter1.txt"]
    for name in names[:2]:
        assert shown(found, name) == TEXTS[name]
    assert set(names[2:]) <= {name for name, kind in kinds(found).items() if kind == "passages"}


@pytest.mark.statement("003-29")
@pytest.mark.parametrize("is_kept", [True, False])
def test_small_talk_between_an_answer_and_a_follow_up_changes_nothing(
    talk: Talk, is_kept: bool
) -> None:
    first, more = "Who is the main character?", "Tell me more about them"
    # It names nothing, although its words are found in other documents.
    thanks = "Under there!"
    said, welcome = f"It is Mara {talk.cite('chapter2.txt')}.", "You are welcome."
    if is_kept:
        conversation = talk.chat(first, said, conversation="new")["conversation"]
        talk.chat(thanks, welcome, conversation=conversation)
        found = talk.retrieve(more, conversation=conversation)
    else:
        turns = [first, said, thanks, welcome, more]
        roles = ["user", "assistant"] * 3
        messages = [{"role": it, "content": text} for it, text in zip(roles, turns, strict=False)]
        found = talk.post("/api/retrieve", {"messages": messages})
    assert found["plan"]["carried"] == [[talk.ids["chapter2.txt"], 0]]
    assert found["sources"][0]["name"] == "chapter2.txt"


@pytest.mark.statement("003-29")
def test_sources_that_are_numbered_below_an_answer_are_citations_too(talk: Talk) -> None:
    found = talk.follow_up(
        "Tell me more about them", "It is Mara [1].\n\nSources:\n[1] chapter3.txt, chunk 0"
    )
    [first, *_] = found["sources"]
    assert (first["name"], first["kind"]) == ("chapter3.txt", "full document")


@pytest.mark.statement("003-29")
def test_what_another_owner_has_and_what_nobody_has_is_not_carried(talk: Talk) -> None:
    said = f"Mara {talk.cite('chapter2.txt')} [0123456789abcdef:0] [10:30]."
    messages = [
        {"role": "user", "content": "Who is the main character?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "Tell me more about them"},
    ]
    mine = talk.post("/api/retrieve", {"messages": messages})
    assert mine["plan"]["carried"] == [[talk.ids["chapter2.txt"], 0]]
    others = talk.post("/api/retrieve", {"messages": messages}, "other")
    assert (others["plan"]["carried"], others["sources"]) == ([], [])
    assert "chapter2" not in json.dumps(others["sources"] + others["notes"])


@pytest.mark.statement("003-29")
def test_the_chat_of_openai_carries_citations_on(talk: Talk) -> None:
    ask = {"role": "user", "content": "Tell me more about them"}
    before = {"role": "user", "content": "Who is the main character?"}
    said = {"role": "assistant", "content": f"It is Mara {talk.cite('chapter3.txt')}."}
    talk.model.script += [answer("Fine."), answer("Fine.")]
    body = {"model": "unchunk", "messages": [before, said, ask]}
    reply = talk.post("/v1/chat/completions", body)
    assert reply["unchunk"]["sources"][0]["name"] == "chapter3.txt"
    assert reply["unchunk"]["sources"][0]["kind"] == "full document"
    reply = talk.post("/v1/responses", {"model": "unchunk", "input": [before, said, ask]})
    assert reply["unchunk"]["sources"][0]["name"] == "chapter3.txt"


@pytest.mark.statement("003-11", "003-40", "003-41")
def test_a_topic_goes_on_from_turn_to_turn_and_ends_with_a_new_one(talk: Talk) -> None:
    said = f"At the lighthouse of Skagen {talk.cite('chapter1.txt')}."
    kept = talk.chat("Where does the journey of Mara begin?", said, conversation="new")
    conversation = kept["conversation"]
    leaning = talk.retrieve("And why does she leave it?", conversation=conversation)
    # It asks a new thing about the same matter: that needs passages.
    assert (leaning["plan"]["follow_up"], leaning["plan"]["mode"]) == (True, "passages")
    assert "Mara" in leaning["plan"]["search_text"]
    assert "chapter1.txt" in kinds(leaning)
    talk.chat(
        "And why does she leave it?",
        f"Nobody knows {talk.cite('chapter1.txt')}.",
        conversation=conversation,
    )
    third = talk.retrieve("Tell me more about it", conversation=conversation)
    assert third["plan"]["mode"] == "full documents"
    assert third["sources"][0]["name"] == "chapter1.txt"
    other = talk.retrieve("When does the tide of the harbour turn?", conversation=conversation)
    assert (other["plan"]["follow_up"], other["plan"]["carried"]) == (False, [])


# ---- the examples of the document


@needs_documents
@pytest.mark.statement("003-16", "003-33")
def test_example_1_a_source_that_is_named(talk: Talk) -> None:
    [question] = asked_in_example(66)
    reply = talk.chat(question)
    assert reply["plan"]["mode"] == "sources"
    assert kinds(reply) == {"chapter1.txt": "full document"}
    assert json.dumps(TEXTS["chapter1.txt"][:300])[1:-1] in talk.prompt


@needs_documents
@pytest.mark.statement("003-34")
def test_example_2_keywords(talk: Talk) -> None:
    [question] = asked_in_example(72)
    reply = talk.chat(question)
    assert reply["plan"]["mode"] == "full documents"
    assert {"explain", "throughout"} <= set(
        re.findall(r'"(\w+)"', " ".join(reply["plan"]["reasons"]))
    )
    assert set(kinds(reply).values()) & {"full document", "excerpt"}


@needs_documents
@pytest.mark.statement("003-31")
@pytest.mark.parametrize("is_kept", [True, False])
def test_example_3_a_follow_up(talk: Talk, is_kept: bool) -> None:
    first, second = asked_in_example(78)
    said = f"It is Mara {talk.cite('chapter1.txt')}."
    if is_kept:
        opened = talk.chat(first, said, conversation="new", full_documents=3)
        reply = talk.chat(second, conversation=opened["conversation"])
    else:
        turns = [(first, "user"), (said, "assistant"), (second, "user")]
        talk.model.script.append(answer("She sails."))
        messages = [{"role": role, "content": text} for text, role in turns]
        reply = talk.post("/api/chat", {"messages": messages})
    assert reply["plan"]["follow_up"]
    assert reply["plan"]["mode"] == "full documents"
    assert "full document" in kinds(reply).values()


@needs_documents
@pytest.mark.statement("003-30")
def test_example_4_a_question_without_any_of_that(talk: Talk) -> None:
    [question] = asked_in_example(86)
    reply = talk.chat(question)
    assert reply["plan"]["mode"] == "passages"
    assert reply["plan"]["reasons"] == []
    assert "green" in talk.prompt


@needs_documents
@pytest.mark.statement("003-36")
def test_tags_go_before_keywords_and_keywords_before_chunks(talk: Talk) -> None:
    assert "source:<filename>" in code_block("003", 93)
    said = f"Mara {talk.cite('chapter2.txt')}."
    for question, mode in (
        ("Explain all of it source:tides.txt", "sources"),
        ("Tell me more source:tides.txt", "sources"),
        ("Explain it", "full documents"),
        ("Tell me more", "full documents"),
        ("Where does she live?", "passages"),
    ):
        assert talk.follow_up(question, said)["plan"]["mode"] == mode


# ---- what can be set


@pytest.mark.statement("003-32", "003-37")
def test_the_word_lists_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCHUNK_DETAIL_WORDS", "erkläre, 要約")
    monkeypatch.setenv("UNCHUNK_FOLLOW_UP_WORDS", "weiter")
    (tmp_path / "a.txt").write_text("Der Hafen von Bergen.")
    with unchunk.open(tmp_path / "home", embedder="hashing") as library:
        library.add(tmp_path / "a.txt")
        history = [unchunk.Turn("user", "Hafen?"), unchunk.Turn("assistant", "Bergen.")]
        for question, mode in (
            ("Erkläre den Hafen", "full documents"),
            ("このハーバーを要約して", "full documents"),
            ("Explain the harbour", "passages"),
            ("Weiter", "full documents"),
            ("Tell me more", "passages"),
        ):
            assert library.retrieve(question, history=history).plan.mode == mode, question


@pytest.mark.statement("003-50", "003-51", "003-35")
def test_chunks_documents_and_lengths_are_fields_of_a_request(talk: Talk) -> None:
    question = "Where is the harbour?"
    for number in (1, 2, 5):
        found = talk.retrieve(question, context_chunks=number)
        assert 1 <= sum(len(one["chunks"]) for one in found["sources"]) <= number
    explain = "Explain the lighthouse, the harbour and Mara"
    for number in (0, 1, 2):
        found = talk.retrieve(explain, full_documents=number, context_chunks=30)
        assert [kind != "passages" for kind in kinds(found).values()].count(True) == number
    talk.model.script.append(answer("Fine."))
    ours = {"full_documents": 1, "full_document_chars": 600, "context_chunks": 4}
    messages = [{"role": "user", "content": explain}]
    body = {"model": "unchunk", "messages": messages, "unchunk": ours}
    [first, *_] = talk.post("/v1/chat/completions", body)["unchunk"]["sources"]
    assert first["kind"] == "excerpt"
    for name, value in (
        ("context_chunks", 0),
        ("full_documents", -1),
        ("full_document_chars", "x"),
    ):
        reply = talk.client.post("/api/retrieve", json={"message": question, name: value})
        assert reply.status_code == 422
        assert name in reply.json()["error"]["message"]


@pytest.mark.statement("003-50", "003-51", "003-35")
def test_chunks_documents_and_lengths_are_settings_and_options(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")

    def search(*options: str) -> list[Reply]:
        explain = "Explain the lighthouse, the harbour and Mara"
        command = ["--home", str(home), "search", "--json", explain, *options]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        documents: list[Reply] = json.loads(result.stdout)["documents"]
        return documents

    def whole(documents: list[Reply]) -> int:
        return sum(one["kind"] != "passages" for one in documents)

    assert whole(search()) == 3
    assert whole(search("--full-documents", "1")) == 1
    assert sum(len(one["chunks"]) for one in search("--chunks", "2")) <= 2
    assert all(len(one["full_content"]) <= 700 for one in search("--full-chars", "700")[:3])
    monkeypatch.setenv("UNCHUNK_FULL_DOCUMENTS", "2")
    monkeypatch.setenv("UNCHUNK_FULL_DOCUMENT_CHARS", "700")
    documents = search()
    assert whole(documents) == 2
    assert all(len(one["full_content"]) <= 700 for one in documents[:2])
    monkeypatch.setenv("UNCHUNK_CONTEXT_CHUNKS", "-1")
    with (
        pytest.raises(unchunk.UnchunkError, match="context_chunks has to be from 0"),
        unchunk.open(home, embedder="hashing") as library,
    ):
        library.documents()


@pytest.mark.statement("003-52")
def test_without_a_number_the_budget_decides_how_many_chunks_there_are(talk: Talk) -> None:
    found = talk.retrieve("What is the mooring fee of each berth?")
    assert sum(len(one["chunks"]) for one in found["sources"]) > 5


# ---- what stays as it was


@pytest.mark.statement("003-49", "003-53", "003-55")
def test_a_call_needs_no_new_argument_and_the_depth_follows_from_the_question(talk: Talk) -> None:
    for question, mode in (
        ("What color is the house?", "passages"),
        ("Explain the house", "full documents"),
        ("What? source:story.txt", "sources"),
    ):
        talk.model.script.append(answer("So."))
        reply = talk.post("/api/chat", {"message": question})
        assert (reply["answer"], reply["plan"]["mode"]) == ("So.", mode)
    turned_off = talk.chat("Explain the house", mode="passages")
    assert kinds(turned_off)["story.txt"] == "passages"


@pytest.mark.statement("003-54")
def test_the_analyzer_is_public_and_knows_nothing_but_the_question_and_its_conversation() -> None:
    analyzer = unchunk.QueryAnalyzer()
    plan = analyzer.analyze("Explain it source:a.txt")
    assert (plan.mode, plan.sources, plan.question) == ("sources", ("a.txt",), "Explain it")
    assert analyzer.analyze("What color is the house?").mode == "passages"

"""What a question asks for: tags, words that ask for more, and what it leans on."""

import csv
import json
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpus import DATA, MISSING
from unchunk.retrieval.english import root
from unchunk.retrieval.query import QueryAnalyzer, QueryPlan, Turn
from unchunk.retrieval.tags import take_tags
from unchunk.retrieval.wording import Words
from unchunk.retrieval.words import inflections

ANALYZER = QueryAnalyzer()
CITED = (("moby", 3), ("moby", 4))
ABOUT_ISHMAEL = (
    Turn("user", "Who is the main character of Moby Dick?"),
    Turn("assistant", "Ishmael tells the story; Ahab drives it.", CITED),
)
TEXT = st.text(max_size=300) | st.text("source:\"'“” ,.()a\n", max_size=60)
TURNS = st.lists(
    st.builds(
        Turn,
        st.sampled_from(["user", "assistant"]),
        TEXT | st.sampled_from(["What is throat cancer?", "Is it treatable?", "and source:a.md?"]),
        st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), max_size=3).map(tuple),
    ),
    max_size=6,
).map(tuple)


def plan(question: str, *history: Turn) -> QueryPlan:
    return ANALYZER.analyze(question, history)


def test_a_targeted_question_asks_for_passages() -> None:
    assert plan("What color is the house?") == QueryPlan(
        "What color is the house?", "What color is the house?", "passages"
    )


def test_a_named_source_is_asked_for_whole_and_leaves_the_question() -> None:
    made = plan("Explain the protagonist's journey source:chapter1.txt")
    assert (made.mode, made.sources) == ("sources", ("chapter1.txt",))
    assert made.question == made.search_text == "Explain the protagonist's journey"
    assert made.reasons == (
        '"source:chapter1.txt" names a document',
        'the word "explain" asks for detail',
    )


def test_a_question_of_tags_alone_asks_for_those_documents() -> None:
    made = plan("source:a.txt", *ABOUT_ISHMAEL)
    assert (made.question, made.search_text, made.mode) == ("", "", "sources")
    assert not made.follow_up


@pytest.mark.parametrize(
    ("text", "rest", "names"),
    [
        ("What happens in Chapter 3? source:story.txt", "What happens in Chapter 3?", "story.txt"),
        ("Compare source:chapter1.txt source:chapter2.txt", "Compare", "chapter1.txt|chapter2.txt"),
        (
            "Compare source:a.txt, source:b.txt and source:c.txt now",
            "Compare now",
            "a.txt|b.txt|c.txt",
        ),
        ("Compare source:a.txt,source:b.txt", "Compare", "a.txt|b.txt"),
        ("Why SOURCE:Story.TXT", "Why", "Story.TXT"),
        ("What happens source:story.txt?", "What happens?", "story.txt"),
        ("source:notes/a.md. What then?", "What then?", "notes/a.md"),
        ("Who? source:v1.2.final.md...", "Who?...", "v1.2.final.md"),
        ('Why source:"my file.txt" here', "Why here", "my file.txt"),
        ("Why source:'it's mine.txt' here", "Why here", "it's mine.txt"),
        ("Why source:“Über uns.pdf”?", "Why?", "Über uns.pdf"),
        ("Why source:„a b“ source:«c d» source:‘e f’", "Why", "a b|c d|e f"),
        ('Why source:"really?"', "Why", "really?"),
        ("Tell me (source:a.txt) why", "Tell me why", "a.txt"),
        ('Tell me (source:"a b") why', "Tell me why", "a b"),
        ("Tell me (see source:a.txt) why", "Tell me (see) why", "a.txt"),
        ("Use `source:a.txt` here", "Use here", "a.txt"),
        ("Why source:report(1) or source:b(2).pdf", "Why", "report(1)|b(2).pdf"),
        ("まとめて source:報告書.pdf。", "まとめて。", "報告書.pdf"),
        ("source:报告.txt，说了什么", "说了什么", "报告.txt"),
        ("请看 source:报告.txt。说了什么？", "请看。 说了什么？", "报告.txt"),
        ("比较 source:甲、乙.txt，source:丙.txt", "比较", "甲、乙.txt|丙.txt"),
        ("source:甲，乙 说了什么", "说了什么", "甲，乙"),
        ("source:a.md why source:b.md source:a.md", "why", "a.md|b.md"),
        ("Why source:e\u0301.md source:\u00e9.md", "Why", "\u00e9.md"),
        ('Why source:"open and more', "Why and more", "open"),
        ("first source:a.md\n\nsecond", "first\n\nsecond", "a.md"),
        ("What is said? source: rules.md", "What is said?", "rules.md"),
        ('Why source: "annual report.pdf"?', "Why?", "annual report.pdf"),
        ("Compare source: a.txt and source: b.txt.", "Compare.", "a.txt|b.txt"),
        ("why source: source:a.md here", "why here", "a.md"),
    ],
)
def test_tags_are_taken_out(text: str, rest: str, names: str) -> None:
    assert take_tags(text) == (rest, tuple(names.split("|")))


@pytest.mark.parametrize(
    "text",
    [
        "resource:x outsource:y",
        "source: foo",
        "His source: Mr. Smith. The source: 3.5 percent, source: e.g. this",
        "Source: https://example.org/a.pdf",
        'a source: "a friend"',
        "What is a source:",
        "--source:foo and -source:foo",
        "http://source:8080/a https://example.org/?source:foo x.source:y",
        "source://host std::source::x source:=1 source::a",
        'source:"" source:-- source:???',
        '{"source":"foo"}',
    ],
)
def test_what_only_looks_like_a_tag_stays_text(text: str) -> None:
    assert take_tags(text) == (text, ())


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Explain the treaty", 'the word "explain" asks for detail'),
        ("Can this be EXPLAINED?", 'the word "explained" asks for detail'),
        ("I need it summarised", 'the word "summarised" asks for detail'),
        ("Summarizing the case", 'the word "summarizing" asks for detail'),
        ("An in-depth look", 'the word "in-depth" asks for detail'),
        ("Look at it in depth", 'the phrase "in depth" asks for detail'),
        ("What changed over\ntime?", 'the phrase "over time" asks what happens over time'),
        ("How did he evolve?", 'the word "evolve" asks what happens over time'),
        ("Name all whales", 'the word "all" asks about the whole'),
        ("The whole crew?", 'the word "whole" asks about the whole'),
        ("Any analyses of it?", 'the word "analyses" asks for analysis'),
        ("What are the themes?", 'the word "themes" asks for analysis'),
    ],
)
def test_a_word_that_asks_for_more_calls_for_full_documents(question: str, reason: str) -> None:
    made = plan(question)
    assert (made.mode, made.reasons) == ("full documents", (reason,))


def test_each_word_is_a_reason_of_its_own() -> None:
    made = plan("Explain, explain the character development throughout the story")
    assert made.reasons == (
        'the word "explain" asks for detail',
        'the word "throughout" asks what happens over time',
    )


@pytest.mark.parametrize(
    "question",
    [
        "What do small shops call them in this helpful search?",
        "Who has a full-time job?",
        "What is the full name of the captain?",
        "Is it any good at all?",
        "How much is whole milk?",
        "Which allergies do wholesalers have?",
    ],
)
def test_a_part_of_a_word_or_an_idiom_asks_for_nothing(question: str) -> None:
    assert plan(question).mode == "passages"


def test_a_listed_word_beside_an_idiom_still_counts() -> None:
    assert plan("Give all full names, all of them").mode == "full documents"


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("explain", {"explains", "explained", "explaining"}),
        ("analyse", {"analyze", "analyzes", "analysing", "analysed"}),
        ("analysis", {"analyses"}),
        ("summary", {"summaries"}),
        ("sketch", {"sketches", "sketched"}),
        ("plan", {"planned", "planning", "plans"}),
        ("elaborate", {"elaborates", "elaborated", "elaborating"}),
    ],
)
def test_words_are_inflected(word: str, forms: set[str]) -> None:
    assert {word} | forms <= inflections(word)


@pytest.mark.parametrize("word", ["all", "more", "über", "to", "24"])
def test_what_has_one_form_is_not_inflected(word: str) -> None:
    assert inflections(word) == {word}


def test_no_default_word_has_another_common_word_among_its_forms() -> None:
    common = {"them", "then", "small", "mores", "arch", "these", "wise", "size", "call", "times"}
    lists = Words()
    listed = lists.detail + lists.temporal + lists.scope + lists.analytical + lists.follow_up
    assert not {form for word in listed for form in inflections(word)} & common


def test_the_lists_can_be_set() -> None:
    analyzer = QueryAnalyzer(Words(detail=("erkläre", "要約", ""), idioms=()))
    assert analyzer.analyze("Erkläre den Vertrag").mode == "full documents"
    assert analyzer.analyze("この文書を要約して").reasons == ('the word "要約" asks for detail',)
    assert analyzer.analyze("Explain the treaty").mode == "passages"
    assert analyzer.analyze("What is his full name? It is whole milk").mode == "full documents"


def test_tell_me_more_about_them_goes_on_with_what_was_cited() -> None:
    made = plan("Tell me more about them", *ABOUT_ISHMAEL)
    assert (made.mode, made.follow_up, made.carried) == ("full documents", True, CITED)
    assert made.reasons[:2] == (
        '"them" refers back to the question before',
        'the phrase "Tell me more" asks for more',
    )
    assert {"Moby", "Dick"} <= set(made.search_text.split())
    assert made.question == "Tell me more about them"


def test_a_follow_up_that_only_refers_back_asks_for_passages() -> None:
    made = plan("Where does he live?", *ABOUT_ISHMAEL)
    assert (made.mode, made.follow_up, made.carried) == ("passages", True, CITED)
    assert made.reasons[0] == '"he" refers back to the question before'


def test_more_of_an_answer_that_cited_nothing_asks_for_full_documents_too() -> None:
    history = (Turn("user", "Who is Ahab?"), Turn("assistant", "A captain."))
    made = plan("Tell me more", *history)
    assert (made.mode, made.follow_up, made.carried) == ("full documents", True, ())
    assert plan("Tell me more", history[0]).mode == "passages"


@pytest.mark.parametrize(
    "question",
    [
        "Also, what is said about shrinkflation and snack companies?",
        "Tell me more about the padlock on the forecastle",
        "No more questions on that. What is the allowance for tax advisory?",
    ],
)
def test_more_of_what_was_not_spoken_of_is_a_new_topic(question: str) -> None:
    made = plan(question, *ABOUT_ISHMAEL)
    assert (made.mode, made.follow_up, made.carried) == ("full documents", False, ())
    assert made.reasons[-1] == "opens a new topic, so the search chooses the documents"


@pytest.mark.parametrize(
    "question",
    [
        "Tell me more about Ahab",
        "Also, how does Ishmael know?",
        "What else did Herman Melville write?",
        "Also, which other whales are hunted?",
    ],
)
def test_more_of_what_was_spoken_of_or_of_what_cannot_be_told_goes_on(question: str) -> None:
    made = plan(question, *ABOUT_ISHMAEL)
    assert (made.mode, made.follow_up, made.carried) == ("full documents", True, CITED)


def test_one_with_a_capital_belongs_to_a_name() -> None:
    assert not plan("How was Kinect upgraded for the Xbox One?", *ABOUT_ISHMAEL).follow_up
    assert plan("Which chapters describe the white one?", *ABOUT_ISHMAEL).follow_up


@pytest.mark.parametrize(
    ("text", "names", "topic"),
    [
        ("Compare", ("a.pdf", "b.pdf"), ""),
        ("What do a.pdf and b.pdf have in common?", ("a.pdf", "b.pdf"), ""),
        ("总结", ("ch01.zh-cn.html",), ""),
        ("Fasse whale.md zusammen", ("whale.md",), ""),
        ("Summarise this document", (), ""),
        ("Give me a short overview of the main points, please", (), ""),
        ("What are the main themes?", (), ""),
        ("What is rules.md about?", ("rules.md",), ""),
        ("Summarise the rules of the harbour", ("harbour-rules.md",), ""),
        ("Summarise the rules of the harbour", ("story.md",), "the rules of the harbour"),
        ("Explain: what does rules.md say of cranes?", ("rules.md",), "what does say of cranes?"),
        # What an analytical word says, a text may say, too.
        (
            "Explain the relationship of Ahab and Ishmael",
            (),
            "the relationship of Ahab and Ishmael",
        ),
        ("What color is the house?", (), "What color is the house?"),
    ],
)
def test_the_topic_is_what_remains_to_be_searched_for(
    text: str, names: tuple[str, ...], topic: str
) -> None:
    assert ANALYZER.topic(text, names) == topic


@given(TEXT, st.lists(st.text(max_size=8), max_size=3))
def test_any_text_has_a_topic_of_its_own_words(text: str, names: list[str]) -> None:
    made = ANALYZER.topic(text, names)
    assert len(made) <= len(text)
    assert made == " ".join(made.split())


def test_what_a_document_is_about_needs_the_whole_of_it() -> None:
    made = plan("What is the story of the harbour about?")
    assert (made.mode, made.reasons) == (
        "full documents",
        ('"What is ... about" asks what it is about',),
    )
    assert plan("What is there to say about cranes?").mode == "passages"


def test_without_a_history_nothing_is_a_follow_up() -> None:
    for question in ("Tell me more about them", "why?", "and in 2021?", "What else?"):
        made = plan(question)
        assert (made.follow_up, made.search_text, made.mode) == (False, question, "passages")


@pytest.mark.parametrize(
    "question",
    [
        "What does it weigh?",
        "What's their speed?",
        "Is that true?",
        "Why did those sink?",
        "Which one is larger?",
        "What about the second?",
        "What about Queequeg?",
        "Why?",
        "And in 2021?",
        "What else?",
        "Okay, go on",
        "Please continue",
        "Could you elaborate?",
        "Interesting. Tell me more.",
        "Can you expand on the ending?",
        "What are the drawbacks?",
        "How does the method you described work?",
    ],
)
def test_a_question_that_leans_on_the_one_before_is_a_follow_up(question: str) -> None:
    assert plan(question, *ABOUT_ISHMAEL).follow_up


@pytest.mark.parametrize(
    "question",
    [
        "What is taurine?",
        "Who wrote the score for Jaws?",
        "Did Melville publish his letters?",
        "If a whale dives, how deep does it go?",
        "Do people love their work?",
        "Is it possible to visit Nantucket in winter?",
        "I heard that the harbour of Boston froze over. When?",
        "Which books that mention whales sold well?",
        "What happened this year in Boston harbour?",
        "Did the sales of whale oil continue to grow?",
        "Are there more than five species of whales?",
        "revenue 2021",
        "鯨の種類は？",
        "How does the main character of the story meet its author?",
    ],
)
def test_a_question_that_stands_alone_is_searched_for_as_it_stands(question: str) -> None:
    made = plan(question, *ABOUT_ISHMAEL)
    assert (made.follow_up, made.search_text, made.carried) == (False, question, ())


def test_a_question_for_more_that_names_its_subject_is_not_completed() -> None:
    made = plan("What else did Herman Melville write?", *ABOUT_ISHMAEL)
    assert (made.follow_up, made.mode, made.carried) == (True, "full documents", CITED)
    assert made.search_text == made.question


def test_a_chain_of_follow_ups_keeps_its_subject() -> None:
    history = [Turn("user", "What is throat cancer?"), Turn("assistant", "A tumour.")]
    for question in ("Is it treatable?", "What does it cost?", "Why?"):
        made = ANALYZER.analyze(question, history)
        assert {"throat", "cancer"} <= set(made.search_text.split())
        history += [Turn("user", question), Turn("assistant", "That depends.")]


def test_a_name_in_the_last_answer_may_be_what_is_meant() -> None:
    history = (
        Turn("user", "Who won?"),
        Turn("assistant", "It was Serena Williams, the favourite."),
    )
    made = plan("How old is she?", *history)
    assert {"Serena", "Williams"} <= set(made.search_text.split())


def test_a_long_question_says_what_it_is_about() -> None:
    assert not plan("What is it with " + "these old ships " * 30, *ABOUT_ISHMAEL).follow_up


def test_a_new_topic_leaves_the_old_one_behind() -> None:
    history = (
        Turn("user", "Who was the captain of the Pequod?"),
        Turn("assistant", "Ahab."),
        Turn("user", "How are sourdough starters fed?"),
        Turn("assistant", "With flour and water."),
    )
    assert set(plan("Can I freeze them?", *history).search_text.split()[4:]) == {
        "sourdough",
        "starters",
        "fed",
    }


def test_small_talk_does_not_lose_the_evidence_but_another_answer_does() -> None:
    thanks = (Turn("user", "Thanks!"), Turn("assistant", "You are welcome."))
    other = (Turn("user", "How deep is Loch Ness?"), Turn("assistant", "I do not know."))
    assert plan("Where does he live?", *ABOUT_ISHMAEL, *thanks).carried == CITED
    assert plan("Where is it?", *ABOUT_ISHMAEL, *other).carried == ()


def test_an_answer_without_a_question_is_no_conversation() -> None:
    greeting = Turn("assistant", "Hello, ask me anything.", CITED)
    assert not plan("What about them?", greeting).follow_up


def test_tags_of_earlier_questions_do_not_come_back() -> None:
    history = (Turn("user", "Who is Ahab? source:secret-plans.txt"), Turn("assistant", "A man."))
    made = plan("What does he want?", *history)
    assert made.search_text == "What does he want? Ahab"
    assert made.sources == ()


def test_roots_join_the_forms_of_a_word() -> None:
    for forms in ("whale whales", "city cities", "stop stops stopped stopping", "class classes"):
        assert len({root(form) for form in forms.split()}) == 1, forms


@given(st.text(max_size=300).filter(lambda text: "source" not in text.casefold()))
def test_a_text_without_tags_loses_nothing_but_outer_space(text: str) -> None:
    assert plan(text).question == text.strip()


@given(TEXT, TURNS)
@example('source source:"a":b', ())
@example('source: source:"a".x', ())
def test_any_text_is_planned_the_same_each_time(text: str, history: tuple[Turn, ...]) -> None:
    made = plan(text, *history)
    assert made == QueryAnalyzer().analyze(text, history)
    assert made.search_text.startswith(made.question)
    assert (made.mode == "sources") == bool(made.sources)
    assert made.follow_up or (made.search_text == made.question and not made.carried)
    assert made.follow_up <= any(turn.role == "user" for turn in history)


@given(TEXT, TURNS)
@example('source source:"a":b', ())
@example('source: source:"a".x', ())
def test_no_tag_is_left_to_search_for(text: str, history: tuple[Turn, ...]) -> None:
    made = plan(text, *history)
    assert take_tags(made.question)[1] == take_tags(made.search_text)[1] == ()


@given(st.lists(st.text("abcé.-_/ 1", min_size=1).filter(lambda t: any(map(str.isalnum, t)))))
def test_quoted_names_come_back_whole_in_their_order(names: list[str]) -> None:
    text = "compare " + " ".join(f'source:"{name.strip()}"' for name in names)
    assert take_tags(text)[1] == tuple(dict.fromkeys(name.strip() for name in names))


def _long_texts() -> Iterator[str]:
    for part in (
        "source:'",
        'source:"a ',
        "source:a,",
        "source:",
        "word ",
        "it ",
        "what is ",
        "more than ",
    ):
        yield part * (1_000_000 // len(part))
    for part in (" ", "a", ")", "all", "that's. ", "\n", "の"):
        yield "source:x" + part * (1_000_000 // len(part)) + " y"


def test_a_megabyte_is_planned_in_seconds() -> None:
    for text in _long_texts():
        started = time.process_time()
        plan(text, Turn("user", text), Turn("assistant", text, CITED))
        assert time.process_time() - started < 10, text[:20]


@pytest.mark.skipif(not DATA.is_dir(), reason=MISSING)
def test_few_ordinary_questions_call_for_full_documents() -> None:
    with (DATA / "chunking_evaluation" / "questions_df.csv").open(encoding="utf-8") as file:
        questions = [row["question"] for row in csv.DictReader(file)]
    with (DATA / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
        questions += [json.loads(line)["text"] for line in file]
    whole = [one for one in questions if plan(one).mode != "passages"]
    assert len(whole) <= 0.08 * len(questions)


@pytest.mark.skipif(not DATA.is_dir(), reason=MISSING)
def test_most_real_follow_ups_are_seen_and_few_rewritten_ones() -> None:
    path = DATA / "cast" / "2020" / "automatic_evaluation_topics_annotated_v1.1.json"
    seen = rewritten = total = 0
    for topic in json.loads(path.read_text("utf-8")):
        history: list[Turn] = []
        for turn in topic["turn"]:
            asked, stands = turn["raw_utterance"], turn.get("manual_rewritten_utterance")
            if history and stands and asked != stands:
                total += 1
                seen += ANALYZER.analyze(asked, history).follow_up
                rewritten += ANALYZER.analyze(stands, history).follow_up
            history.append(Turn("user", asked))
    assert total > 150
    assert seen >= 0.65 * total
    assert rewritten <= 0.15 * total

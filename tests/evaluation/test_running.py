"""Small sets asked through the engine itself, with figures known by hand."""

from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path

import pytest

from adapters.embed.provider import Provider, provider, refuse
from evaluation import small_sets
from evaluation.small_sets import BERTH
from homes import Home
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.evaluation.comparing import Row, compare
from unchunk.evaluation.questions import QuestionSet
from unchunk.evaluation.running import TOKENS, Asked, Figures, alone, ask, fill, names
from unchunk.evaluation.sets import read_set


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def asked(home: Home, some: QuestionSet) -> Asked:
    async def work(engine: Engine) -> Asked:
        filled = await fill(engine, some)
        assert filled.failed == ()
        return await ask(engine, some, filled.ids)

    return home.run(work)


def values(answers: Asked) -> list[Mapping[str, float]]:
    assert all(one.found and not one.duplicated for one in answers.figures)
    return [one.values for one in answers.figures]


def test_a_ranking_is_measured_document_by_document(home: Home, tmp_path: Path) -> None:
    first, second = values(asked(home, read_set(small_sets.beir(tmp_path / "set"))))
    assert first == {"nDCG@10": 1, "MRR@10": 1, "recall@3": 1, "recall@10": 1}
    # The lamps share no word with the question, and are not shown.
    assert second["nDCG@10"] == pytest.approx(1 / (1 + 1 / log2(3)))
    assert (second["MRR@10"], second["recall@3"], second["recall@10"]) == (1, 0.5, 0.5)


def test_links_are_names_of_documents(home: Home, tmp_path: Path) -> None:
    [only] = values(asked(home, read_set(small_sets.anthropic_docs(tmp_path / "set"))))
    assert only["MRR@10"] == 1


def test_characters_are_measured_at_every_budget(home: Home, tmp_path: Path) -> None:
    answers = asked(home, read_set(small_sets.chunking_evaluation(tmp_path / "set")))
    first, second = values(answers)
    for budget in TOKENS:
        assert first[f"recall at {budget} tokens"] == 1
        # All of the text and its line end is shown, of which 40 characters are quoted.
        assert first[f"precision at {budget} tokens"] == 40 / (len(BERTH) + 1)
        assert first[f"IoU at {budget} tokens"] == 40 / (len(BERTH) + 1)
        assert second[f"IoU at {budget} tokens"] == 1
    assert all(
        0 < used <= budget
        for one in answers.figures
        for used, budget in zip(one.tokens, TOKENS, strict=True)
    )


def test_pages_are_found_where_their_passages_are(home: Home, tmp_path: Path) -> None:
    [only] = values(asked(home, read_set(small_sets.financebench(tmp_path / "set"))))
    assert only == {f"page recall at {budget} tokens": 1 for budget in TOKENS}


def test_a_follow_up_is_asked_with_the_conversation_before_it(home: Home, tmp_path: Path) -> None:
    some = read_set(small_sets.inscit(tmp_path / "set"))
    _, follow_up, _ = values(asked(home, some))
    assert follow_up["MRR@10"] == 1
    assert all(not question.history for question in alone(some).questions)
    assert [one.text for one in alone(some).questions] == [one.text for one in some.questions]


def test_a_second_run_embeds_nothing(home: Home, tmp_path: Path) -> None:
    some = read_set(small_sets.beir(tmp_path / "set"))

    async def work(engine: Engine) -> Mapping[str, int]:
        return (await fill(engine, some)).counters

    assert home.run(work)["embedding_calls"] >= 1
    assert home.run(work).get("embedding_calls", 0) == 0


def test_what_was_asked_is_told_as_it_goes_on(home: Home, tmp_path: Path) -> None:
    some = read_set(small_sets.beir(tmp_path / "set"))
    told: list[object] = []

    async def work(engine: Engine) -> None:
        filled = await fill(engine, some, lambda event: told.append(event.stage), told.append)
        await ask(engine, some, filled.ids, lambda *step: told.append(step))

    home.run(work)
    assert told[0] == 3
    assert told.count("done") == 3
    assert told[-2:] == [(1, 2), (2, 2)]


def test_a_document_without_text_is_told_and_the_rest_is_measured(
    home: Home, tmp_path: Path
) -> None:
    folder = small_sets.financebench(tmp_path / "set")
    (folder / "pdfs" / "EMPTY_2021.pdf").write_bytes(b"")

    async def work(engine: Engine) -> tuple[str, ...]:
        return (await fill(engine, read_set(folder))).failed

    assert home.run(work) == ("EMPTY_2021: it has no bytes",)


def test_a_home_of_other_documents_is_left_as_it_is(home: Home, tmp_path: Path) -> None:
    some = read_set(small_sets.beir(tmp_path / "set"))
    mine = home.file("mine.md", "My own notes.")

    async def work(engine: Engine) -> int:
        await engine.add(mine)
        with pytest.raises(InvalidInputError, match=r"1 documents that .* such as 'mine\.md'"):
            await fill(engine, some)
        return len(await engine.documents())

    assert home.run(work) == 1


def test_a_text_that_changes_as_it_comes_in_is_refused(home: Home, tmp_path: Path) -> None:
    folder = small_sets.chunking_evaluation(tmp_path / "set")
    path = folder / "corpora" / "bread.md"
    some = read_set(folder)
    marked = {**some.documents, "bread": "\ufeff" + path.read_text()}
    changed = QuestionSet("set", some.layout, some.kind, marked, some.questions)

    async def work(engine: Engine) -> None:
        with pytest.raises(InvalidInputError, match="text of bread is not the same"):
            await fill(engine, changed)

    home.run(work)


def test_a_set_that_cannot_be_embedded_is_not_measured(home: Home, tmp_path: Path) -> None:
    some = read_set(small_sets.beir(tmp_path / "set"))

    async def work(engine: Engine) -> None:
        with pytest.raises(ProviderUnavailableError, match="3 documents of the set could not"):
            await fill(engine, some)

    with provider() as server:
        home.run(Engine.documents, **remote(server))
        server.plan.extend([refuse(503, {})] * 100)
        home.run(work, embedder_patience=0.01, **remote(server))


@pytest.mark.parametrize("layout", [small_sets.beir, small_sets.chunking_evaluation])
def test_an_embedder_that_is_down_while_questions_are_asked_is_told(
    layout: Callable[[Path], Path], home: Home, tmp_path: Path
) -> None:
    some = read_set(layout(tmp_path / "set"))

    async def work(engine: Engine) -> Asked:
        filled = await fill(engine, some)
        server.plan.extend([refuse(401, {})] * 1000)
        return await ask(engine, some, filled.ids)

    with provider() as server:
        answers = home.run(work, **remote(server))
    assert "searched by words only" in answers.notes[0]


def remote(server: Provider) -> dict[str, str | float]:
    return {"embedder": "openai:m", "embedder_url": f"{server.url}/v1"}


def test_every_document_gets_a_name_that_a_file_can_have() -> None:
    odd = ["a/b", "A/B", "..", ".hidden", " ", "x" * 400, "x" * 401, "é?*", "https://a.b/c#d"]
    found = names(dict.fromkeys(odd, "text"))
    assert list(found.values()) == odd
    assert len({name.casefold() for name in found}) == len(odd)
    for name in found:
        assert len(name.encode()) < 255
        assert "/" not in name
        assert not name.startswith((".", " "))
        assert name.endswith(".md")
    assert "https%3A%2F%2Fa.b%2Fc%23d.md" in found


def test_ways_are_compared_with_the_first_question_by_question() -> None:
    def of(*figures: float) -> list[Figures]:
        return [Figures({"recall": one}, found=True, duplicated=0) for one in figures]

    first, second = compare({"as set": of(1, 1, 1), "other": of(0, 0, 0)})
    assert first == Row("recall", "as set", 1, 1, 1, None)
    assert second == Row("recall", "other", 0, 0, 0, 2 / 8)

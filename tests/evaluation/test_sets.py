"""What is read of a set, and what is said of one that cannot be read."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus import DATA, MISSING
from evaluation import small_sets
from evaluation.small_sets import BERTH, BREAD, LAMPS
from unchunk.errors import InvalidInputError
from unchunk.evaluation.questions import Question, QuestionSet, Range, markdown
from unchunk.evaluation.sets import LAYOUTS, read_set
from unchunk.retrieval.query import Turn

EVERY = {
    "BEIR": small_sets.beir,
    "chunking_evaluation": small_sets.chunking_evaluation,
    "anthropic_docs": small_sets.anthropic_docs,
    "INSCIT": small_sets.inscit,
    "FinanceBench": small_sets.financebench,
}


@pytest.mark.parametrize("name", EVERY)
def test_a_set_is_recognised_by_its_files(name: str, tmp_path: Path) -> None:
    found = read_set(EVERY[name](tmp_path / "set"))
    assert (found.layout, found.name) == (name, "set")
    assert set(EVERY) == {layout.name for layout in LAYOUTS}


def test_beir_has_documents_under_their_titles_and_the_judgements_of_its_test(
    tmp_path: Path,
) -> None:
    found = read_set(small_sets.beir(tmp_path / "set"))
    assert found.documents == {
        "berth": f"# Berths\n\n{BERTH}\n",
        "lamps": f"{LAMPS}\n",
        "bread/1": f"{BREAD}\n",
    }
    assert [one.grades for one in found.questions] == [{"berth": 1}, {"bread/1": 1, "lamps": 1}]
    assert found.notes == ("of the judgements, those of test.tsv",)


def test_beir_without_a_test_has_all_its_judgements(tmp_path: Path) -> None:
    folder = small_sets.beir(tmp_path / "set")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    found = read_set(folder)
    assert len(found.questions) == 3
    assert found.notes == ()


def test_ranges_count_the_characters_of_a_text_with_plain_line_ends(tmp_path: Path) -> None:
    found = read_set(small_sets.chunking_evaluation(tmp_path / "set"))
    assert found.kind == "characters"
    assert found.documents["berth"] == f"{BERTH}\n"
    assert found.questions[0].ranges == (Range("berth", 0, 40),)
    assert found.notes == (
        "1 documents that answer are not there",
        "1 of 3 questions are left out: nothing here answers them",
    )


def test_a_section_has_its_heading_once(tmp_path: Path) -> None:
    found = read_set(small_sets.anthropic_docs(tmp_path / "set"))
    assert found.documents["https://docs.example/en/bakery"] == f"# bakery\n\n{BREAD}\n"
    [question] = found.questions
    assert question.grades == {"https://docs.example/en/harbour#lamps": 1}


def test_turns_have_the_conversation_before_them_and_idle_ones_are_no_questions(
    tmp_path: Path,
) -> None:
    found = read_set(small_sets.inscit(tmp_path / "set"))
    assert found.documents["Lamps:2"] == f"# Port\n\n## Lamps:2\n\n{LAMPS}\n"
    first, second, other = found.questions
    assert (first.history, other.history) == ((), ())
    assert second.text == "How often are they trimmed?"
    assert second.history == (Turn("user", first.text), Turn("assistant", "The keeper."))


def test_pages_count_from_one(tmp_path: Path) -> None:
    found = read_set(small_sets.financebench(tmp_path / "set"))
    assert found.kind == "pages"
    [question] = found.questions
    assert question.ranges == (Range("PORT_2022", 2, 3),)


def test_a_sample_is_from_all_over_the_set() -> None:
    every = tuple(Question(str(at), {"a": 1}) for at in range(10))
    one = QuestionSet("set", "BEIR", "documents", {"a": ""}, every)
    assert [it.text for it in one.sample(3).questions] == ["0", "3", "6"]
    assert one.sample(3).notes == ("3 of 10 questions are asked",)
    assert one.sample(10) is one.sample(None) is one


def test_titles_are_one_line_each() -> None:
    assert markdown(["A\nB", " "], "text") == "# A B\n\ntext\n"


def cut(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[:-8])

    return damage


def put(name: str, content: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content.encode(errors="surrogateescape"))

    return damage


HEAD = "question,references,corpus_id\n"
QUOTED = '"[{""content"": ""no"", ""start_index"": 0, ""end_index"": 2}]"'


@pytest.mark.parametrize(
    ("layout", "damage", "says"),
    [
        ("BEIR", cut("corpus.jsonl"), "corpus.jsonl, line 3 is damaged"),
        ("BEIR", put("queries.jsonl", "[]"), "queries.jsonl, line 1 is not what is expected"),
        ("BEIR", put("queries.jsonl", '{"_id": 7}'), "line 1: '_id' is missing, or no str"),
        ("BEIR", put("queries.jsonl", '{"_id": "q"}'), "line 1: 'text' is missing, or no str"),
        ("BEIR", put("queries.jsonl", ""), "test.tsv, line 2: queries.jsonl has no query 'q1'"),
        ("BEIR", put("qrels/test.tsv", "q1\tberth\t1"), "test.tsv: there is no column 'query-id'"),
        ("BEIR", put("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1"), "line 2 is cut short"),
        (
            "BEIR",
            put("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tberth\tgood"),
            "'good' is not a grade",
        ),
        (
            "BEIR",
            put("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tgone\t1"),
            "has no question that a document of it answers",
        ),
        ("BEIR", put("corpus.jsonl", "\udcff"), "corpus.jsonl is damaged: it is not UTF-8"),
        ("chunking_evaluation", put("questions_df.csv", HEAD + "q,[,berth\n"), "line 2 is damaged"),
        (
            "chunking_evaluation",
            put("questions_df.csv", HEAD + f"q,{QUOTED},berth\n"),
            "characters 0 to 2 of berth.md are not what is quoted",
        ),
        (
            "chunking_evaluation",
            put("questions_df.csv", HEAD + "x" * (1 << 18)),
            "questions_df.csv, line 1: field larger than field limit",
        ),
        ("anthropic_docs", put("anthropic_docs.json", "[1]"), "section 1: 'chunk_heading'"),
        ("anthropic_docs", cut("docs_evaluation_dataset.json"), "dataset.json is damaged"),
        ("INSCIT", put("dev.json", '{"t": {}}'), "dev.json, t: 'turns' is missing"),
        ("INSCIT", put("dev.json", '{"t": {"turns": [{}]}}'), "turn 1: 'labels' is missing"),
        (
            "FinanceBench",
            put("data/financebench_open_source.jsonl", '{"evidence": [{}]}'),
            "line 1: 'evidence_page_num' is missing, or no int",
        ),
    ],
)
def test_a_damaged_set_is_told_with_the_place(
    layout: str, damage: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    folder = EVERY[layout](tmp_path / "set")
    damage(folder)
    with pytest.raises(InvalidInputError) as error:
        read_set(folder)
    assert says in str(error.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = small_sets.inscit(tmp_path / "set")
    (folder / "dev.json").unlink()
    (folder / "dev.json").mkdir()
    with pytest.raises(InvalidInputError, match=r"dev\.json cannot be read"):
        read_set(folder)


def test_an_unknown_folder_is_told_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_set(tmp_path)
    for layout in LAYOUTS:
        assert f"{layout.name} ({', '.join(layout.files)})" in str(error.value)
    with pytest.raises(InvalidInputError, match="is not a folder"):
        read_set(tmp_path / "none")


def test_a_set_that_lacks_a_part_is_told_which(tmp_path: Path) -> None:
    folder = small_sets.beir(tmp_path / "set")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InvalidInputError, match=r"like BEIR, but there is no queries\.jsonl"):
        read_set(folder)


@pytest.mark.skipif(not (DATA / "scifact").is_dir(), reason=MISSING)
def test_scifact_is_read_whole() -> None:
    found = read_set(DATA / "scifact")
    assert (found.layout, len(found.documents), len(found.questions)) == ("BEIR", 5183, 300)
    assert sum(len(one.grades) for one in found.questions) == 339
    assert str(found.documents["4983"]).startswith("# Microstructural development of human newborn")
    assert found.notes == ()


@pytest.mark.skipif(not (DATA / "chunking_evaluation").is_dir(), reason=MISSING)
def test_the_real_questions_with_ranges_are_read() -> None:
    folder = DATA / "chunking_evaluation"
    with (folder / "questions_df.csv").open(encoding="utf-8") as file:
        rows = sum(1 for _ in csv.DictReader(file))
    found = read_set(folder)
    assert rows >= len(found.questions) > 200
    assert all(one.ranges for one in found.questions)


@pytest.mark.skipif(not (DATA / "financebench").is_dir(), reason=MISSING)
def test_the_real_filings_are_read() -> None:
    found = read_set(DATA / "financebench")
    assert len(found.questions) == 62
    assert len(found.documents) >= 24

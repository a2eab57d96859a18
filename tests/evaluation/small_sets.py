"""A set in every layout, so small that its figures can be worked out by hand."""

import csv
import json
from pathlib import Path

from adapters.extract.making import pdf

BERTH = "The berth is free from noon until the evening tide, says the harbour master."
LAMPS = "Lamps of the lighthouse burn whale oil and are trimmed every night by the keeper."
BREAD = "Bakers knead dough before sunrise so that warm bread is sold at seven."


def lines(path: Path, *records: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")


def beir(folder: Path) -> Path:
    """The second claim has two documents that answer it, of which only one has its words."""
    lines(
        folder / "corpus.jsonl",
        {"_id": "berth", "title": "Berths", "text": BERTH},
        {"_id": "lamps", "title": "", "text": LAMPS},
        {"_id": "bread/1", "text": BREAD, "metadata": {}},
    )
    lines(
        folder / "queries.jsonl",
        {"_id": "q1", "text": "When is the berth free from noon until the evening tide?"},
        {"_id": "q2", "text": "Bakers knead dough before sunrise"},
        {"_id": "q3", "text": "Nobody judged this one"},
    )
    judged = ["query-id\tcorpus-id\tscore", "q1\tberth\t1", "q1\tlamps\t0"]
    judged += ["q2\tbread/1\t1", "q2\tlamps\t1"]
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n")
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq3\tlamps\t1\n")
    return folder


def chunking_evaluation(folder: Path) -> Path:
    """Short texts, of which each comes back whole; of the first, half is quoted."""
    (folder / "corpora").mkdir(parents=True)
    (folder / "corpora" / "berth.md").write_bytes(f"{BERTH}\r\n".encode())
    (folder / "corpora" / "bread.md").write_text(BREAD)
    with (folder / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "references", "corpus_id"])
        for question, corpus, quoted in (
            ("When is the berth free from noon until the evening tide?", "berth", BERTH[:40]),
            ("Which dough do bakers knead before sunrise?", "bread", BREAD),
            ("What is in a text that is not there?", "absent", "nothing"),
        ):
            said = {"content": quoted, "start_index": 0, "end_index": len(quoted)}
            writer.writerow([question, json.dumps([said]), corpus])
    return folder


def anthropic_docs(folder: Path) -> Path:
    """Sections begin with their own headings, and are called by their links."""
    folder.mkdir(parents=True)
    sections = {"harbour#berths": BERTH, "harbour#lamps": LAMPS, "bakery": BREAD}
    link = "https://docs.example/en/"
    lines(
        folder / "anthropic_docs.json",
        [
            {"chunk_link": link + name, "chunk_heading": name, "text": f"{name}\n\n\n{text}"}
            for name, text in sections.items()
        ],
    )
    lines(
        folder / "docs_evaluation_dataset.json",
        [
            {
                "id": "1",
                "question": "Who trims the lamps of the lighthouse every night?",
                "correct_chunks": [f"{link}harbour#lamps"],
                "correct_answer": "The keeper.",
            }
        ],
    )
    return folder


def inscit(folder: Path) -> Path:
    """A conversation of two turns, the second of which cannot stand alone; a third is idle."""

    def turn(right: str, text: str, *said: str) -> dict[str, object]:
        evidence = {"passage_id": right, "passage_titles": ["Port", right], "passage_text": text}
        return {"context": said, "labels": [{"evidence": [evidence] if right else []}]}

    asked = "Who burns whale oil in the lamps of the lighthouse?"
    turns = [
        turn("Lamps:2", LAMPS, asked),
        turn("Lamps:2", LAMPS, asked, "The keeper.", "How often are they trimmed?"),
        turn("", "", asked, "The keeper.", "How often?", "Every night.", "Thanks!"),
    ]
    folder.mkdir(parents=True)
    talks = {"talk": {"turns": turns}, "other": {"turns": [turn("Berth:1", BERTH, "Berths?")]}}
    lines(folder / "dev.json", talks)
    return folder


def financebench(folder: Path) -> Path:
    """Of the filing, the second page answers, which counts as 1; one filing is not there."""
    (folder / "pdfs").mkdir(parents=True)
    (folder / "pdfs" / "PORT_2022.pdf").write_bytes(pdf([BREAD, BERTH, LAMPS]))
    lines(
        folder / "data" / "financebench_open_source.jsonl",
        {
            "question": "When is the berth free from noon until the evening tide?",
            "evidence": [{"doc_name": "PORT_2022", "evidence_page_num": 1}],
        },
        {
            "question": "What is in a filing that is not there?",
            "evidence": [{"doc_name": "ABSENT_2022", "evidence_page_num": 0}],
        },
    )
    return folder

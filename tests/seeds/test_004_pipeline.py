"""Document 004, the pipeline from a file to an answer, through the Python API and a server."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import chromadb
import httpx2
import pytest
from playwright.sync_api import expect
from websockets.sync.client import connect

import unchunk
from adapters.embed.provider import Provider, provider, refuse
from adapters.extract.making import docx, paragraph, pdf
from adapters.llm.scripted import ScriptedModel
from adapters.rerank import rerank_server
from adapters.sources.stores import Chunkenizer, chunkenizer
from page.browsing import CHROMIUM, chromium, visiting
from page.running import Running
from seed_documents import code_block, needs_documents
from server.scripted import eventually, parsed, serving
from servers import qdrant
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.settings import load
from unchunk.wiring import open_engine

RULES = """# Rules of the harbour

## Fees

A night in the harbour costs 22 euros for a vessel of up to twelve metres.

## Crane

The crane lifts six tonnes and is worked by the harbour master alone.
"""
PAGES = ["The lamp was lit in 1871.", "Its keeper burned colza oil for nine years."]
TABLE = "berth,length\nnorth quay,twelve metres\nsouth quay,twenty metres\n"
OLD = "The moorings are inspected by two divers in spring, within six hours of the ebb tide."
NIGHT = "What does a night in the harbour cost?"
DIVERS = "Within how many hours of the ebb are the moorings inspected by divers?"


def library(home: Path, **settings: Any) -> Any:  # noqa: ANN401 - typed by a later issue
    return unchunk.open(home, **{"embedder": "hashing", **settings})


def written(folder: Path, **files: str | bytes) -> list[Path]:
    """Files whose names have a dot where these have two underscores."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name, content in files.items():
        paths.append(folder / name.replace("__", "."))
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


class Service:
    """A served library, as it is from outside, and the model that it asks."""

    def __init__(self, url: str, home: Path, model: ScriptedModel) -> None:
        self.url, self.home, self.model = url, home, model
        self.client = httpx2.Client(base_url=url, timeout=60)

    def add(self, name: str, content: bytes, **form: str) -> dict[str, Any]:
        reply = self.client.post("/api/documents", files={"file": (name, content)}, data=form)
        assert reply.status_code < 500, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def remove(self, *documents: str) -> None:
        for document in documents:
            assert self.client.delete(f"/api/documents/{document}").status_code < 300

    def ask(self, message: str, **more: object) -> dict[str, Any]:
        reply = self.client.post("/api/chat", json={"message": message, **more})
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    @property
    def documents(self) -> dict[str, dict[str, Any]]:
        listed = self.client.get("/api/documents").json()
        return {one["name"]: one for one in listed["documents"]}

    @property
    def sent(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.model.asked[-1].body["messages"]
        return messages

    def counted(self, event: str) -> float:
        lines = self.client.get("/metrics").text.splitlines()
        found = [it.split()[-1] for it in lines if f'event="{event}"' in it]
        return float(found[0]) if found else 0.0


@contextmanager
def service(home: Path, **settings: str | float) -> Iterator[Service]:
    with ExitStack() as stack:
        model = stack.enter_context(ScriptedModel())
        chosen: dict[str, str | float] = {
            "embedder": "hashing",
            "chat": "openai:scripted",
            "chat_url": f"{model.url}/v1",
            **settings,
        }
        loaded = load(home, {}, **chosen)
        served = stack.enter_context(serving(lambda: open_engine(loaded)))
        running = Service(served.url, home, model)
        stack.enter_context(running.client)
        yield running


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("004") / "home", max_bytes=200_000) as running:
        running.add("rules.md", RULES.encode(), folder="port")
        running.add("lamp.pdf", pdf(PAGES), folder="port")
        running.add("berths.csv", TABLE.encode())
        running.add("notes.txt", "Käse gibt es im Hafen am Kai.".encode())
        running.add("letter.docx", docx(paragraph("The pilot Maren boards at the outer buoy.")))
        yield running


# Ingestion


@pytest.mark.statement("004-01", "004-02", "004-06")
@pytest.mark.parametrize(
    ("name", "question", "said"),
    [
        ("rules.md", NIGHT, "22 euros"),
        ("lamp.pdf", "What did the keeper burn?", "colza oil"),
        ("notes.txt", "Wo gibt es Käse im Hafen?", "Käse gibt es"),
        ("berths.csv", "How long is the south quay berth?", "twenty metres"),
        ("letter.docx", "Where does the pilot Maren board?", "outer buoy"),
    ],
)
def test_a_file_of_each_kind_is_uploaded_and_answers_questions(
    harbour: Service, name: str, question: str, said: str
) -> None:
    found = harbour.ask(question)
    [source] = [one for one in found["sources"] if one["name"] == name]
    assert said in json.dumps(source["passages"], ensure_ascii=False)
    assert said in str(harbour.sent[-1]["content"])


@pytest.mark.statement("004-03")
def test_what_a_file_is_is_told_from_its_content_and_large_ones_are_refused(
    harbour: Service,
) -> None:
    page = pdf(["A page in disguise."])
    added = harbour.add("disguised", page)
    assert added["document"]["content_type"] == "application/pdf"
    refused = harbour.add("disguised.txt", page)
    assert refused["error"]["type"] == "mismatch"
    harbour.remove(added["document_id"], harbour.documents["disguised.txt"]["id"])
    reply = harbour.client.post("/api/documents", files={"file": ("big.txt", b"x" * 200_001)})
    assert reply.status_code == 413
    big = harbour.documents["big.txt"]
    assert (big["state"], big["chunk_count"]) == ("failed", 0)
    harbour.remove(big["id"])


@pytest.mark.statement("004-03")
def test_the_server_command_refuses_a_file_that_is_too_large(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unchunk", "serve", "--port", "0", "--no-sample", "--json"]
    kept = {name: it for name, it in os.environ.items() if not name.startswith("UNCHUNK_")}
    chosen = {"HOME": str(tmp_path / "home"), "EMBEDDER": "hashing", "MAX_BYTES": "2000"}
    settings = {f"UNCHUNK_{name}": it for name, it in chosen.items()}
    with subprocess.Popen(
        command, cwd=tmp_path, env={**kept, **settings}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            for size, is_refused in ((2_000, False), (2_001, True), (3_000_000, True)):
                file = (f"{size}.txt", b"x" * size)
                reply = httpx2.post(f"{url}/api/documents", files={"file": file}, timeout=60)
                assert (reply.status_code == 413) == is_refused, reply.text
            listed = httpx2.get(f"{url}/api/documents").json()["documents"]
            assert [it["name"] for it in listed if it["state"] != "failed"] == ["2000.txt"]
        finally:
            process.kill()


@pytest.mark.statement("004-04", "004-05")
def test_originals_are_stored_under_user_date_and_uuid_with_their_checksum(
    harbour: Service,
) -> None:
    stored = [it for it in (harbour.home / "uploads").rglob("*") if it.is_file()]
    paths = [it.relative_to(harbour.home).parts for it in stored if not it.name.startswith(".")]
    assert len(paths) >= 5
    for top, owner, day, name in paths:
        assert (top, owner) == ("uploads", "local")
        written_on = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
        assert abs((datetime.now(UTC) - written_on).days) <= 1
        assert str(uuid.UUID(name)) == name
    listed = harbour.documents["rules.md"]
    assert listed["sha256"] == sha256(RULES.encode()).hexdigest()
    copy = harbour.add("copy.md", RULES.encode())
    assert (copy["result"], copy["sha256"]) == ("linked", listed["sha256"])
    assert "already exists as rules.md" in copy["message"]
    harbour.remove(copy["document_id"])


# Chunking


@pytest.mark.statement("004-07", "004-09")
def test_size_and_overlap_are_settings_and_a_window_slides(tmp_path: Path) -> None:
    text = " ".join(f"word{at}" for at in range(600))
    paths = written(tmp_path / "files", a__txt=text)
    chosen = {"chunk_size": 1000, "chunk_overlap": 200, "chunk_boundaries": "window"}
    with library(tmp_path / "home", **chosen) as opened:
        opened.add(*paths)
        [one] = opened.documents()
        [found] = opened.search_with_context("word3", limit=1)
        assert (one.live.chunking.strategy.size, one.live.chunking.strategy.overlap) == (1000, 200)
    starts = [(it.start, it.end) for passage in found.passages for it in passage.chunks]
    assert starts[0] == (0, 1000)
    assert all(b - a == 800 for (a, _), (b, _) in pairwise(starts))
    assert load(tmp_path / "other", {}).chunk_size == 800


@pytest.mark.statement("004-08", "004-12", "004-13", "004-14")
@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_embeddings_come_in_batches_with_retries_from_a_cache_and_of_normal_white_space(
    tmp_path: Path, kind: str
) -> None:
    body = "\n\n".join(f"Paragraph   {at}\tof   the harbour. " + "Words. " * 12 for at in range(40))
    paths = written(tmp_path / "files", a__txt=body)
    with provider() as given:
        url = f"{given.url}/v1" if kind == "openai" else given.url
        spec = "openai:a-model" if kind == "openai" else "ollama:a-model"
        chosen = {"embedder": spec, "embedder_url": url, "embedder_key": "k", "chunk_size": 200}
        with library(tmp_path / "home", **chosen) as opened:
            given.plan.extend([refuse(503, {}), refuse(429, {}, retry_after="0")])
            [added] = opened.add(*paths)
            assert added.result == "added", added
            texts = _embedded(given)
            assert max(given.sizes) > 1
            assert len(given.requests) < added.chunks
            # What is kept, shown and cited is the text as it was.
            assert opened.text(added.document) == body
            # Of a text that is nearly the same only what is new is embedded.
            before = len(_embedded(given))
            paths += written(tmp_path / "files", b__txt=f"{body}\n\nAnd one more. {'End. ' * 30}")
            [added] = opened.add(paths[1])
            assert (added.result, added.chunks > 10) == ("added", True)
            assert 0 < len(_embedded(given)) - before <= 3
    assert any("Paragraph 1 of the harbour." in one for one in texts)
    assert not any("  " in one or "\t" in one for one in texts)


def _embedded(given: Provider) -> list[str]:
    return [text for request in given.requests for text in request.body["input"]]


@pytest.mark.statement("004-10", "004-11", "004-16", "004-29")
def test_sources_carry_the_metadata_of_their_chunks(harbour: Service) -> None:
    found = harbour.ask("What does the crane lift, and who works it?")["sources"]
    [source] = [one for one in found if one["name"] == "rules.md"]
    listed = harbour.documents["rules.md"]
    assert source["document"] == listed["id"]
    assert source["checksum"] == listed["sha256"]
    assert (source["folder"], source["content_type"]) == ("port", "text/markdown")
    assert datetime.fromisoformat(listed["created_at"]).tzinfo is not None
    # Markdown is cut at its headings first.
    sections = [it["heading_path"] for one in source["passages"] for it in one["chunks"]]
    assert ["Rules of the harbour", "Crane"] in sections
    found = harbour.ask("What did the keeper burn, colza oil?")["sources"]
    [lamp] = [one for one in found if one["name"] == "lamp.pdf"]
    assert lamp["pages"] == [1, 2]


# Indexing


@pytest.mark.statement("004-15", "004-16", "004-35")
def test_a_qdrant_server_holds_ids_vectors_and_metadata_and_its_loss_is_said(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(qdrant(tmp_path / "qdrant"))
        index = f"qdrant:{server.url}"
        running = stack.enter_context(service(tmp_path / "home", index=index, index_timeout=2))
        added = running.add("rules.md", RULES.encode(), folder="port")
        [source] = running.ask(NIGHT)["sources"]
        assert "22 euros" in json.dumps(source["passages"])
        listed = httpx2.get(f"{server.url}/collections").json()["result"]["collections"]
        points = [
            point
            for one in listed
            for point in httpx2.post(
                f"{server.url}/collections/{one['name']}/points/scroll",
                json={"with_vector": True, "with_payload": True},
            ).json()["result"]["points"]
        ]
        assert len(points) >= 2
        for point in points:
            assert str(uuid.UUID(point["id"])) == point["id"]
            assert point["vector"]
            assert added["document_id"] in point["payload"].values()
            assert "port" in point["payload"].values()
        os.kill(server.pid, signal.SIGKILL)
        found = running.ask("What does the crane lift?")
        assert (found["answer"], found["sources"]) == ("The pilot boards at the outer buoy.", [])
        [why] = [it for it in found["warnings"] if it["code"] == "search-unavailable"]
        assert "the documents could not be searched" in why["message"]


@pytest.mark.statement("004-44")
def test_the_index_that_needs_nothing_else_is_the_default(tmp_path: Path) -> None:
    [path] = written(tmp_path / "files", rules__md=RULES)
    with library(tmp_path / "home") as opened:
        opened.add(path)
        assert opened.search_with_context(NIGHT)
    assert (tmp_path / "home" / "index" / "edge").is_dir()
    assert not (tmp_path / "home" / "index" / "chroma").exists()


@pytest.mark.statement("004-15", "004-17", "004-18", "004-19", "004-41")
@pytest.mark.parametrize("index", ["chroma", "edge"])
def test_a_document_is_found_replaced_and_purged(tmp_path: Path, index: str) -> None:
    [path] = written(tmp_path / "files", rules__md=RULES)
    with library(tmp_path / "home", index=index) as opened:
        [added] = opened.add(path, folder="port")
        assert opened.search_with_context(NIGHT)
        inside = opened.search(NIGHT, where=unchunk.Where(folders=("port",)))
        assert {one.document for one in inside.hits} == {added.document}
        assert not opened.search(NIGHT, where=unchunk.Where(folders=("sea",))).hits
        assert [one.result for one in opened.add(path, folder="port")] == ["unchanged"]
        path.write_text(RULES.replace("22 euros", "30 euros"))
        [again] = opened.add(path, folder="port")
        assert (again.result, again.document) == ("replaced", added.document)
        # What was remembered of the question is remembered no longer.
        [found] = opened.search_with_context(NIGHT)
        assert "30 euros" in found.full_content
        blob = tmp_path / "home" / "uploads" / opened.documents()[0].live.blob
        assert blob.is_file()
        receipt = opened.delete(added.document)
        assert (receipt.vectors, receipt.blobs, receipt.cached, receipt.problem) == (0, 0, 0, "")
        assert not blob.exists()
        assert opened.search_with_context(NIGHT) == []


@pytest.mark.statement("004-45")
def test_a_folder_of_chroma_that_is_open_in_this_process_is_searched(tmp_path: Path) -> None:
    place = tmp_path / "chroma"
    client: Any = chromadb.PersistentClient(str(place))
    client.create_collection("pages").add(
        ids=["0"],
        documents=["A night in the harbour costs 22 euros."],
        embeddings=asyncio.run(HashingEmbedder().embed(["a night in the harbour"], "document")),
        metadatas=[{"parent_id": "d", "title": "rules.md", "chunk_index": 0}],
    )
    try:
        with unchunk.open_collection(
            f"chroma:{place}#pages", tmp_path / "home", embedder="hashing"
        ) as pages:
            [found] = pages.search_with_context(NIGHT)
        assert found.title == "rules.md"
        assert client.get_collection("pages").count() == 1
    finally:
        client.close()


@pytest.mark.statement("004-42")
def test_changed_chunking_is_not_mixed_with_the_old_and_reindexing_applies_it(
    tmp_path: Path,
) -> None:
    paths = written(tmp_path / "files", a__md=RULES * 10, b__md="New. " + RULES)
    with library(tmp_path / "home") as opened:
        [before] = opened.add(paths[0])
    with library(tmp_path / "home", chunk_size=300, chunk_boundaries="boundary") as opened:
        with pytest.raises(unchunk.UnchunkError, match="reindex"):
            opened.add(paths[1])
        opened.migrate()
        [one] = opened.documents()
        assert one.live.chunk_count > 0
        assert (one.live.chunking.strategy.size, one.live.chunking.boundaries) == (300, "boundary")
        assert one.live.chunk_count != before.chunks
        assert opened.search_with_context(NIGHT)


@pytest.mark.statement("004-43")
def test_the_same_bytes_of_somebody_else_stay(tmp_path: Path) -> None:
    [path] = written(tmp_path / "files", rules__md=RULES)
    with library(tmp_path / "home") as opened:
        [mine] = opened.add(path, owner="me")
        [theirs] = opened.add(path, owner="they")
        opened.delete(mine.document, owner="me")
        assert opened.search_with_context(NIGHT, owner="me") == []
        [found] = opened.search_with_context(NIGHT, owner="they")
        assert found.document == theirs.document


# Retrieval


@pytest.mark.statement("004-20")
def test_a_search_gives_text_score_and_metadata(harbour: Service) -> None:
    body = {"query": NIGHT, "top_k": 2}
    found = harbour.client.post("/search", json=body).json()["results"]
    assert len(found) == 2
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    [night] = [one for one in found if "22 euros" in one["chunk_text"]]
    listed = harbour.documents["rules.md"]
    assert (night["document_id"], night["checksum"]) == (listed["id"], listed["sha256"])
    assert night["created_at"] == listed["created_at"]
    assert (night["folder"], night["content_type"]) == ("port", "text/markdown")
    assert night["heading_path"][0] == "Rules of the harbour"
    assert night["found_by"] == "meaning"


@pytest.mark.statement("004-21")
def test_alpha_blends_meaning_and_words(tmp_path: Path) -> None:
    paths = written(
        tmp_path / "files",
        words__txt="Quayside. " + "Nothing of this sort was said by anyone at any time here. " * 3,
        meaning__txt="The quaysides, quayage, quays.",
    )
    best = {}
    with pytest.raises(unchunk.UnchunkError, match="blend"):
        library(tmp_path / "home", fusion="blend:2").__enter__()
    for alpha in ("0", "1", "0.25", "0.7"):
        with library(tmp_path / "home", fusion=f"blend:{alpha}") as opened:
            opened.add(*paths)
            evidence = opened.retrieve("quayside")
            best[alpha] = {it.place.document: it.rank_score for it in evidence.found}
            ways = {way.name for one in evidence.found for way in one.ways}
            assert ways <= {"dense", "lexical"}
    assert best["0"] != best["1"]
    for alpha in ("0.25", "0.7"):
        assert best[alpha] == {
            one: pytest.approx(float(alpha) * best["1"][one] + (1 - float(alpha)) * best["0"][one])
            for one in {**best["0"], **best["1"]}
        }


@pytest.mark.statement("004-22", "004-34")
def test_without_its_provider_words_alone_find(tmp_path: Path) -> None:
    paths = written(tmp_path / "files", rules__md=RULES)
    with provider() as given:
        chosen = {"embedder": "openai:m", "embedder_url": f"{given.url}/v1", "embedder_key": "k"}
        with library(tmp_path / "home", **chosen) as opened:
            opened.add(*paths)
            given.plan.extend([refuse(401, {})] * 50)
            evidence = opened.retrieve(NIGHT)
    assert "22 euros" in evidence.documents[0].full_content
    assert any("searched by words only" in one for one in evidence.notes)


@pytest.mark.statement("004-23")
def test_a_reranker_reads_the_best_again(tmp_path: Path) -> None:
    costs = "A night in the harbour costs 22 euros."
    texts = (costs, f"The lamp is lit. {costs}", f"The lamp is lit at noon by its keeper. {costs}")
    paths = written(tmp_path / "files", a__txt=texts[0], b__txt=texts[1], c__txt=texts[2])

    def names(opened: Any) -> list[str]:  # noqa: ANN401 - as `library`
        evidence = opened.retrieve(NIGHT)
        return [evidence.names[one.place.document] for one in evidence.found]

    with library(tmp_path / "home") as opened:
        opened.add(*paths)
        first, second, third = names(opened)
    # The best of the search is the last of the reranker.
    scores = dict(enumerate((0.1, 0.9, 0.5)))
    results = [{"index": at, "relevance_score": score} for at, score in scores.items()]
    with rerank_server.running() as given:
        given.plan.append(rerank_server.refuse(200, {"results": results}))
        chosen = {"reranker": "remote:m", "reranker_url": given.url, "reranker_key": "k"}
        with library(tmp_path / "home", **chosen) as opened:
            assert names(opened) == [second, first, third]


@pytest.mark.statement("004-24")
@pytest.mark.parametrize(
    ("there", "instead", "told_of"),
    [
        ("six", "seven", ("six hours", "seven hours")),
        ("two", "12", ("two divers", "12 divers")),
        ("are", "are not", ("are inspected", "are not inspected")),
        ("by two", "by Simone and two", ("by two", "by Simone and two")),
        ("spring", "autumn", ("spring", "autumn")),
        ("divers", "diverse", ("divers in", "diverse in")),
    ],
)
def test_copies_are_dropped_unless_anything_differs_which_is_pointed_out(
    harbour: Service, there: str, instead: str, told_of: tuple[str, str]
) -> None:
    names = ("divers.md", "divers-2020.md", "divers-copy.md")
    texts = (OLD, OLD.replace(there, instead, 1), OLD.replace("The moorings", "The\nmoorings"))
    added = [
        harbour.add(name, text.encode())["document_id"]
        for name, text in zip(names, texts, strict=True)
    ]
    try:
        found = harbour.ask(DIVERS)
        shown = [one["name"] for one in found["sources"] if one["name"] in names]
        assert "divers-2020.md" in shown
        assert len(shown) == 2
        [told] = [one for one in found["warnings"] if one["code"] == "differ"]
        here, other = map(re.escape, told_of)
        differ = f'differ: (?:"{here}" / "{other}"|"{other}" / "{here}")'
        assert re.search(differ, told["message"])
        assert "divers-2020.md" in told["message"]
        # The model is told with the evidence.
        assert re.search(rf"\[Note: .*{differ}.*\]", str(harbour.sent[-1]["content"]))
        evidence = harbour.client.post("/api/retrieve", json={"message": DIVERS}).json()
        assert told["message"] in evidence["notes"]
    finally:
        harbour.remove(*added)


@pytest.mark.statement("004-24")
@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Dogs are allowed.", "Dogs are not allowed.", "are not allowed"),
        (OLD, f"{OLD[:-1]}, except in the year 2024.", "except in the year 2024"),
    ],
)
def test_a_difference_of_short_texts_or_at_an_end_is_pointed_out_too(
    tmp_path: Path, one: str, other: str, told: str
) -> None:
    with library(tmp_path / "home") as opened:
        opened.add(*written(tmp_path / "files", old__md=one, new__md=other))
        evidence = opened.retrieve(one)
    assert len(evidence.documents) == 2
    assert told in evidence.disagreement


@pytest.mark.statement("004-24")
def test_in_chunks_of_others_a_fact_that_differs_is_pointed_out_too(tmp_path: Path) -> None:
    texts = {"old": OLD, "new": OLD.replace("in spring", "never in spring"), "copy": f"{OLD} "}
    results = [
        {
            "document_id": name,
            "document_name": f"{name}.md",
            "chunk_index": 0,
            "chunk_text": text,
            "token_count": 9,
            "metadata": {},
        }
        for name, text in texts.items()
    ]
    with (
        chunkenizer(Chunkenizer(results)) as url,
        unchunk.open_collection(f"chunkenizer:{url}", tmp_path / "home") as theirs,
    ):
        evidence = theirs.retrieve(DIVERS)
    assert len(evidence.documents) == 2
    [told] = [one for one in evidence.notes if "differ" in one]
    assert {"old.md", "copy.md"} & {*told.split()}
    assert '"divers in spring"' in told or '"divers in"' in told
    assert '"divers never in"' in told


@pytest.mark.statement("004-25", "004-37")
def test_evidence_fits_the_models_window_and_the_lowest_scores_leave(tmp_path: Path) -> None:
    filling = [f"The {it} was painted, mended and sold again. " for it in ("mast", "oar", "net")]
    with service(tmp_path / "home", chat_window=1400, chunk_size=800) as running:
        for at in range(6):
            # The further down, the less of a text is about what is asked.
            text = "A night in the harbour costs 22 euros. " * (12 - 2 * at)
            text += "".join(filling[(at + it) % 3] for it in range(2 * at))
            running.add(f"{at}.txt", text.encode())
        found = running.ask(NIGHT, max_tokens=200)
        usage = found["usage"]
        assert usage["unit"] == "tokens"
        assert usage["context_size"] <= usage["context_budget"] < 1400
        asked = running.client.post("/api/retrieve", json={"message": NIGHT}).json()
        rank = {one["document"]: one["rank_score"] for one in reversed(asked["found"])}
        kept = [rank[one["document"]] for one in found["sources"]]
        left = [rank[one["document"]] for one in found["omitted"] if one["score"] is not None]
        assert kept
        assert left
        assert min(kept) > max(left)


@pytest.mark.statement("004-26")
def test_of_hits_that_are_about_as_good_several_documents_are_shown(tmp_path: Path) -> None:
    with library(tmp_path / "home", chunk_size=60, chunk_overlap=0) as opened:
        costs = [f"A night in the harbour of Alda costs {at} euros." for at in range(10, 19)]
        other = "A night in the harbour of Bruma costs 140 euros."
        opened.add(*written(tmp_path / "files", a__txt="\n\n".join(costs), b__txt=other))
        # There is room for two of the ten chunks, and b.txt is not the best.
        amount = unchunk.Amount(chunks_per_doc=None, include_adjacent=False, budget=100)
        evidence = opened.retrieve("What does a night in the harbour cost?", amount=amount)
    assert [one.name for one in evidence.documents] == ["a.txt", "b.txt"]
    best, *others = [evidence.names[one.place.document] for one in evidence.found]
    assert best == others[0] == "a.txt"


# Prompt assembly and model invocation


@needs_documents
@pytest.mark.statement("004-27", "004-28")
def test_the_template_is_assembled_as_the_document_shows(harbour: Service) -> None:
    harbour.ask(NIGHT, template="question-first", strict=True)
    said = str(harbour.sent[-1]["content"])
    wanted = code_block("004", 100)
    opening, rest = wanted.split("\n\nQuestion:\n{{query}}\n\nContext:\n")
    assert said.startswith(opening.replace("\n", " "))
    assert f"\n\nQuestion:\n{NIGHT}\n\nContext:\n<<<evidence\n[Source: " in said
    assert rest.rstrip().endswith("Answer:")
    assert said.endswith("\nevidence>>>\n\nAnswer:")
    assert re.search(r"\[Source: port/rules\.md .*score=0\.\d\d", said)
    harbour.ask("What did the keeper burn, colza oil?", template="question-first")
    assert re.search(
        r"\[Source: port/lamp\.pdf.*page=1-2.*score=", str(harbour.sent[-1]["content"])
    )


@pytest.mark.statement("004-30")
def test_the_page_has_a_panel_of_sources(harbour: Service) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: `apt-get install chromium` brings it")
    running = Running(harbour.url, harbour.home)
    with chromium() as browser, visiting(browser, running) as visit:
        visit.go()
        visit.ask(NIGHT)
        panel = visit.page.get_by_role("complementary", name="Sources")
        expect(panel.get_by_role("region", name="rules.md")).to_contain_text("22 euros")


@pytest.mark.statement("004-31", "004-40")
def test_answers_stream_and_the_request_id_goes_all_the_way(harbour: Service) -> None:
    body, headers = {"message": NIGHT}, {"X-Request-ID": "trace-4"}
    reply = harbour.client.post("/api/chat/stream", json=body, headers=headers)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-request-id"] == "trace-4"
    assert harbour.model.asked[-1].header("x-request-id") == "trace-4"
    assert [one.kind for one in parsed(reply.text)].count("token") > 1
    with connect(f"{harbour.url.replace('http', 'ws')}/api/chat/ws") as socket:
        socket.send(json.dumps({"type": "ask", "message": NIGHT}))
        kinds = []
        while "done" not in kinds:
            told = json.loads(socket.recv(60))
            kinds.append(told.get("type") or told.get("event") or told.get("kind"))
            assert "error" not in kinds, told
    assert "token" in kinds


@pytest.mark.statement("004-40")
def test_the_request_id_goes_to_the_provider_of_embeddings_too(tmp_path: Path) -> None:
    with provider() as given:
        chosen = {"embedder": "openai:m", "embedder_url": f"{given.url}/v1", "embedder_key": "k"}
        with service(tmp_path / "home", **chosen) as running:
            running.add("rules.md", RULES.encode())
            asked = len(given.requests)
            headers = {"X-Request-ID": "trace-5"}
            running.client.post("/api/chat", json={"message": NIGHT}, headers=headers)
    told = [
        {name.lower(): it for name, it in one.headers.items()} for one in given.requests[asked:]
    ]
    assert told
    assert {one.get("x-request-id") for one in told} == {"trace-5"}


@pytest.mark.statement("004-32", "004-33")
def test_parameters_and_prompts_reach_the_model(harbour: Service) -> None:
    told = {"folder": "port", "text": "You know port."}
    assert harbour.client.put("/api/prompts", json=told).status_code < 300
    harbour.ask(
        NIGHT,
        model="scripted",
        temperature=0.3,
        max_tokens=50,
        stop=["END"],
        system_prompt="Be kind.",
        folders=["port"],
    )
    body = harbour.model.asked[-1].body
    assert (body["model"], body["temperature"], body["stop"]) == ("scripted", 0.3, ["END"])
    assert 50 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["messages"][0] == {"role": "system", "content": "Be kind.\n\nYou know port."}


# Failures and observability


@pytest.mark.statement("004-36")
def test_a_file_that_cannot_be_read_is_marked_and_the_others_are_indexed(tmp_path: Path) -> None:
    paths = written(tmp_path / "files", torn__pdf=b"%PDF-1.7\nnothing more came", rules__md=RULES)
    with library(tmp_path / "home") as opened:
        results = {one.name: one for one in opened.add(*paths)}
        assert results["torn.pdf"].result == "failed"
        assert results["rules.md"].result == "added"
        [torn] = [one for one in opened.documents() if one.name == "torn.pdf"]
        assert (bool(torn.error), torn.live) == (True, None)
        assert opened.search_with_context(NIGHT)


@pytest.mark.statement("004-38")
def test_retrieval_is_logged_with_scores_and_durations(
    harbour: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "unchunk")
    harbour.ask(NIGHT)
    [line] = [it for it in caplog.messages if it.startswith("RAG retrieval")]
    assert re.search(r"top_k=\d+ retrieval_time_ms=[\d.]+ context_size=\d+ chunks=\d+", line)
    assert re.search(r"scores=0\.\d{3}", line)


@pytest.mark.statement("004-34", "004-39")
def test_files_chunks_and_calls_are_counted_and_a_repeated_question_is_remembered(
    harbour: Service,
) -> None:
    names = ("files_added", "embedded_chunks", "embedding_calls", "searches", "evidence_cache_hits")
    before = {name: harbour.counted(name) for name in names}
    new = harbour.add("counted.txt", b"Pilots wait for the tide at the sluice.")
    for _ in range(2):
        harbour.ask("Where do pilots wait for the tide?")
    # Figures are read anew every few seconds.
    eventually(lambda: harbour.counted("searches") >= before["searches"] + 2)
    after = {name: harbour.counted(name) - before[name] for name in names}
    assert re.search(r"^unchunk_chunks [1-9]", harbour.client.get("/metrics").text, re.MULTILINE)
    harbour.remove(new["document_id"])
    assert (after["files_added"], after["embedded_chunks"]) == (1, 1)
    assert after["embedding_calls"] >= 1
    assert (after["searches"], after["evidence_cache_hits"]) == (2, 1)

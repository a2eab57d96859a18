"""A library with something of every kind in it, to be moved; and whether two are alike."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.adapters.catalog import (
    Database,
    SqlCatalog,
    SqlConversations,
    SqlFileNotes,
    SqlKeptResponses,
    SqlKeys,
    SqlMembers,
    SqlPrompts,
    SqlRecords,
    SqlStores,
    open_database,
)
from unchunk.adapters.catalog.units import SHAPES
from unchunk.domain import Answered, Document
from unchunk.engine import Engine
from unchunk.keyring import Keyring
from unchunk.library.keys import blob_key
from unchunk.library.moving import Move
from unchunk.ports import Batch, FileNote, KeptResponse, StoreFile, VectorStore
from unchunk.settings import Settings
from unchunk.wiring import open_engine
from unchunk.wiring.moving import move_library

NOW = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
WORDS = ("whale", "harbour", "ferry", "lantern", "anchor", "compass")
QUESTIONS = ("Where is the whale?", "the harbour and its lantern", "compass")


def text(word: str, paragraphs: int = 6) -> str:
    return f"# The {word}\n\n" + "".join(
        f"The {word} of number {number} is kept near the {WORDS[number % len(WORDS)]}. " * 4
        + "\n\n"
        for number in range(paragraphs)
    )


def settings_in(home: Path) -> Settings:
    return Settings(home, embedder="hashing", chunk_size=200, chunk_overlap=40)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Engine]:
    engine = await open_engine(settings)
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def database_of(settings: Settings) -> AsyncIterator[Database]:
    database = await open_database(settings.catalog or settings.home / "catalog.sqlite")
    try:
        yield database
    finally:
        await database.close()


async def stock(settings: Settings, files: Path) -> str:
    """Fill a home with a little of everything; the key that opens it is returned."""
    await asyncio.to_thread(_write_files, files)
    async with opened(settings) as engine:
        await engine.add(files / "whale.md", files / "harbour.md", folder="sea")
        await engine.add_file(files / "ferry.md", "ferry \u00e9.md", owner="somebody else")
        await engine.add(files / "torn.pdf")
    async with database_of(settings) as database:
        catalog = SqlCatalog(database)
        documents = {one.name: one for one in await catalog.find()}
        await _describe(database, documents)
        await _talk(database)
        # Its bytes came, and then the power failed.
        blob = blob_key("local", NOW.date(), UUID(int=7))
        source = files / "pending.md"
        digest = sha256(source.read_bytes()).hexdigest()
        await catalog.begin(
            "local", "", "pending.md", checksum=digest, size=source.stat().st_size, blob=blob
        )
        await FolderBlobs(settings.home).put(blob, source)
        keyring = Keyring(SqlKeys(database), database.close)
        _, shown = await keyring.new("laptop", "local")
        await keyring.secret()
        await keyring.end_session((await keyring.all())[0].id, "a session", 4e9)
    return shown


def _write_files(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    for word in ("whale", "harbour", "ferry", "pending"):
        (files / f"{word}.md").write_text(text(word))
    (files / "torn.pdf").write_bytes(b"%PDF-1.7\nnothing more came")


async def _describe(database: Database, documents: dict[str, Document]) -> None:
    whale, harbour = documents["whale.md"], documents["harbour.md"]
    await SqlCatalog(database).describe("local", whale.id, {"year": 1851, "deep": {"a": [1]}})
    await SqlFileNotes(database).note("local", FileNote(whale.id, "Whale.md", "user_data"))
    store = VectorStore("vs_1", "local", "sea \0 store", NOW, NOW, metadata={"a": "b"})
    await SqlStores(database).add(replace(store, expires_after=timedelta(days=9000)))
    members = SqlMembers(database)
    await members.put("local", [StoreFile("vs_1", harbour.id, NOW)])
    batch = Batch("vsfb_1", "vs_1", NOW)
    await members.put("local", [StoreFile("vs_1", whale.id, NOW, attributes={"n": 1.5})], batch)


async def _talk(database: Database) -> None:
    talks = SqlConversations(database)
    talk = await talks.start("local", title="At sea \ud83d", folder="sea")
    for question in ("Where?", "And \0 then?"):
        number = await talks.ask("local", talk.id, question)
        answer = Answered("There.", "complete", (("whale", 1),), {"model": "none"})
        await talks.answer("local", talk.id, number, answer)
    await SqlPrompts(database).set_prompt("local", "sea", "Answer as a sailor.")
    body = {"output": "There."}
    await SqlKeptResponses(database).keep(KeptResponse("resp_1", "local", NOW, body))


async def marks(settings: Settings) -> dict[str, dict[str, bytes]]:
    """All that a library holds, but for what is derived."""
    async with database_of(settings) as database:
        records = SqlRecords(database)
        return {shape.kind: await records.marks(shape.kind) for shape in SHAPES}


async def answers(engine: Engine) -> list[tuple[str, str, float]]:
    """What a library answers, to be compared with what another one does."""
    found = []
    for owner in ("local", "somebody else"):
        for question in QUESTIONS:
            hits = (await engine.search(question, owner=owner)).hits
            found += [(hit.document, hit.text, round(hit.score, 4)) for hit in hits]
    return sorted(found)  # of two that are as good, either may be first


async def look(settings: Settings) -> tuple[list[tuple[str, str, float]], list[str]]:
    """Its answers, and what its doctor finds."""
    async with opened(settings) as engine:
        examined = await engine.doctor()
        return await answers(engine), [f"{it.document}: {it.message}" for it in examined.findings]


def moved(source: Settings, target: Settings) -> Move:
    return asyncio.run(move_library(source, target, lambda *_: None))

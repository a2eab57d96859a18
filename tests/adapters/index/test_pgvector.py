"""PostgreSQL as the index: what others do to it meanwhile, and what it must say."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import servers
import vectorbases
from databases import PostgresServer
from unchunk.adapters.index import pgvector_connections
from unchunk.adapters.index.pgvector import PgvectorIndexes
from unchunk.adapters.index.pgvector_connections import Connection, Connections, address_of
from unchunk.adapters.index.pgvector_rows import escaped, unescaped
from unchunk.adapters.index.pgvector_tables import table_name
from unchunk.domain import Space, Terms, Within
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    ProviderRefusedError,
)
from unchunk.ports import Point
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with vectorbases.vectorbase() as started:
        yield started


@pytest.fixture
def url(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    """A database of the test's own."""
    name = "t" + str(abs(hash(request.node.nodeid)))
    return vectorbases.database(server, name, "CREATE EXTENSION pg_textsearch")


def explained(url: str, statement: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [str(row[0]) for row in connection.execute(statement)]


def test_a_server_that_is_not_there_is_unavailable() -> None:
    (port,) = servers.free_ports(1)
    indexes = PgvectorIndexes(f"postgresql://postgres@127.0.0.1:{port}/none")

    async def scene() -> None:
        with pytest.raises(IndexUnavailableError, match=f"none at 127.0.0.1:{port}"):
            await indexes.open(SPACE)
        with pytest.raises(IndexUnavailableError):
            await indexes.names()

    asyncio.run(scene())


def test_a_killed_server_is_unavailable_and_keeps_what_was_written(
    server: PostgresServer, url: str
) -> None:
    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        await index.upsert([point("d", n) for n in range(20)])
        await index.flush()
        server.stop("immediate")
        for call in (index.census(), index.search(vector(1), ME, 9), index.upsert([point("e")])):
            with pytest.raises(IndexUnavailableError):
                await call
        server.start()
        # The same index goes on: what it had of connections is gone, and that is its affair.
        assert await index.census() == {("d", 1): 20}
        assert len(await index.search(SEVEN, ME, 99)) == 20
        assert len(await index.search(vector(1), ME, 99)) == 20
        await index.upsert([point("d", 20)])
        assert len(await index.search(SEVEN, ME, 99)) == 21
        await index.close()
        with pytest.raises(IndexUnavailableError, match="is closed"):
            await index.census()

    asyncio.run(scene())


def test_connections_that_were_cut_are_made_anew_unnoticed(url: str) -> None:
    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        await asyncio.gather(*(index.upsert([point(f"d{n}")]) for n in range(4)))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert len(await index.census()) == 4
        await index.close()

    asyncio.run(scene())


def test_a_server_that_hangs_is_given_up_in_time(url: str) -> None:
    async def scene() -> None:
        index = await PgvectorIndexes(url, timeout=2).open(SPACE)
        await index.upsert([point("d")])
        with psycopg.connect(url) as connection:
            table = table_name("unchunk_" + SPACE.name)
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            for call in (index.census(), index.search(SEVEN, ME, 9), index.upsert([point("d")])):
                with pytest.raises(IndexUnavailableError):
                    await call
        assert await index.census() == {("d", 1): 1}
        await index.close()

    asyncio.run(scene())


def test_a_stopped_server_is_given_up_in_time(server: PostgresServer, url: str) -> None:
    async def scene() -> None:
        index = await PgvectorIndexes(url, timeout=2).open(SPACE)
        await index.close()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(IndexUnavailableError, match="does not answer within"):
                await PgvectorIndexes(url, timeout=2).open(SPACE)
        finally:
            os.kill(server.pid, signal.SIGCONT)

    asyncio.run(scene())


WRITER = """
import asyncio, sys
from unchunk.adapters.index.pgvector import PgvectorIndexes
from unchunk.testing.indexes import SPACE, point

async def write():
    index = await PgvectorIndexes(sys.argv[1], timeout=60).open(SPACE)
    points = [point("d", n) for n in range(200)][:: int(sys.argv[2])]
    for _ in range(4):
        await index.upsert(points)
    await index.close()

asyncio.run(write())
"""


def test_two_processes_make_one_space_and_write_the_same_chunks_in_any_order(url: str) -> None:
    command = [sys.executable, "-c", WRITER, url]
    writers = [subprocess.Popen([*command, order]) for order in ("1", "-1")]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        assert await index.census() == {("d", 1): 200}
        await index.close()

    asyncio.run(scene())


def test_several_may_make_the_same_space_at_once(url: str) -> None:
    async def scene() -> None:
        opened = await asyncio.gather(*(PgvectorIndexes(url).open(SPACE) for _ in range(6)))
        await opened[0].upsert([point("d")])
        assert await opened[-1].census() == {("d", 1): 1}
        for index in opened:
            await index.close()

    asyncio.run(scene())


def test_a_space_without_vectors_holds_terms(url: str) -> None:
    async def scene() -> None:
        for textsearch in (vectorbases.TEXTSEARCH, (99, 0)):
            indexes = PgvectorIndexes(url, prefix=f"p{textsearch[0]}_", textsearch=textsearch)
            index = await indexes.open(Space("words", 0))
            await index.upsert([point("d", 0), point("d", 1, terms=Terms((), ()))])
            assert len(await index.search(SEVEN, ME, 9)) == 1
            assert await index.census() == {("d", 1): 2}
            assert {row.size for row in (await index.fetch([point("d").key])).values()} == {0}
            with pytest.raises(InvalidInputError, match="holds terms only"):
                await index.search(vector(1), ME, 9)
            await index.close()

    asyncio.run(scene())


@pytest.mark.parametrize("dimensions", [2001, 4001])
def test_long_vectors_are_kept_as_halves(url: str, dimensions: int) -> None:
    rows = np.random.default_rng(3).standard_normal((20, dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    async def scene() -> None:
        index = await PgvectorIndexes(url).open(Space("long", dimensions))
        await index.upsert([point("d", n, at=row) for n, row in enumerate(rows)])
        (best,) = await index.search(rows[7], ME, 1)
        assert best.key.chunk_index == 7
        assert best.score == pytest.approx(1.0, abs=1e-3)
        kept = (await index.fetch([best.key]))[best.key]
        assert kept == pytest.approx(rows[7], abs=1e-3)
        await index.close()
        index = await PgvectorIndexes(url).open(Space("long", dimensions))
        await index.close()

    asyncio.run(scene())


def test_a_vector_of_zeros_is_at_a_right_angle_to_all(url: str) -> None:
    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        await index.upsert([point("d", 0, at=vector(0)), point("d", 1, at=vector(1))])
        found = await index.search(vector(1), ME, 9)
        assert [(hit.key.chunk_index, round(hit.score, 3)) for hit in found] == [(1, 1), (0, 0)]
        await index.close()

    asyncio.run(scene())


def crowd(count: int) -> list[Point]:
    """All of one owner, nearer to `vector(1)` than what anybody else has."""
    turns = np.random.default_rng(4).uniform(0.01, 0.2, count)
    return [point("theirs", n, owner="they", at=vector(1, turn)) for n, turn in enumerate(turns)]


def test_an_owner_of_little_finds_it_all_behind_what_others_have(url: str) -> None:
    async def scene() -> None:
        # So that the graph is used, and gives up.
        index = await PgvectorIndexes(f"{url}?options=-cenable_sort%3Doff").open(SPACE)
        await index.upsert([*crowd(600), *(point("mine", n, at=vector(-1, n)) for n in range(5))])
        for limit in (3, 5, 50):
            found = await index.search(vector(1), ME, limit)
            assert len(found) == min(limit, 5)
            assert [hit.score for hit in found] == sorted((x.score for x in found), reverse=True)
        await index.close()

    asyncio.run(scene())


def test_other_owners_do_not_make_a_word_rare_or_common(url: str) -> None:
    def holding(chunk: int, *words: int, owner: str = "me") -> Point:
        return point("d", chunk, owner=owner, terms=Terms(words, (1.0,) * len(words)))

    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        await index.upsert([holding(0, 1), holding(1, 2), holding(2, 2)])
        await index.upsert([holding(n, 1, owner="they") for n in range(50)])
        found = await index.search(Terms((1, 2), (1.0, 1.0)), Within("me"), 9)
        assert found[0].key.chunk_index == 0
        assert found[0].score > found[1].score
        await index.close()

    asyncio.run(scene())


def test_long_names_of_spaces_are_kept_whole_and_apart(url: str) -> None:
    names = sorted(["x" * 99 + end for end in "ab"] + ["Case", "case", "a-b", "a_b"])

    async def scene() -> None:
        indexes = PgvectorIndexes(url)
        for at, name in enumerate(names, 1):
            index = await indexes.open(Space(name, at))
            await index.close()
        assert await indexes.names() == names
        assert await PgvectorIndexes(url, prefix="unchunk_x").names() == [
            name[1:] for name in names if name.startswith("x")
        ]
        await indexes.drop(names[-1])
        assert await indexes.names() == names[:-1]

    asyncio.run(scene())


@pytest.mark.parametrize(
    "name", ["", "a", "\0", "\\", "\\0", "\\\0", "\\\\0", "a\\\\\0b\\", "0\\0\0"]
)
def test_any_text_comes_back_from_a_database_that_holds_no_zero(name: str) -> None:
    assert "\0" not in escaped(name)
    assert unescaped(escaped(name)) == name


# What it says.


def refused(url: str, kind: type[Exception], words: str, password: str = "") -> None:
    async def scene() -> None:
        with pytest.raises(kind, match=words):
            await PgvectorIndexes(url, password).open(SPACE)

    asyncio.run(scene())


def test_a_server_without_pgvector_is_told_from_one_that_is_down(postgres_server: str) -> None:
    if explained(postgres_server, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this PostgreSQL has pgvector")
    refused(postgres_server, MissingPartError, "has no pgvector: .* CREATE EXTENSION vector")


def test_a_role_that_may_not_add_pgvector_is_told_what_to_run(
    server: PostgresServer, url: str
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS clerk")
        connection.execute("CREATE ROLE clerk LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO clerk")
    theirs = url.replace("postgres@", "clerk@")
    refused(theirs, ProviderRefusedError, "'clerk' may not .* run CREATE EXTENSION vector")
    assert server.pid


def test_a_pgvector_that_is_too_old_is_refused(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    refused(url, MissingPartError, "0.8 or newer is needed, .* has 0.7: .*UPDATE")


def test_a_database_that_is_not_there_is_refused(server: PostgresServer) -> None:
    refused(server.url + "_none", ProviderRefusedError, "does not exist.* Check its address")


@pytest.mark.parametrize(
    "wrong", ["", "sqlite:///x", "http://me:secret@host/", "postgresql://host:port/x?a=secret"]
)
def test_an_address_that_is_none_is_refused_and_not_repeated(wrong: str) -> None:
    with pytest.raises(InvalidSettingError, match="write it as") as told:
        PgvectorIndexes(wrong)
    assert "secret" not in str(told.value)


def test_a_password_goes_where_the_address_has_none() -> None:
    assert "password=key" in address_of("postgresql+psycopg://me@host/x", "key")
    assert "key" not in address_of("postgresql://me:mine@host/x", "key")


def test_a_name_that_no_table_can_index_is_refused(url: str) -> None:
    noise = "".join(map(chr, np.random.default_rng(5).integers(0x4E00, 0x9000, 4000)))

    async def scene() -> None:
        index = await PgvectorIndexes(url).open(SPACE)
        with pytest.raises(InvalidInputError, match="cannot hold this"):
            await index.upsert([point(noise)])
        assert await index.census() == {}
        await index.close()

    asyncio.run(scene())


def test_a_space_that_somebody_dropped_is_unavailable(url: str) -> None:
    async def scene() -> None:
        indexes = PgvectorIndexes(url)
        index = await indexes.open(SPACE)
        await indexes.drop(SPACE.name)
        with pytest.raises(IndexUnavailableError, match="does not exist"):
            await index.census()
        await index.close()

    asyncio.run(scene())


def test_a_driver_that_is_not_installed_is_named() -> None:
    lines = "import sys; sys.modules['psycopg'] = None; import unchunk.adapters.index.pgvector"
    command: Sequence[str | Path] = [sys.executable, "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "MissingPartError" in done.stderr
    assert "unchunk[postgres]" in done.stderr


def test_a_connection_that_lies_idle_is_closed_and_another_one_made(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        connections = Connections(address_of(url), 10.0)

        async def who(connection: Connection) -> int:
            return connection.info.backend_pid

        first = await connections.run(who)
        assert await connections.run(who) == first
        monkeypatch.setattr(pgvector_connections, "_IDLE_SECONDS", 0.0)
        assert await connections.run(who) != first
        await connections.close()

    asyncio.run(scene())


def test_a_machine_that_is_gone_without_a_word_is_noticed() -> None:
    known = conninfo_to_dict(address_of("postgresql://me@host/x?connect_timeout=7"))
    assert known["connect_timeout"] == "7"
    assert {"keepalives_idle", "keepalives_interval", "tcp_user_timeout"} <= set(known)

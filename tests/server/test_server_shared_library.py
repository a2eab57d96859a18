"""Two servers of one library: what is changed at the one is so at the other, at once."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from adapters.extract import making
from databases import schema_in
from server.houses import House, add, house
from servers import qdrant
from unchunk.domain import NewFile
from unchunk.engine import Engine
from unchunk.server.sweeping import sweep_shared

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
TIDES = "The tide turns at noon, and boats leave the harbour with it."
WINDS = "The wind turns at midnight, and boats wait for it in the harbour."
QUESTION = {"question": "When does the tide turn?", "message": "When does the tide turn?"}


@pytest.fixture(scope="module")
def town(
    postgres_server: str, postgres_tables: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[House, House]]:
    folder = tmp_path_factory.mktemp("town")
    (folder / "blobs").mkdir()
    with ExitStack() as stack:
        index = stack.enter_context(qdrant(folder / "qdrant"))
        catalog = stack.enter_context(schema_in(postgres_server, postgres_tables))
        settings = {
            "catalog": catalog,
            "index": f"qdrant:{index.url}",
            "blobs": f"folder:{folder / 'blobs'}",
        }
        houses = []
        for name in ("one", "other"):
            (folder / name).mkdir()
            houses.append(stack.enter_context(house(folder / name, settings=settings)))
        yield houses[0], houses[1]


@pytest.fixture
def one(town: tuple[House, House]) -> httpx2.Client:
    return town[0]["local"]


@pytest.fixture
def other(town: tuple[House, House]) -> httpx2.Client:
    return town[1]["local"]


def found(client: httpx2.Client, question: str = QUESTION["question"]) -> list[str]:
    """The texts that are found, as whoever answers is given them."""
    reply = client.post("/api/retrieve", json={"message": question})
    assert reply.status_code == 200, reply.text
    return [one["name"] for one in reply.json()["sources"]]


def answered(client: httpx2.Client) -> str:
    reply = client.post("/api/chat", json={"message": QUESTION["message"], "rag_enabled": True})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["answer"])


def engine_of(place: House) -> Engine:
    engine = place.served.app.state.house.engine
    assert isinstance(engine, Engine)
    return engine


def test_searches_and_answers_know_at_once_what_was_changed_elsewhere(
    one: httpx2.Client, other: httpx2.Client
) -> None:
    for _ in range(2):
        # Both remember that there is nothing.
        assert [found(client) for client in (one, other)] == [[], []]
    document = add(one, "tides.txt", TIDES)
    for _ in range(2):
        assert [found(client) for client in (other, one)] == [["tides.txt"], ["tides.txt"]]
        assert all("noon" in answered(client) for client in (other, one))
    add(other, "tides.txt", WINDS)
    for _ in range(2):
        assert all("midnight" in answered(client) for client in (one, other))
        assert not any("noon" in answered(client) for client in (one, other))
    assert other.delete(f"/api/documents/{document}").status_code == 200
    assert [found(client) for client in (one, other)] == [[], []]
    assert [client.get(f"/api/documents/{document}").status_code for client in (one, other)] == [
        *(404, 404)
    ]


def test_names_are_known_as_they_are_now(
    one: httpx2.Client, other: httpx2.Client, town: tuple[House, House]
) -> None:
    def named(place: House) -> list[str]:
        engine = engine_of(place)
        cards = place.served.inside(lambda: engine.find_file_by_name("lighthouse"))
        return [card.name for card in cards]

    assert [named(place) for place in town] == [[], []]
    document = add(one, "lighthouse.txt", TIDES)
    assert [named(place) for place in town] == [["lighthouse.txt"]] * 2
    assert other.delete(f"/api/documents/{document}").status_code == 200
    assert [named(place) for place in town] == [[], []]


def test_pages_of_a_document_that_was_deleted_elsewhere_are_not_shown_nor_held(
    one: httpx2.Client, other: httpx2.Client, town: tuple[House, House]
) -> None:
    document = add(one, "visitors.pdf", making.pdf(["The harbour opens at six."]))
    stays = add(one, "stays.pdf", making.pdf(["The harbour closes at ten."]))
    for name in (document, stays):
        assert other.get(f"/api/documents/{name}/pages/1").status_code == 200
    inside = town[1].served.app.state.house
    before = inside.pictures.size
    assert one.delete(f"/api/documents/{document}").status_code == 200
    assert other.get(f"/api/documents/{document}/pages/1").status_code == 404
    town[1].served.inside(lambda: sweep_shared(inside))
    assert 0 < inside.pictures.size < before
    assert one.delete(f"/api/documents/{stays}").status_code == 200


def test_stores_and_their_files_are_the_same_at_every_server(
    one: httpx2.Client, other: httpx2.Client
) -> None:
    documents = [add(one, f"{name}.txt", f"{name} {TIDES}") for name in ("a", "b", "c")]
    made = one.post("/v1/vector_stores", json={"name": "harbour"}).json()["id"]
    files = [client.get("/v1/files").json()["data"] for client in (one, other)]
    assert files[0] == files[1]
    ids = [file["id"] for file in files[1]]
    for file in ids:
        attached = other.post(f"/v1/vector_stores/{made}/files", json={"file_id": file})
        assert attached.status_code == 200, attached.text
    place = f"/v1/vector_stores/{made}"
    hits = one.post(f"{place}/search", json={"query": "tide"}).json()["data"]
    assert {hit["filename"] for hit in hits} == {"a.txt", "b.txt", "c.txt"}
    # The page behind a file that another server removed.
    first = one.get(f"{place}/files?limit=1").json()["last_id"]
    assert one.delete(f"{place}/files/{first}").status_code == 200
    rest = other.get(f"{place}/files?after={first}").json()["data"]
    assert first not in {file["id"] for file in rest}
    assert len(rest) == 2
    hits = other.post(f"{place}/search", json={"query": "tide"}).json()["data"]
    assert len({hit["filename"] for hit in hits}) == 2
    assert other.delete(place).status_code == 200
    assert one.get(place).status_code == 404
    for document in documents:
        one.delete(f"/api/documents/{document}")


def test_no_change_of_a_store_is_lost_whichever_servers_it_comes_to(
    one: httpx2.Client, other: httpx2.Client, town: tuple[House, House]
) -> None:
    made = one.post("/v1/vector_stores", json={"name": "old"}).json()["id"]

    async def change() -> None:
        async with httpx2.AsyncClient(timeout=60) as client:
            urls = [f"{place.served.url}/v1/vector_stores/{made}" for place in town]
            said = [{"name": "new"}, {"metadata": {"a": "b"}}]
            await asyncio.gather(
                *(client.post(url, json=one) for url, one in zip(urls, said, strict=True))
            )

    for _ in range(3):
        one.post(f"/v1/vector_stores/{made}", json={"name": "old", "metadata": {}})
        asyncio.run(change())
        store = other.get(f"/v1/vector_stores/{made}").json()
        assert (store["name"], store["metadata"]) == ("new", {"a": "b"})
    other.delete(f"/v1/vector_stores/{made}")


def test_a_conversation_goes_on_at_another_server(one: httpx2.Client, other: httpx2.Client) -> None:
    body = {"message": "When?", "conversation": "new", "rag_enabled": True}
    talk = one.post("/api/chat", json=body).json()["conversation"]
    again = other.post("/api/chat", json=body | {"conversation": talk}).json()
    assert again["turn"] == 1
    place = f"/api/conversations/{talk}"
    assert one.get(place).json() == other.get(place).json()
    assert len(one.get(place).json()["turns"]) == 2
    assert other.patch(place, json={"title": "Tides"}).status_code == 200
    assert one.get(place).json()["title"] == "Tides"
    one.put("/api/prompts", json={"folder": "work", "text": "Be brief."})
    assert other.get("/api/prompts").json() == one.get("/api/prompts").json()
    assert one.delete(place).status_code in {200, 204}
    assert other.get(place).status_code == 404


def test_a_response_is_gone_on_from_at_another_server(
    one: httpx2.Client, other: httpx2.Client
) -> None:
    first = one.post("/v1/responses", json={"input": "When?"}).json()
    said = {"input": "And then?", "previous_response_id": first["id"]}
    second = other.post("/v1/responses", json=said).json()
    assert second["previous_response_id"] == first["id"]
    assert other.get(f"/v1/responses/{first['id']}").json()["id"] == first["id"]
    one.delete(f"/v1/responses/{first['id']}")
    assert other.post("/v1/responses", json=said).status_code == 404


def test_a_question_that_another_server_answers_is_left_to_it(town: tuple[House, House]) -> None:
    engines = [engine_of(place) for place in town]
    kept = [engine._talk.conversations for engine in engines]

    async def begin() -> str:
        talk = (await kept[0].start("local")).id
        await kept[0].ask("local", talk, "When?")
        return talk

    async def status(talk: str) -> str:
        await engines[1].abandon()
        [turn] = await kept[1].turns("local", talk)
        return turn.answered.status

    talk = town[0].served.inside(begin)
    town[0].served.inside(engines[0].abandon)
    assert town[1].served.inside(lambda: status(talk)) == "pending"


def test_chores_that_all_servers_do_at_once_do_no_harm(
    town: tuple[House, House], tmp_path: Path
) -> None:
    path = tmp_path / "short.txt"
    path.write_text(TIDES)
    engines = [engine_of(place) for place in town]

    async def add_some() -> None:
        for number in range(4):
            said = NewFile(f"{number}.txt", "assistants", timedelta(0))
            await engines[0].keep_file(path, f"{number}.txt", owner="local", said=said)

    async def sweep(at: int) -> int:
        inside = town[at].served.app.state.house
        documents = await engines[at].documents(owner="local")
        late = max(one.created_at for one in documents) + timedelta(hours=1)
        swept = await engines[at].stores.sweep(late, inside.forgetting)
        await sweep_shared(inside)
        return swept

    town[0].served.inside(add_some)
    with ThreadPoolExecutor(2) as both:
        swept = both.map(lambda at: town[at].served.inside(lambda: sweep(at)), (0, 1))
        assert sum(swept) == 4
    assert town[0].served.inside(lambda: engines[0].documents(owner="local")) == []

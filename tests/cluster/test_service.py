"""Two servers and three workers as one service: whoever is asked, knows what any of them did."""

from pathlib import Path

import httpx2

from cluster.exempt import EXEMPT
from cluster.suite import SUITE
from server.houses import add, ended, house, later

TIDES = "# Tides\n\nThe tide comes in twice a day.\n\n" + "Salt water rises over the sand. " * 60


def test_what_one_server_took_in_every_other_one_tells(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client = it["local"]
        document = add(client, "tides.md", TIDES)
        for _ in range(4):
            # Each of these is another server's than the one before.
            assert client.get(f"/api/documents/{document}/text").json()["text"].strip()
            body = {"query": "When does the tide come in?"}
            found = client.post("/api/search", json=body).json()["results"]
            assert {one["document_id"] for one in found} == {document}
        client.delete(f"/api/documents/{document}")
        for _ in range(4):
            assert client.get(f"/api/documents/{document}").status_code == 404


def test_documents_come_in_by_workers_alone(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client = it["local"]
        jobs = [later(client, f"{at}.md", f"{at} {TIDES}") for at in range(12)]
        assert {ended(client, one["id"])["result"] for one in jobs} == {"added"}
        assert client.get("/api/documents").json()["total"] == 12


def test_a_key_is_known_and_refused_by_all_of_them(tmp_path: Path) -> None:
    with house(tmp_path, "ann") as it:
        for _ in range(4):
            assert it["ann"].get("/api/documents").status_code == 200
            assert httpx2.get(f"{it.served.url}/api/documents").status_code == 401


def test_an_exempted_test_is_one_that_is_there() -> None:
    tests = Path(__file__).parents[1]
    for name in EXEMPT:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (tests / file).read_text(), name
        assert file in SUITE

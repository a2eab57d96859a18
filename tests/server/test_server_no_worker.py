"""A server that does no work, and nobody who does it: whoever waits for a file is not kept."""

import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from server.houses import PATIENCE, house, send
from server.scripted import eventually
from unchunk.server.options import Options

COMING = "unchunk_uploads_in_progress"
BODY = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    b"The tide comes in.\r\n--x--\r\n"
)
HEAD = (
    "POST /api/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; "
    f"boundary=x\r\nContent-Length: {len(BODY)}\r\n\r\n"
).encode()


def queued(client: httpx2.Client) -> list[str]:
    return [it["state"] for it in client.get("/api/jobs").json()["jobs"]]


def test_whoever_waits_is_told_after_a_while_that_nobody_took_it_in(tmp_path: Path) -> None:
    with house(tmp_path, options=Options(work=False, upload_seconds=0.2)) as it:
        reply = send(it["local"], "a.txt", "The tide comes in.")
        assert (reply.status_code, reply.json()["result"]) == (202, "waiting")
        assert "as soon as a worker has time" in reply.json()["message"]
        assert queued(it["local"]) == ["queued"]


def test_whoever_goes_away_frees_their_place_and_their_file_is_kept(tmp_path: Path) -> None:
    options = Options(work=False, max_uploads=1, upload_patience=0.1)
    with house(tmp_path, options=options) as it:
        where = urlsplit(it.served.url)
        with socket.create_connection((where.hostname, where.port)) as line:
            line.sendall(HEAD + BODY)
            eventually(lambda: queued(it["local"]) == ["queued"], PATIENCE)
            assert f"{COMING} 1.0" in it["local"].get("/metrics").text
        eventually(lambda: f"{COMING} 0.0" in it["local"].get("/metrics").text, PATIENCE)
        assert queued(it["local"]) == ["queued"]


def test_whoever_waits_is_told_when_the_server_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unchunk", "--home", str(tmp_path / "home"), "serve"]
    arguments = ["--no-work", "--no-sample", "--port", "0", "--json"]
    with subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": "", "UNCHUNK_EMBEDDER": "hashing"},
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split('"')[3]
            replies: list[httpx2.Response] = []
            with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
                one = threading.Thread(target=lambda: replies.append(send(client, "a.txt", "Tide")))
                one.start()
                with httpx2.Client(base_url=url, timeout=PATIENCE) as other:
                    eventually(lambda: queued(other) == ["queued"], PATIENCE)
                server.send_signal(signal.SIGTERM)
                one.join(PATIENCE)
            assert [(it.status_code, it.json()["result"]) for it in replies] == [(202, "waiting")]
            assert server.wait(PATIENCE) == 0
        finally:
            server.kill()

"""Users of a server, each with an order of its own: they upload, search, ask, read and delete.

Users of one owner share a library, so one finds what another has just deleted; that is refused,
and meant to be. Anything else that is refused, broken, untrue or somebody else's is wrong. Knows
nothing of how the server was started.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2

from adapters.extract.making import pdf

Kind = Literal["upload", "upload later", "search", "chat", "retrieve", "read", "list", "delete"]
# How often each is done, of a hundred.
MIX: dict[Kind, int] = {
    "upload": 10,
    "upload later": 5,
    "search": 25,
    "chat": 20,
    "retrieve": 5,
    "read": 15,
    "list": 10,
    "delete": 10,
}
_BUSY = (409, 429)
_MOST_TOLD = 20
_WORDS = ["harbour", "pilot", "tide", "anchor", "berth", "crane", "storm", "signal", "lantern"]
_WORDS += ["keeper", "ledger", "barrel", "rope", "sail", "oar", "winter", "summer", "meadow"]


@dataclass
class Library:
    """What one owner has, as far as its users know. `gone` is from the moment it is deleted."""

    owner: str
    key: str
    most: int = 40
    documents: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


@dataclass
class Tally:
    """What came of it all: seconds by kind, refusals that are meant, and what is wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    meant: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def fault(self, kind: str, what: str, detail: str = "") -> None:
        self.wrong[f"{kind}: {what}"] += 1
        if len(self.told) < _MOST_TOLD:
            self.told.append(f"{kind}: {what} {detail[:500]}")


class Refused(Exception):  # noqa: N818 - not always an error
    """What was asked did not happen, and is counted already."""


class User:
    """One of the users of a library. What it does is drawn from `seed`."""

    def __init__(self, url: str, library: Library, tally: Tally, seed: int) -> None:
        self._library, self._tally = library, tally
        self._rng = random.Random(seed)
        headers = {"Authorization": f"Bearer {library.key}"}
        self._client = httpx2.AsyncClient(base_url=url, headers=headers, timeout=120)

    async def close(self) -> None:
        await self._client.aclose()

    async def act(self) -> None:
        """Do one thing, whatever it is, and count it."""
        kind: Kind = self._rng.choices([*MIX], [*MIX.values()])[0]
        documents = len(self._library.documents)
        if documents >= self._library.most and kind.startswith("upload"):
            kind = "delete"
        if not documents and kind != "list":
            kind = "upload"
        acts: dict[Kind, Callable[[], Awaitable[None]]] = {
            "upload": self._upload,
            "upload later": self._upload_later,
            "search": self._search,
            "chat": self._chat,
            "retrieve": self._retrieve,
            "read": self._read,
            "list": self._list,
            "delete": self._delete,
        }
        began = time.perf_counter()
        try:
            await acts[kind]()
        except Refused:
            return
        except httpx2.HTTPError as error:
            self._tally.fault(kind, f"no reply ({type(error).__name__})", str(error))
            return
        self._tally.seconds[kind].append(time.perf_counter() - began)

    async def _ask(
        self,
        kind: Kind,
        method: str,
        path: str,
        about: str = "",
        **sent: Any,  # noqa: ANN401 - httpx2's own
    ) -> httpx2.Response:
        """A reply that says yes; `about` is the document that it depends on."""
        return self._checked(kind, await self._client.request(method, path, **sent), about)

    def _checked(self, kind: Kind, reply: httpx2.Response, about: str = "") -> httpx2.Response:
        status = reply.status_code
        if status < 300:
            return reply
        if status in _BUSY or (status == 404 and about in self._library.gone):
            self._tally.meant[kind, status] += 1
        else:
            self._tally.fault(kind, f"status {status}", reply.text)
        raise Refused

    def _one(self) -> tuple[str, str]:
        return self._rng.choice([*self._library.documents.items()])

    def _file(self) -> tuple[str, tuple[str, bytes]]:
        """A word that stands nowhere else, and a file with it."""
        word = f"zq{self._rng.getrandbits(48):012x}"
        lines = [
            f"{' '.join(self._rng.choices(_WORDS, k=12))} {word}."
            for _ in range(self._rng.randint(5, 60))
        ]
        name = f"{self._library.owner}-{word}"
        form = self._rng.choice(["md", "md", "txt", "html", "pdf"])
        contents = {
            "md": f"# {word}\n\n" + "\n\n".join(lines),
            "txt": "\n".join(lines),
            "html": f"<h1>{word}</h1>" + "".join(f"<p>{line}</p>" for line in lines),
        }
        data = pdf(lines[:3]) if form == "pdf" else contents[form].encode()
        return word, (f"{name}.{form}", data)

    async def _upload(self) -> None:
        word, file = self._file()
        reply = await self._ask("upload", "POST", "/api/documents", files={"file": file})
        self._library.documents[reply.json()["document_id"]] = word

    async def _upload_later(self) -> None:
        word, file = self._file()
        form = {"wait": "false", "folder": "later"}
        reply = await self._ask(
            "upload later", "POST", "/api/documents", files={"file": file}, data=form
        )
        begun = reply.json()
        job, document = begun["job"], begun["document_id"]
        while job["state"] in ("queued", "running"):
            await asyncio.sleep(0.1)
            path = f"/api/jobs/{job['id']}"
            job = (await self._ask("upload later", "GET", path, document)).json()
        if job["state"] != "done":
            self._tally.fault("upload later", f"job {job['state']}", job["error"])
            raise Refused
        self._library.documents[document] = word

    async def _search(self) -> None:
        document, word = self._one()
        body = {"query": f"{word} {self._rng.choice(_WORDS)}", "top_k": 5}
        found = (await self._ask("search", "POST", "/api/search", json=body)).json()["results"]
        self._check_owner("search", [one["document_name"] for one in found])
        ids = [one["document_id"] for one in found]
        if document not in ids and document not in self._library.gone:
            self._tally.fault("search", "a document is not found", f"{document} in {ids}")

    async def _retrieve(self) -> None:
        _, word = self._one()
        body = {"message": f"What of {word}?"}
        got = (await self._ask("retrieve", "POST", "/api/retrieve", json=body)).json()
        self._check_owner("retrieve", [one["name"] for one in got["sources"]])

    async def _chat(self) -> None:
        _, word = self._one()
        draw = self._rng.random()
        body = {"message": f"What is said of {word}?"} | (
            {"conversation": "new"} if draw < 0.5 else {}
        )
        if draw > 0.8:
            body |= {"model": "stream:100:0.02"}
        await self._stream(body, stops=draw > 0.8)

    async def _stream(self, body: dict[str, str], *, stops: bool) -> None:
        kinds: list[str] = []
        conversation = ""
        async with self._client.stream("POST", "/api/chat/stream", json=body) as reply:
            if reply.status_code != 200:
                await reply.aread()
            stream = self._checked("chat", reply).headers["X-Stream-ID"]
            async for line in reply.aiter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kinds.append(value)
                elif name == "data" and kinds[-1] == "sources":
                    sources = json.loads(value)["sources"]
                    self._check_owner("chat", [one["name"] for one in sources])
                elif name == "data" and kinds[-1] == "plan":
                    conversation = json.loads(value)["conversation"]
                elif name == "data" and kinds[-1] == "token" and stops:
                    stops = False
                    await self._ask("chat", "DELETE", f"/api/chat/stream/{stream}")
        if "done" not in kinds and kinds[-1:] != ["error"]:
            self._tally.fault("chat", "a stream without an end", str(kinds[-3:]))
        if conversation:
            await self._put_away(conversation)

    async def _put_away(self, conversation: str) -> None:
        path = f"/api/conversations/{conversation}"
        turns = (await self._ask("chat", "GET", path)).json()["turns"]
        if len(turns) != 1 or not turns[0]["answer"]:
            self._tally.fault("chat", "a conversation that is not what was said", str(turns))
        await self._ask("chat", "DELETE", path)

    async def _read(self) -> None:
        document, word = self._one()
        path = f"/api/documents/{document}"
        outline = (await self._ask("read", "GET", f"{path}/outline", document)).json()
        text = (await self._ask("read", "GET", f"{path}/text", document)).json()["text"]
        chunks = (await self._ask("read", "GET", f"{path}/chunks", document)).json()["chunks"]
        await self._ask("read", "GET", f"{path}/original", document)
        if word not in text or len(text) != outline["text_length"]:
            self._tally.fault("read", "a text that is not what was sent", text)
        if any(one["text"] != text[one["start"] : one["end"]] for one in chunks):
            self._tally.fault("read", "a chunk that is not in its text", document)

    async def _list(self) -> None:
        query = {"limit": "20", "offset": str(self._rng.randrange(20))}
        found = (await self._ask("list", "GET", "/api/documents", params=query)).json()
        self._check_owner("list", [one["name"] for one in found["documents"]])
        for path in ("/api/folders", "/api/jobs", "/api/status", "/api/conversations"):
            await self._ask("list", "GET", path)

    async def _delete(self) -> None:
        document, _ = self._one()
        self._library.gone.add(document)
        self._library.documents.pop(document)
        reply = await self._ask("delete", "DELETE", f"/api/documents/{document}", document)
        if not reply.json()["receipt"]["clean"]:
            self._tally.fault("delete", "something is left", reply.text)

    def _check_owner(self, kind: Kind, names: list[str]) -> None:
        strange = [one for one in names if not one.startswith(f"{self._library.owner}-")]
        if strange:
            self._tally.fault(kind, "somebody else's document", str(strange))


async def crowd(
    url: str,
    libraries: list[Library],
    users: int,
    *,
    seconds: float | None = None,
    actions: int | None = None,
    seed: int = 0,
) -> Tally:
    """So many users at once, until the time is over or each has done so much."""
    tally, deadline = Tally(), None if seconds is None else time.monotonic() + seconds

    async def live(number: int) -> None:
        user = User(url, libraries[number % len(libraries)], tally, seed + number)
        pauses = random.Random(seed - number - 1)
        done = 0
        try:
            while (deadline is None or time.monotonic() < deadline) and done != actions:
                await user.act()
                done += 1
                # A person looks at what came; without a clock nobody needs to.
                await asyncio.sleep(pauses.uniform(0, 0.4) if deadline else 0)
        finally:
            await user.close()

    await asyncio.gather(*(live(number) for number in range(users)))
    return tally

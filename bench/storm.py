"""Users who go on while parts of a service fail, and who know what they may be shown.

They add, replace and delete documents that tell their own version (`bench.ledger`), and search,
ask, retrieve and read. A refusal that says what it is is counted; a connection that broke, too.
Anything untrue is wrong: a part of a version that may not be shown, a mixture, a half, something
that is lost, an end that does not come. Knows nothing of who breaks what.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from bench.ledger import NONE, Act, Place, accept, now, settle, text_of

PATIENCE = 45.0
Outcome = str
_CLEAR = (409, 429, 502, 503, 507)
_MOST_TOLD = 30


@dataclass
class Seen:
    """What came of it: how often each kind ended how, while what was broken; and what is wrong."""

    counts: Counter[tuple[str, str, Outcome]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    label: str = "calm"

    def fault(self, what: str) -> None:
        if what and len(self.wrong) < _MOST_TOLD:
            self.wrong.append(f"[{self.label}] {what}")


class Refused(Exception):  # noqa: N818 - not always an error
    """It did not happen, or nobody knows whether it did; it is counted already."""


class Owner:
    """One of those whose documents are there, with all its users."""

    def __init__(
        self, url: str, name: str, key: str, seen: Seen, *, places: int, seed: int
    ) -> None:
        self.places = {f"{name}-{at}": Place(name, f"{name}-{at}") for at in range(places)}
        self.jobs: dict[str, tuple[Place, Act]] = {}
        self._seen, self._rng, self._name = seen, random.Random(seed), name
        headers = {"Authorization": f"Bearer {key}"}
        limits = httpx2.Limits(max_keepalive_connections=8)
        self._client = httpx2.AsyncClient(
            base_url=url, headers=headers, timeout=PATIENCE, limits=limits
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def write(self, place: Place) -> None:
        """Send another version, or delete it."""
        if self._rng.random() < 0.7 or not (place.document or await self.find(place)):
            await self._send(place)
        else:
            await self._delete(place)

    async def look(self) -> None:
        """Search, ask, retrieve, read or list, and check all that is shown."""
        looks: list[Callable[[], Awaitable[None]]] = [self._search, self._retrieve, self._chat]
        looks += [self._read, self._read, self._original, self._list]
        await self._rng.choice(looks)()

    async def _send(self, place: Place) -> None:
        act = place.begin()
        wait = "true" if self._rng.random() < 0.5 else "false"
        file = (f"{place.name}.txt", text_of(place.name, act.value).encode())
        try:
            reply = await self._ask(
                "send", "POST", "/api/documents", files={"file": file}, data={"wait": wait}
            )
        finally:
            accept(act)
        told = reply.json()
        place.document = told["document_id"]
        if reply.status_code == 200:
            settle(act)
        elif "job" in told:
            self.jobs[told["job"]["id"]] = place, act

    async def _delete(self, place: Place) -> None:
        act, since = place.begin(deletes=True), now()
        document = place.document
        try:
            reply = await self._ask(
                "delete", "DELETE", f"/api/documents/{document}", missing=place, since=since
            )
        finally:
            accept(act)
        place.document = ""
        if reply.status_code != 404:
            settle(act)

    async def find(self, place: Place) -> str:
        """Its id, or nothing."""
        query = {"q": f"{place.name}.txt"}
        listed = (await self._ask("list", "GET", "/api/documents", params=query)).json()
        ids = [one["id"] for one in listed["documents"] if one["name"] == f"{place.name}.txt"]
        place.document = ids[0] if ids else ""
        return place.document

    async def read_whole(self, place: Place) -> None:
        """Its text and its original, both of one version that may be there now."""
        text = await self._shown(place, "read", "text", lambda reply: str(reply.json()["text"]))
        original = await self._shown(place, "original", "original", lambda reply: reply.text)
        if text != original:
            self._seen.fault(f"{place.name} has another text than its original")

    async def _read(self) -> None:
        await self._shown(self._any(), "read", "text", lambda reply: str(reply.json()["text"]))

    async def _original(self) -> None:
        await self._shown(self._any(), "original", "original", lambda reply: reply.text)

    async def _shown(
        self, place: Place, kind: str, part: str, text: Callable[[httpx2.Response], str]
    ) -> str:
        since = now()
        if not (document := place.document):
            return ""
        path = f"/api/documents/{document}/{part}"
        reply = await self._ask(kind, "GET", path, missing=place, since=since)
        if reply.status_code != 200:
            return ""
        self._seen.fault(place.fault(text(reply), since))
        return text(reply)

    async def _search(self) -> None:
        place, since = self._any(), now()
        body = {"query": f"doc {place.name} version {place.last}", "top_k": 8}
        told = (await self._ask("search", "POST", "/api/search", json=body)).json()
        for one in told["results"]:
            self._check(one["document_name"], [one["chunk_text"]], since)

    async def _retrieve(self) -> None:
        place, since = self._any(), now()
        body = {"message": f"What does doc {place.name} say of the harbour?"}
        told = (await self._ask("retrieve", "POST", "/api/retrieve", json=body)).json()
        self._check_sources(told["sources"], since)

    async def _chat(self) -> None:
        place, since = self._any(), now()
        body = {"message": f"What is in line 3 of doc {place.name}?"}
        told = (await self._ask("chat", "POST", "/api/chat", json=body)).json()
        self._check_sources(told["sources"], since)

    async def _list(self) -> None:
        since = now()
        params = {"limit": "500"}
        told = (await self._ask("list", "GET", "/api/documents", params=params)).json()
        names = {one["name"].removesuffix(".txt") for one in told["documents"]}
        for strange in names - set(self.places):
            self._seen.fault(f"{self._name} is shown {strange}, which is somebody else's")
        for place in self.places.values():
            allowed = place.allowed(since)
            if place.name in names and allowed == {NONE}:
                self._seen.fault(f"{place.name} is listed, and was deleted")
            if place.name not in names and NONE not in allowed:
                self._seen.fault(f"{place.name} is lost: not listed, one of {allowed} should be")

    def _check_sources(self, sources: list[dict[str, Any]], since: int) -> None:
        for one in sources:
            self._check(one["name"], [passage["text"] for passage in one["passages"]], since)

    def _check(self, name: str, texts: list[str], since: int) -> None:
        place = self.places.get(name.removesuffix(".txt"))
        if place is None:
            self._seen.fault(f"{self._name} is shown {name}, which is somebody else's")
        else:
            self._seen.fault(place.passage_fault(texts, since))

    async def follow(self) -> None:
        """Ask what became of documents that are to come in."""
        for job, (place, act) in list(self.jobs.items()):
            reply = await self._ask("job", "GET", f"/api/jobs/{job}", missing=place, since=0)
            if reply.status_code == 404 or reply.json()["state"] in ("done", "failed"):
                del self.jobs[job]
                self._ended(place, act, reply)

    def _ended(self, place: Place, act: Act, reply: httpx2.Response) -> None:
        told = reply.json()
        if reply.status_code == 200 and told["state"] == "done":
            settle(act)
        elif not any(one is not act and one.outlasts(act) for one in place.acts):
            self._seen.fault(f"the job of {place.name} version {act.value} ended so: {told}")

    def _any(self) -> Place:
        return self._rng.choice([*self.places.values()])

    async def _ask(
        self,
        kind: str,
        method: str,
        path: str,
        missing: Place | None = None,
        since: int = 0,
        **sent: Any,  # noqa: ANN401 - httpx2's own
    ) -> httpx2.Response:
        """A reply that says yes; or 404, of what may be `missing`."""
        seen, began = self._seen, asyncio.get_running_loop().time()
        try:
            reply = await self._client.request(method, path, **sent)
        except httpx2.TimeoutException:
            seen.fault(f"{kind} has no end after {PATIENCE:.0f} s")
            raise Refused from None
        except httpx2.HTTPError as error:
            seen.counts[seen.label, kind, "broken"] += 1
            seen.refusals[seen.label, f"{kind}: {type(error).__name__}"] += 1
            raise Refused from None
        label, took = seen.label, asyncio.get_running_loop().time() - began
        seen.slowest[label] = max(seen.slowest.get(label, 0.0), took)
        if reply.status_code == 404 and missing is not None:
            if since and NONE not in missing.allowed(since) and missing.document in path:
                seen.fault(f"{missing.name} is lost: {kind} does not find it")
            seen.counts[label, kind, "gone"] += 1
            return reply
        if reply.status_code in _CLEAR and reply.json()["error"]["message"]:
            seen.counts[label, kind, "refused"] += 1
            seen.refusals[label, f"{kind}: {reply.status_code} {reply.text[:160]}"] += 1
            raise Refused
        if reply.status_code >= 300:
            seen.fault(f"{kind}: status {reply.status_code} {reply.text[:300]}")
            raise Refused
        seen.counts[label, kind, "degraded" if _is_degraded(kind, reply) else "good"] += 1
        return reply


def _is_degraded(kind: str, reply: httpx2.Response) -> bool:
    """Whether it says that it had to do without a part."""
    if kind not in ("search", "retrieve", "chat"):
        return False
    told = reply.json()
    codes = {one["code"] for one in told.get("warnings", [])}
    return bool(told.get("notes") or codes & {"search", "search-unavailable", "not-kept"})

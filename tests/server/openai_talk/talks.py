"""Official clients that ask a library with two documents, of which one is in a store.

The model that answers is scripted and stands behind a socket of its own; without it, answers are
quotes.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from openai import AsyncOpenAI, OpenAI

import towns
from adapters.llm.scripted import Behaviour, ScriptedModel, answer
from chat.rooms import HARBOUR, LIGHTHOUSE, NIGHT
from server.houses import house
from server.openai_sdk.clients import Place, sent
from unchunk.server.options import Options

T = TypeVar("T")
MODEL = "scripted"
ASKED: list[Any] = [{"role": "user", "content": NIGHT}]


@dataclass
class Talk:
    """`client` is the owner's. The harbour's rules are in `store`, the lighthouse is not."""

    place: Place
    model: ScriptedModel
    client: OpenAI
    store: str = ""
    harbour: str = ""
    lighthouse: str = ""

    @property
    def of_store(self) -> str:
        """The model that answers from the store."""
        return f"unchunk/{self.store}"

    def citation(self, chunk: int = 0) -> str:
        """As a model cites the harbour's rules."""
        return f"[{self.harbour.removeprefix('file-')}:{chunk}]"

    def says(self, *tokens: str, finish: str = "stop") -> str:
        """What the model will say to the next question; the whole of it is returned."""
        self.model.script.append(answer(*tokens, finish=finish))
        return "".join(tokens)

    def cites(self) -> str:
        """That it will say something with a citation."""
        return self.says("It costs ", "22 euros ", self.citation(), ".")

    def behaves(self, behaviour: Behaviour) -> None:
        self.model.script.append(behaviour)

    def post(self, path: str, body: Mapping[str, object]) -> httpx2.Response:
        """What is on the line, also for what no client would send."""
        headers = {"Authorization": f"Bearer {self.client.api_key}"}
        return httpx2.post(f"{self.client.base_url}{path}", json=body, headers=headers)

    def refuses(self, path: str, body: Mapping[str, object], param: str | None) -> None:
        """That it does, by name, in the words of the request alone, before a model is asked."""
        before = len(self.model.asked)
        reply = self.post(path, body)
        assert reply.status_code == 400, reply.text
        error = reply.json()["error"]
        assert (error["type"], error["param"]) == ("invalid_request_error", param)
        assert error["message"]
        assert not re.search(r"Body|constrained|list\[|body\.", error["message"])
        assert len(self.model.asked) == before

    def alone(self, work: Callable[[AsyncOpenAI], Awaitable[T]]) -> T:
        """What `work` does with the same client, but async."""

        async def done() -> T:
            async with AsyncOpenAI(
                base_url=self.client.base_url,
                api_key=self.client.api_key,
                max_retries=0,
                _strict_response_validation=True,
            ) as client:
                return await work(client)

        return asyncio.run(done())

    @property
    def told(self) -> list[dict[str, Any]]:
        """The messages that the model was sent last."""
        messages: list[dict[str, Any]] = self.model.asked[-1].body["messages"]
        return messages

    def is_quiet(self) -> bool:
        """Whether nothing is being written any more; of many servers nobody knows."""
        if towns.is_on():
            return True
        return self.place.house.served.streams.running == 0


@contextmanager
def talk(
    folder: Path, *owners: str, options: Options | None = None, with_model: bool = True
) -> Iterator[Talk]:
    """The first of the owners has the documents; without owners, who needs no key."""
    with towns.model() as model:
        settings: dict[str, str | float] = {"chunk_size": 200, "chat_timeout": 5.0}
        if with_model:
            settings |= {"chat": f"openai:{MODEL}", "chat_url": f"{model.url}/v1"}
        with house(folder, *owners, options=options, settings=settings) as served:
            place = Place(served, OpenAI(api_key="none"))
            it = Talk(place, model, place.owned(owners[0]) if owners else _anybody(place))
            it.harbour = sent(it.client, "harbour.md", HARBOUR).id
            it.lighthouse = sent(it.client, "lighthouse.md", LIGHTHOUSE).id
            made = it.client.vector_stores.create(name="Harbour")
            it.store = made.id
            it.client.vector_stores.files.create(
                made.id, file_id=it.harbour, attributes={"kind": "rules", "year": 2020}
            )
            yield it
            it.client.close()


def _anybody(place: Place) -> OpenAI:
    return OpenAI(
        base_url=place.url,
        api_key="sk-any",
        max_retries=0,
        timeout=60,
        _strict_response_validation=True,
    )

"""How many tokens an answer took, counted here where the provider does not tell."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from unchunk.chat.events import Event, SourcesFound, Token, Used
from unchunk.chat.request import words
from unchunk.ports import Message
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.text.tokens import get_encoding


async def counted(
    events: AsyncGenerator[Event, None], messages: Sequence[Message]
) -> AsyncGenerator[Event, None]:
    """The same events; that of the usage has numbers in any case."""
    said: list[str] = []
    sent: tuple[ReconstructedDocument, ...] = ()
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Token):
                said.append(event.text)
            elif isinstance(event, SourcesFound):
                sent = event.documents
            elif isinstance(event, Used):
                yield await _filled(event, messages, sent, "".join(said))
                continue
            yield event


async def _filled(
    used: Used, messages: Sequence[Message], sent: Sequence[ReconstructedDocument], said: str
) -> Used:
    prompt, completion = used.prompt_tokens, used.completion_tokens
    if prompt is None:
        texts = [words(one) for one in messages]
        if used.unit == "tokens":
            prompt = used.context_size
        else:
            prompt, texts = 0, texts + [one.full_content for one in sent]
        prompt += await asyncio.to_thread(_count, texts)
    if completion is None:
        completion = await asyncio.to_thread(_count, [said])
    return replace(used, prompt_tokens=prompt, completion_tokens=completion)


def _count(texts: Iterable[str]) -> int:
    encoding = get_encoding("cl100k_base")
    # A model may give half a character.
    return sum(encoding.count(one.encode("utf-8", "replace").decode()) for one in texts)

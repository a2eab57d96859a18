"""How many tokens texts have, as OpenAI's newer models count."""

import asyncio
from collections.abc import Sequence

from unchunk.text.tokens import get_encoding


async def token_counts(texts: Sequence[str]) -> list[int]:
    """In a thread: long texts take a while."""
    return await asyncio.to_thread(_counts, texts) if texts else []


def _counts(texts: Sequence[str]) -> list[int]:
    encoding = get_encoding("cl100k_base")
    return [encoding.count(text) for text in texts]

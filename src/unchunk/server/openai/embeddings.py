"""Vectors of texts, by the embedder that the library was built with, whatever model is named."""

import base64
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from unchunk.retrieval.similarity import Embedded
from unchunk.server.access import InHouse, Owner, limited_of
from unchunk.server.bodies import AS_WHOLE
from unchunk.server.openai.faults import about, refuse
from unchunk.server.openai.shapes import Shape
from unchunk.server.rendering import reply
from unchunk.server.streaming import NOBODY, done_for
from unchunk.text.tokens import get_encoding

router = APIRouter(prefix="/embeddings")

_MOST = 2_048


class EmbeddingsBody(BaseModel):
    """`input_type` is ours: a question is embedded otherwise than what answers it."""

    input: JsonValue
    model: str = ""
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(strict=True), AS_WHOLE] | None = None
    input_type: Literal["query", "document"] = "document"


@router.post("")
async def create_embeddings(
    request: Request, body: EmbeddingsBody, house: InHouse, owner: Owner
) -> Response:
    """Whoever goes away stops it."""
    house.streams.check(limited_of(request))
    with about("input"):
        texts = _texts(body.input)
    embedder = house.engine.embedder
    if embedder is not None and body.dimensions not in (None, embedder.dimensions):
        raise refuse(
            f"{embedder.name} gives {embedder.dimensions} dimensions, and no other number",
            param="dimensions",
        )
    work = house.engine.embed(texts, body.input_type)
    with about("input"):
        made = await done_for(request.receive, house.streams, owner, work)
    if made is None:
        return Response(status_code=NOBODY)
    return reply(_shape(made, in_base64=body.encoding_format == "base64"))


def _shape(made: Embedded, *, in_base64: bool) -> Shape:
    rows = made.vectors.astype("<f4")
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": at,
                "embedding": base64.b64encode(row.tobytes()).decode()
                if in_base64
                else row.tolist(),
            }
            for at, row in enumerate(rows)
        ],
        "model": made.model,
        "usage": {"prompt_tokens": made.tokens, "total_tokens": made.tokens},
    }


def _texts(given: JsonValue) -> list[str]:
    """One or several texts, or tokens of cl100k_base in their place."""
    several: Sequence[JsonValue] = given if isinstance(given, list) else [given]
    if several and all(_is_token(one) for one in several):
        several = [list(several)]
    if not 1 <= len(several) <= _MOST:
        raise refuse(f"there are {len(several)} inputs: send 1 to {_MOST}", param="input")
    return [_text(one, at) for at, one in enumerate(several)]


def _text(given: JsonValue, at: int) -> str:
    if isinstance(given, list) and all(_is_token(one) for one in given):
        text = get_encoding("cl100k_base").decode([one for one in given if isinstance(one, int)])
    elif isinstance(given, str):
        text = given
    else:
        raise refuse(f"input {at} is neither a text nor a list of tokens", param="input")
    if not text:
        raise refuse(f"input {at} is empty", param="input")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refuse(f"input {at} has half a character", param="input") from None
    return text


def _is_token(one: JsonValue) -> bool:
    return isinstance(one, int) and not isinstance(one, bool)

"""Where a provider is, and how it wants to be asked: three dialects of one question.

Does no I/O. What an endpoint prints of itself holds no key: neither its URL nor its headers.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import numpy as np

from unchunk.errors import InvalidSettingError
from unchunk.ports import Vectors

Dialect = Literal["openai", "ollama"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`where` is for people; `fields` go into each request beside the texts."""

    where: str
    dialect: Dialect
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    key: str = field(repr=False)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def body(self, texts: Sequence[str], *, compact: bool) -> dict[str, Any]:
        """`compact` asks for base64, a quarter of the size; not every server knows it."""
        body = {**self.fields, "input": list(texts)}
        if compact and self.dialect == "openai":
            body["encoding_format"] = "base64"
        return body


def openai(url: str, model: str, key: str = "", dimensions: int | None = None) -> Endpoint:
    """Any server that speaks as OpenAI's does; `url` ends where `/embeddings` follows.

    `dimensions` asks for shorter vectors, of models that can be shortened.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    fields: dict[str, Any] = {"model": model}
    if dimensions is not None:
        fields["dimensions"] = dimensions
    return _endpoint("openai", f"{url.rstrip('/')}/embeddings", headers, key, fields)


def azure(
    url: str,
    deployment: str,
    key: str,
    api_version: str = "2024-10-21",
    dimensions: int | None = None,
) -> Endpoint:
    """`url` is the resource's own, and the model is what the deployment was made with."""
    path = f"/openai/deployments/{quote(deployment, safe='')}/embeddings"
    query = f"?api-version={quote(api_version, safe='')}"
    fields = {} if dimensions is None else {"dimensions": dimensions}
    return _endpoint("openai", url.rstrip("/") + path + query, {"api-key": key}, key, fields)


def ollama(url: str, model: str, max_tokens: int, key: str = "") -> Endpoint:
    """Ollama's own interface: the only one where a text that is too long is an error."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    fields = {"model": model, "truncate": False, "options": {"num_ctx": max_tokens}}
    return _endpoint("ollama", f"{url.rstrip('/')}/api/embed", headers, key, fields)


def read_vectors(reply: Any) -> Vectors:  # noqa: ANN401 -- JSON, and nobody vouches for it
    """The rows of an answer in the order of the texts; `ValueError` says what is wrong with it."""
    rows = reply.get("data", reply.get("embeddings")) if isinstance(reply, dict) else None
    if not isinstance(rows, list):
        raise ValueError("there are no vectors in it")  # noqa: TRY004 -- it was no argument
    try:
        if "data" in reply:
            order = {row.get("index", at): row["embedding"] for at, row in enumerate(rows)}
            rows = [order[at] for at in range(len(rows))]
        vectors = [_vector(row) for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError("its vectors are not where or what they should be") from error
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("its vectors differ in length")
    return np.array(vectors, np.float32)


def _vector(row: object) -> Vectors:
    if isinstance(row, str):
        return np.frombuffer(base64.b64decode(row, validate=True), "<f4")
    vector = np.array(row, np.float32)
    if vector.ndim != 1:
        raise ValueError
    return vector


def _endpoint(
    dialect: Dialect, url: str, headers: dict[str, str], key: str, fields: dict[str, Any]
) -> Endpoint:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidSettingError(
            "the embedding provider's URL must begin with http:// or https:// and name a host"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        # The key itself is left out on purpose.
        raise InvalidSettingError(
            "the embedding provider's key holds a blank, a line end or a character that no key has"
        )
    where = f"{parts.scheme}://{host}" + (f":{port}" if port else "") + parts.path
    return Endpoint(where, dialect, url, headers, key, fields)

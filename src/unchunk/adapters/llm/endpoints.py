"""Where a model is and how it wants to be asked. Does no I/O, and reads no environment.

What an endpoint prints of itself holds no key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit

from unchunk.errors import InvalidSettingError

Kind = Literal["openai", "azure", "ollama"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`where` is for people; `base` ends where `path` follows; `root` is the server's own."""

    kind: Kind
    model: str
    where: str
    root: str
    base: str
    headers: Mapping[str, str] = field(repr=False)
    key: str = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict)

    def path(self, model: str) -> str:
        if self.kind == "azure" and self.query:
            return f"/deployments/{quote(model, safe='')}/chat/completions"
        return "/chat/completions"

    @property
    def by_openai(self) -> bool:
        """Whether it is OpenAI's own models that answer, so that their tokenizer is known."""
        host = urlsplit(self.base).hostname or ""
        return self.kind == "azure" or host == "api.openai.com" or host.endswith(".api.openai.com")

    @property
    def local(self) -> bool:
        """Whether it is this very machine, which no proxy can reach."""
        host = urlsplit(self.base).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return False


def openai(url: str, model: str, key: str = "") -> Endpoint:
    """Any server that speaks as OpenAI's does; `url` ends where `/chat/completions` follows."""
    base = url.rstrip("/").removesuffix("/chat/completions")
    return _endpoint("openai", model, base, base, key=key)


def azure(url: str, deployment: str, key: str, api_version: str = "2024-10-21") -> Endpoint:
    """`url` is the resource's own. With `/openai/v1` behind it, or `v1` as the version, the newer
    interface is used, which has no versions.
    """
    base = url.rstrip("/")
    root = base.removesuffix("/v1").removesuffix("/openai")
    if base.endswith("/openai/v1") or api_version in ("", "v1"):
        return _endpoint("azure", deployment, root, f"{root}/openai/v1", key=key)
    query = {"api-version": api_version}
    return _endpoint("azure", deployment, root, f"{root}/openai", key=key, query=query)


def ollama(url: str, model: str, key: str = "") -> Endpoint:
    """`url` is the server's own, with or without `/v1`."""
    root = url.rstrip("/").removesuffix("/v1").removesuffix("/api").rstrip("/")
    return _endpoint("ollama", model, root, f"{root}/v1", key=key)


def _endpoint(
    kind: Kind,
    model: str,
    root: str,
    base: str,
    *,
    key: str,
    query: Mapping[str, str] | None = None,
) -> Endpoint:
    parts = _checked(base)
    if not (key.isascii() and key.isprintable() and " " not in key):
        # The key itself is left out on purpose.
        raise InvalidSettingError(
            "the model's key holds a blank, a line end or a character that no key has"
        )
    if kind == "azure" and not key:
        raise InvalidSettingError("Azure OpenAI needs a key")
    headers = {"api-key": key} if kind == "azure" else {"Authorization": f"Bearer {key}"}
    where = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    return Endpoint(kind, model, where, root, base, headers if key else {}, key, query or {})


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidSettingError(
            "the model's URL must begin with http:// or https:// and name a host"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        # It is not repeated, since what does not belong there is a key more often than not.
        raise InvalidSettingError(
            "the model's URL must end with its path, and hold no name, password or query;"
            " a key has a setting of its own"
        )
    return parts

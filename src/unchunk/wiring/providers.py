"""Models: the embedder, the reranker and the chat model that the settings name."""

from dataclasses import replace
from math import inf

from unchunk.domain import EmbedderIdentity
from unchunk.errors import InvalidSettingError
from unchunk.library.calibration import CalibratedEmbedder, Thresholds
from unchunk.ports import ChatModel, Embedder, Reranker
from unchunk.settings import Settings
from unchunk.wiring.models import models_folder

_OPENAI = "https://api.openai.com/v1"
_OLLAMA = "http://127.0.0.1:11434"


async def make_embedder(settings: Settings, spec: str, known: EmbedderIdentity | None) -> Embedder:
    """The embedder that `spec` names; `known` is what a library remembers of it."""
    kind, _, name = spec.partition(":")
    if kind == "local":
        return _local_embedder(settings, name)
    if kind == "hashing":
        from unchunk.adapters.embed.hashing import HashingEmbedder

        if name and not name.isdigit():
            raise InvalidSettingError(f"embedder {spec!r}: the dimensions are not a number")
        return HashingEmbedder(int(name)) if name else HashingEmbedder()
    if kind in ("openai", "azure", "ollama") and name:
        return await _remote_embedder(settings, kind, name, known)
    raise InvalidSettingError(
        f"there is no embedder {spec!r}: use local, local:MODEL, openai:MODEL, azure:DEPLOYMENT,"
        " ollama:MODEL or hashing"
    )


def check_threshold(settings: Settings) -> None:
    if not -1 <= settings.embedder_min_score <= 1:
        raise InvalidSettingError(
            f"embedder_min_score {settings.embedder_min_score} is not a cosine: use a number from"
            " -1 to 1, or 0 for the embedder's own threshold"
        )


async def with_threshold(
    settings: Settings, spec: str, embedder: Embedder, thresholds: Thresholds | None = None
) -> Embedder:
    """The embedder with the threshold of the settings, else its own, else one that is measured.

    A measured one is kept in `thresholds`; without these, each opening measures it again.
    """
    check_threshold(settings)
    if (chosen := settings.embedder_min_score) and spec == settings.embedder:
        return CalibratedEmbedder(embedder, threshold=chosen)
    if embedder.identity.min_score:
        return embedder
    known = await thresholds.load(embedder.identity.fingerprint) if thresholds else None
    return CalibratedEmbedder(embedder, thresholds, known)


def _local_embedder(settings: Settings, name: str) -> Embedder:
    from unchunk.adapters.embed.local import LocalEmbedder
    from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model
    from unchunk.adapters.models.registry import find

    model = local_model(name or DEFAULT_MODEL)
    files = find(model.requirement, model.files, models_folder(settings))
    return LocalEmbedder(model, files, threads=settings.embedder_threads or None)


async def _remote_embedder(
    settings: Settings, kind: str, name: str, known: EmbedderIdentity | None
) -> Embedder:
    from unchunk.adapters.embed import endpoints
    from unchunk.adapters.embed.attempts import Patience
    from unchunk.adapters.embed.providers import remote_model
    from unchunk.adapters.embed.remote import RemoteEmbedder, learn

    model = remote_model(name)
    dimensions = settings.embedder_dimensions or None
    model = replace(
        model,
        dimensions=dimensions or (known.dimensions if known else model.dimensions),
        max_tokens=settings.embedder_max_tokens or model.max_tokens,
    )
    url, key = settings.embedder_url, settings.embedder_key
    if kind == "openai":
        endpoint = endpoints.openai(url or _OPENAI, name, key, dimensions)
    elif kind == "azure":
        endpoint = endpoints.azure(url, name, key, dimensions=dimensions)
    else:
        endpoint = endpoints.ollama(url or _OLLAMA, name, model.max_tokens, key)
    patience = Patience(deadline=settings.embedder_patience)
    if model.dimensions is None:
        return await learn(endpoint, model, patience=patience)
    return RemoteEmbedder(endpoint, model, patience=patience)


def make_reranker(settings: Settings) -> Reranker | None:
    kind, _, name = settings.reranker.partition(":")
    if not kind:
        return None
    if kind == "local":
        from unchunk.adapters.models.registry import find
        from unchunk.adapters.rerank.local import LocalReranker
        from unchunk.adapters.rerank.models import DEFAULT_MODEL, local_model

        model = local_model(name or DEFAULT_MODEL)
        return LocalReranker(model, find(model.requirement, model.files, models_folder(settings)))
    if kind == "remote" and name and settings.reranker_url:
        from unchunk.adapters.rerank.remote import RemoteReranker

        return RemoteReranker(settings.reranker_url, name, settings.reranker_key)
    raise InvalidSettingError(
        f"there is no reranker {settings.reranker!r}: use local, local:MODEL, or remote:MODEL with"
        " reranker_url"
    )


def make_chat_model(settings: Settings) -> ChatModel | None:
    """The model that answers, if the settings name one. Nothing is asked of it yet."""
    kind, _, name = settings.chat.partition(":")
    if not kind:
        return None
    if kind not in ("openai", "azure", "ollama") or not name:
        raise InvalidSettingError(
            f"there is no chat model {settings.chat!r}: use openai:MODEL (with chat_url for any"
            " server that speaks as OpenAI's), azure:DEPLOYMENT or ollama:MODEL"
        )
    if not 0 < settings.chat_timeout < inf:
        raise InvalidSettingError(f"chat_timeout {settings.chat_timeout} makes no sense")
    if settings.chat_window < 0:
        raise InvalidSettingError(f"chat_window {settings.chat_window} is less than 0")
    from unchunk.adapters.llm import endpoints
    from unchunk.adapters.llm.openai import OpenAIChatModel
    from unchunk.adapters.llm.patience import Patience

    url, key = settings.chat_url, settings.chat_key
    if kind == "openai":
        endpoint = endpoints.openai(url or _OPENAI, name, key)
    elif kind == "azure":
        if not url:
            raise InvalidSettingError("azure needs chat_url: the address of the resource")
        endpoint = endpoints.azure(url, name, key, settings.chat_api_version)
    else:
        endpoint = endpoints.ollama(url or _OLLAMA, name, key)
    seconds = settings.chat_timeout
    patience = Patience(begin=seconds, idle=seconds, deadline=2 * seconds)
    return OpenAIChatModel(endpoint, window=settings.chat_window or None, patience=patience)

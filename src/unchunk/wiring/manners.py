"""How a library answers, as the settings say."""

from dataclasses import replace
from pathlib import Path

from unchunk.chat.parts import ChatManner, chunk_amount, usual_amount
from unchunk.chat.prompt import TEMPLATES as SHIPPED
from unchunk.chat.prompt import Template
from unchunk.errors import InvalidSettingError
from unchunk.ports import Sampling
from unchunk.retrieval.amount import MOST, Amount
from unchunk.retrieval.asking import Manner
from unchunk.retrieval.fusion import Fusion, blend, by_rank
from unchunk.retrieval.wording import Words
from unchunk.settings import Settings
from unchunk.wiring.providers import make_reranker

TEMPLATES = "templates"
# How many chunks and characters of a Chunkenizer server go to the model.
_CHUNKS, _CHARACTERS = 5, 8_000


def manner_of(settings: Settings) -> Manner:
    usual = Words()
    words = Words(
        settings.detail_words or usual.detail,
        settings.temporal_words or usual.temporal,
        settings.scope_words or usual.scope,
        settings.analytical_words or usual.analytical,
        settings.follow_up_words or usual.follow_up,
        settings.idioms or usual.idioms,
    )
    _check(settings.reranked_chunks >= 1, "reranked_chunks", "at least 1")
    return Manner(
        _fusion(settings.fusion), words, make_reranker(settings), settings.reranked_chunks
    )


def chat_manner_of(settings: Settings) -> ChatManner:
    temperature = settings.chat_temperature
    _check(settings.chat_max_tokens >= 0, "chat_max_tokens", "at least 0")
    _check(settings.max_parts >= 0, "max_parts", "at least 0")
    _check(temperature is None or 0 <= temperature <= 2, "chat_temperature", "from 0 to 2")
    manner = ChatManner(
        _amount(settings),
        settings.rag_enabled,
        settings.strict,
        settings.rewrite,
        settings.system_prompt,
        settings.template,
        {**SHIPPED, **_templates(settings.home / TEMPLATES)},
        Sampling("", temperature, settings.chat_max_tokens or None),
        settings.max_parts,
    )
    manner.template_of("")
    return manner


def _amount(settings: Settings) -> Amount:
    """The evidence of an answer: `rag_...` where they are set, else the source's usual amount."""
    chunks, characters = settings.rag_top_k, settings.rag_max_context_chars
    is_chunkenizer = bool(settings.answering_chunkenizer)
    _check(settings.max_context_chars >= 0, "max_context_chars", "at least 0")
    _check(1 <= settings.top_k <= MOST, "top_k", f"from 1 to {MOST}")
    _check(chunks is None or 1 <= chunks <= MOST, "rag_top_k", f"from 1 to {MOST}")
    _check(characters is None or characters >= 1, "rag_max_context_chars", "at least 1")
    _check(0 <= settings.context_chunks <= MOST, "context_chunks", f"from 0 to {MOST}")
    _check(0 <= settings.full_documents <= MOST, "full_documents", f"from 0 to {MOST}")
    _check(settings.full_document_chars >= 0, "full_document_chars", "at least 0")
    if characters is None:
        characters = _CHARACTERS if is_chunkenizer else settings.max_context_chars or None
    if chunks is None and not is_chunkenizer:
        amount = usual_amount(settings.top_k, characters)
        amount = replace(amount, hits=settings.context_chunks or None)
    else:
        amount = chunk_amount(chunks or _CHUNKS, characters, exactly=is_chunkenizer)
    return replace(
        amount,
        full_documents=settings.full_documents,
        full_length=settings.full_document_chars or None,
    )


def _check(fits: bool, name: str, wanted: str) -> None:
    if not fits:
        raise InvalidSettingError(f"{name} has to be {wanted}")


def _templates(folder: Path) -> dict[str, Template]:
    """A user's own: each file's name is its template's."""
    try:
        return {
            path.stem: Template.parse(path.stem, path.read_text("utf-8"))
            for path in sorted(folder.glob("*.txt"))
        }
    except (OSError, ValueError) as error:
        raise InvalidSettingError(f"a template in {folder} cannot be used: {error}") from None


def _fusion(spec: str) -> Fusion:
    kind, _, alpha = spec.partition(":")
    if kind == "rrf" and not alpha:
        return by_rank
    try:
        if kind == "blend" and 0 <= float(alpha or 0.6) <= 1:
            return blend(float(alpha or 0.6))
    except ValueError:
        pass
    raise InvalidSettingError(f"there is no fusion {spec!r}: use rrf, or blend:ALPHA from 0 to 1")

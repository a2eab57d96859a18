"""How a library answers, as the settings say."""

from unchunk.chat.parts import ChatManner, usual_amount
from unchunk.errors import InvalidSettingError
from unchunk.ports import Sampling
from unchunk.retrieval.asking import Manner
from unchunk.retrieval.fusion import Fusion, blend, by_rank
from unchunk.retrieval.words import Words
from unchunk.settings import Settings
from unchunk.wiring.providers import make_reranker


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
    return Manner(_fusion(settings.fusion), words, make_reranker(settings))


def chat_manner_of(settings: Settings) -> ChatManner:
    if settings.max_context_chars < 0:
        raise InvalidSettingError(f"max_context_chars {settings.max_context_chars} is less than 0")
    if not 1 <= settings.top_k <= 1000:
        raise InvalidSettingError(f"top_k {settings.top_k} is not between 1 and 1000")
    manner = ChatManner(
        usual_amount(settings.top_k, settings.max_context_chars or None),
        settings.rag_enabled,
        settings.strict,
        settings.rewrite,
        settings.system_prompt,
        settings.template,
        sampling=Sampling("", settings.chat_temperature, settings.chat_max_tokens or None),
    )
    manner.template_of("")
    return manner


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

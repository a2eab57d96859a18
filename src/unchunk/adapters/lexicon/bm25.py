"""Words and what they weigh, for BM25.

A word must become the same term in a query and in a document, though neither tells its
language. So nothing is detected: each word is treated by itself, the same way everywhere.

- Case, accents (Latin, Greek), vowel points (Arabic, Hebrew), width and soft hyphens do not
  count: Café, CAFE and cafe are one word.
- Scripts that write no spaces between words, and Korean, whose words carry their particles,
  are cut into pairs of characters. A document has the single characters too, so that a query
  of one character finds it.
- The stemmer and the stop words of one language, which the library's owner may choose, are
  used on all words. A word of another language may be cut oddly, but always in the same way.
"""

import re
import unicodedata
from itertools import pairwise

import qdrant_edge
import regex

from unchunk.domain import Terms
from unchunk.errors import InvalidSettingError

_DROPPED = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u200c\u200d\u2060\u20d0-\u20f0\ufe00-\ufe0f\ufeff]+"
)
# Outside of European scripts, signs and symbols the engine's own idea of a word fails: there
# are marks within words, or no spaces between them. A damaged character is none of these.
_INTRICATE = re.compile("[^\0-\u058f\u1e00-\u2bff\ufffd]")
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Yi}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー々〇"
)
_LETTER = r"\p{L}\p{N}\p{Mn}\p{Mc}"
_WORD = regex.compile(rf"([{_UNSPACED}--[\p{{P}}\p{{S}}]]+)|[{_LETTER}--[{_UNSPACED}]]+", regex.V1)
_CLUSTER = regex.compile(r"\P{M}\p{M}*|\p{M}+")
# With so large a k1, and lengths left out, a word weighs as often as it stands in a text (to one in a
# thousand).
_COUNTED = 1e7
_LANGUAGES = sorted(name.lower() for name in vars(qdrant_edge.Language) if name[0] != "_")


class Bm25Lexicon:
    """`Lexicon` by Qdrant's BM25: k1 and b as usual, lengths measured against `average_length`.

    The average is a constant, so that a text weighs the same whatever else the library holds.
    `language` is a name such as "english" or "german"; "none" neither stems nor drops words.
    """

    def __init__(
        self,
        language: str = "english",
        *,
        k1: float = 1.2,
        b: float = 0.75,
        average_length: float = 128.0,
    ) -> None:
        self._plain, self._cut = _engines(language, k1, b, average_length)
        self._plain_count, self._cut_count = _engines(language, _COUNTED, 0, average_length)

    def document(self, text: str) -> Terms:
        if text.isascii():
            vector = self._plain.embed_document(text)
        else:
            folded = _fold(text)
            if _INTRICATE.search(folded):
                vector = self._cut.embed_document(_cut(folded, singles=True))
            else:
                vector = self._plain.embed_document(folded)
        return Terms(tuple(vector.indices), tuple(vector.values))

    def words(self, text: str) -> frozenset[int]:
        if text.isascii():
            # The same words, and nothing is counted.
            return frozenset(self._plain.embed_query(text).indices)
        return frozenset(self.document(text).ids)

    def query(self, text: str) -> Terms:
        """The words of a question, each with how often it stands there."""
        folded = _fold(text)
        if _INTRICATE.search(folded):
            vector = self._cut_count.embed_document(_cut(folded, singles=False))
        else:
            vector = self._plain_count.embed_document(folded)
        return Terms(tuple(vector.indices), tuple(map(float, map(round, vector.values))))


def _engines(
    language: str, k1: float, b: float, average_length: float
) -> tuple[qdrant_edge.Bm25, qdrant_edge.Bm25]:
    """One that finds the words itself, and one for words with spaces between."""
    neutral = language == "none"
    try:
        plain, cut = (
            qdrant_edge.Bm25(
                qdrant_edge.Bm25Config(
                    k=k1,
                    b=b,
                    avg_len=average_length,
                    tokenizer=tokenizer,
                    ascii_folding=True,
                    language=None if neutral else language,
                    stemmer=qdrant_edge.DisabledStemmer() if neutral else None,
                    stopwords=qdrant_edge.StopwordsSet() if neutral else None,
                )
            )
            for tokenizer in (
                qdrant_edge.TokenizerType.Word,
                qdrant_edge.TokenizerType.Whitespace,
            )
        )
    except ValueError as error:
        if language not in _LANGUAGES:
            known = ", ".join(_LANGUAGES)
            raise InvalidSettingError(
                f"unsupported language {language!r}; use one of {known}, or none"
            ) from error
        raise InvalidSettingError(f"the lexicon cannot be set up: {error}") from error
    return plain, cut


def _fold(text: str) -> str:
    """The text without what does not tell words apart."""
    # Lone surrogates stand for broken bytes; no word has one.
    text = text.encode("utf-8", "replace").decode()
    apart = unicodedata.normalize("NFKD", text.casefold())
    # Two letters of Russian that are not an accented one of the other kind.
    apart = apart.replace("и\u0306", "й")
    return unicodedata.normalize("NFC", _DROPPED.sub("", apart))


def _cut(text: str, *, singles: bool) -> str:
    """The words with spaces between; runs of unspaced scripts as pairs of characters."""
    words: list[str] = []
    for match in _WORD.finditer(text):
        if not match[1]:
            words.append(match[0])
            continue
        run = match[1]
        characters = list(run) if run.isalpha() else _CLUSTER.findall(run)
        words.extend(map("".join, pairwise(characters)))
        if singles or len(characters) == 1:
            words.extend(characters)
    return " ".join(words)

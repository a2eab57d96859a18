"""Where two texts that say nearly the same do not: in a number, a name, a negation or another word.

The lists of words tell what kind of difference it is, in the languages that they know. That there
is one never depends on them.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple
from unicodedata import combining, normalize

# What stands between the words that two texts begin and end with alike is compared word by word,
# which takes as many steps, at the most, as there are pairs of these words.
_MOST_PAIRS = 40_000
# A phrase that differs is told up to so many words.
_PHRASE = 8
# A run at the end of one text that the other lacks may be where another chunk was cut.
_CUT_OFF = 3

_WORD = re.compile(
    r"(?:[-+−](?=\d))?\w+(?:['’.,:/@_+–-]\w+)*|[%€$£☐☑☒✓✔✗✘]"
    r"|[<>≤≥±](?=[\s.]*\d)|[-−](?=[€$£]\d)"
)
_SIGNS = frozenset("%€$£☐☑☒✓✔✗✘<>≤≥±-−")
# Between a letter and a letter or digit, these tell nothing: "high-tide", "5 mg".
_LOOSE = re.compile(r"(?<=\w)[-'’\s](?=[^\W\d])|(?<=[^\W\d])[-'’\s](?=\w)")
_PART = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?:;\n•*#|\"“„][\s\"“„*#|•-]*\Z|\A\s*\Z")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBERS = _set(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion dozen half quarter once twice thrice double triple single first
    second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth twentieth thirtieth
    hundredth
    halb halbe halben halber halbes hälfte viertel doppelt doppelte dutzend paar beide beiden
    deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente
    quarante cinquante soixante cent mille premier première deuxième troisième demi double
    dos tres cuatro cinco seis siete ocho nueve diez doce trece catorce quince veinte treinta
    cuarenta cincuenta sesenta ochenta noventa cien ciento mil primero primera segundo segunda
    tercero tercera
    tre quattro cinque sette otto nove dieci undici dodici venti trenta quaranta cinquanta cento
    primo prima secondo seconda terzo terza twee drie vier vijf zes zeven acht negen tien twaalf
    twintig dertig honderd duizend eerste tweede derde
    """
)
_GERMAN_NUMBER = re.compile(
    r"(?=.*(?:null|eins|zw|dr|vier|fünf|fuenf|sech|sieb|acht|neun|zehn|elf|hundert|tausend|milli|ers))"
    r"(?:null|eins?|zwei|zwo|drei|drit|vier|fünf|fuenf|sechs?|sieb(?:en)?|acht|neun|zehn|elf|zwölf"
    r"|zwoelf|(?:zwan|vier|fünf|fuenf|sech|sieb|acht|neun)zig|drei(?:ß|ss)ig|hundert|tausend"
    r"|million(?:en)?|milliarden?|und|ers)+(?:s?t?e[nrsm]?|mal|fach(?:e[nrsm]?)?|tel)?"
)
_TENS = re.compile(r"(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ieth)|\w+teenth")
# The same number in letters and in digits is no difference.
_DIGITS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    )
    for number, word in enumerate(words.split())
}
_NEGATIONS = _set(
    """
    not no never none nor neither nobody nothing nowhere without cannot non unless except
    nicht kein keine keiner keines keinem keinen nie niemals niemand nichts nirgends weder ohne
    außer
    ne pas jamais rien aucun aucune personne sans ni nunca jamás nada nadie ningún ninguna sin
    mai nessun nessuno nessuna senza niet geen nooit niemand zonder
    """
)
# One of them in the place of another says something else.
_CONTRASTS = _set(
    """
    am pm a.m p.m before after until since below above under over minimum maximum min max least most
    less more fewer greater lower higher longer shorter earlier later up down left right always
    sometimes often rarely seldom may must shall should can allowed permitted forbidden prohibited
    required optional included excluded open closed
    vor nach bis seit unter über unterhalb oberhalb mindestens höchstens weniger mehr kleiner größer
    niedriger höher kürzer länger früher später links rechts immer manchmal oft selten darf dürfen
    muss müssen soll sollen kann können erlaubt verboten geöffnet geschlossen
    avant après moins plus minimum maximum toujours parfois peut doit antes después menos más
    siempre puede debe prima dopo meno più sempre può deve voor na minder meer altijd soms mag moet
    """
)
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "miss")
# Words that are capitalised only because a sentence begins with them.
_STARTERS = _set(
    """
    a an the this that these those it its in on at of for from to by with as if when where while
    after before then also thus however therefore instead moreover now even only and or but so all
    any each every some there here he she they we you i his her their our your is are was were be do
    does did has have had can may must shall should will would
    der die das ein eine einer eines einem einen dieser diese dieses und oder aber wenn als im in am
    an auf für von zu mit nach vor bei dann auch nur hier dort jede jeder jedes alle es er sie wir
    ihr ist sind war waren wird werden hat haben kann
    le la les un une des ce cette il elle nous vous et ou el los las una y o si lo il gli i de het
    een
    """
)


# One of them more or less, or one for another, says the same.
_ARTICLES = _set(
    "a an the der die das dem den des ein eine einen einem einer eines le la les un une el los las"
    " lo il gli het een and und et"
)
# Words that differ in these endings alone are taken for the same word.
_ENDINGS = _set("s es e n en d ed ing") | {""}
_STEM = 3


class Difference(NamedTuple):
    """What one text says where the other says something else; either may be empty."""

    here: str
    there: str


class Comparison(NamedTuple):
    """How two texts differ: in `facts`, and in so many `other_words` of the `words` of both.

    `is_more` tells that one has numbers, names or negations before the beginning or behind the end
    of the other: the chunks may have been cut elsewhere, which is no difference in what they say.
    """

    facts: tuple[Difference, ...]
    other_words: int
    words: int
    is_more: bool
    is_reworded: bool = False
    """Whether a word stands in the place of another one, or one more between the others."""


def words_of(text: str) -> list[str]:
    return [match[0].casefold() for match in _WORD.finditer(text)]


def compare(one: str, other: str) -> Comparison | None:
    """None where the texts are too long and too different to be compared word by word."""
    left, right = [*_WORD.finditer(one)], [*_WORD.finditer(other)]
    first, second = ([word[0].casefold() for word in words] for words in (left, right))
    facts: list[Difference] = []
    others, is_more, is_reworded = 0, False, False
    changes = _changes(first, second)
    if changes is None:
        return None
    for a, b, c, d in changes:
        here, there = left[a:b], right[c:d]
        is_same = _says_the_same(first[a:b], second[c:d])
        # What is counted or measured: "6 am" and "6 pm", "5 mg" and "5 g".
        is_unit = a > 0 and not is_same and _is_number(first[a - 1])
        is_fact = not is_same and (is_unit or _says_otherwise(one, here, other, there))
        is_edge = (a == c == 0) or (b == len(left) and d == len(right))
        is_cut = is_edge and not (here and there)
        if is_cut and len(here) + len(there) > _CUT_OFF:
            is_more = is_more or is_fact
        elif is_fact:
            facts.append(
                Difference(
                    _phrase(one, left, a - is_unit, b, d - c),
                    _phrase(other, right, c - is_unit, d, b - a),
                )
            )
            continue
        is_reworded = is_reworded or not (is_same or is_cut)
        others += len(here) + len(there)
    return Comparison(tuple(facts), others, len(left) + len(right), is_more, is_reworded)


def _changes(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int, int, int]] | None:
    """Where the words differ, as `[a:b]` of the one and `[c:d]` of the other."""
    shortest = min(len(first), len(second))
    start = next((at for at in range(shortest) if first[at] != second[at]), shortest)
    end = next(
        (at for at in range(shortest - start) if first[-1 - at] != second[-1 - at]),
        shortest - start,
    )
    middle, its_middle = first[start : len(first) - end], second[start : len(second) - end]
    if len(middle) * len(its_middle) > _MOST_PAIRS:
        return None
    codes = SequenceMatcher(None, middle, its_middle, autojunk=False).get_opcodes()
    return [
        (start + a, start + b, start + c, start + d)
        for kind, a, b, c, d in codes
        if kind != "equal"
    ]


def _says_otherwise(
    one: str, here: Sequence[re.Match[str]], other: str, there: Sequence[re.Match[str]]
) -> bool:
    words, others = [it[0].casefold() for it in here], [it[0].casefold() for it in there]
    if any(_is_number(it) or _is_negation(it) for it in (*words, *others)):
        return True
    if any(it in _CONTRASTS for it in words) and any(it in _CONTRASTS for it in others):
        return True
    if any(_negates(a, b) or _negates(b, a) for a in words for b in others):
        return True
    return any(_is_name(one, it) for it in here) or any(_is_name(other, it) for it in there)


def _says_the_same(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether they differ in spelling, endings or articles alone."""
    if _spelled(words) == _spelled(others):
        return True
    plain, its_plain = ([it for it in side if it not in _ARTICLES] for side in (words, others))
    return len(plain) == len(its_plain) and all(map(_is_inflected, plain, its_plain))


def _spelled(words: Sequence[str]) -> str:
    """Alike for "high-tide" and "high tide", for "six" and "6"; not for "1-5" and "15"."""
    said = " ".join(_DIGITS.get(word, word) for word in words).replace("−", "-")
    plain = "".join(sign for sign in normalize("NFD", said) if not combining(sign))
    return _LOOSE.sub("", plain)


def _is_inflected(word: str, other: str) -> bool:
    if word == other:
        return True
    pairs = enumerate(zip(word, other, strict=False))
    stem = next((at for at, (one, its) in pairs if one != its), min(len(word), len(other)))
    return stem >= _STEM and {word[stem:], other[stem:]} <= _ENDINGS


def _is_number(word: str) -> bool:
    if word in _SIGNS or any(sign.isnumeric() for sign in word):
        return True
    return any(
        part in _NUMBERS or _TENS.fullmatch(part) or _GERMAN_NUMBER.fullmatch(part)
        for part in _PART.findall(word)
    )


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.replace("’", "'").endswith("n't") or word.startswith("n'")


def _negates(word: str, other: str) -> bool:
    """Whether `word` is `other` with "un" or the like before it."""
    return len(other) > 3 and word.endswith(other) and word[: len(word) - len(other)] in _NEGATING


def _is_name(text: str, word: re.Match[str]) -> bool:
    """A capitalised word, or what only an identifier looks like."""
    said = word[0]
    if re.search(r"[_@/]|\w[.:]\w|[a-z][A-Z]|[A-Z]{2}", said):
        return True
    if not said[0].isupper():
        return False
    begins = _SENTENCE_END.search(text[max(word.start() - 8, 0) : word.start()])
    return not (begins and said.casefold() in _STARTERS)


def _phrase(text: str, words: Sequence[re.Match[str]], start: int, end: int, its_words: int) -> str:
    """What differs with the word behind it; where one text has nothing, with those on both sides."""
    if start == end or not its_words:
        start = max(start - 1, 0)
    end = min(end, start + _PHRASE)
    if end < len(words):
        before = words[end - 1].end() if end else 0
        # A phrase does not go on over the end of a sentence.
        end += not text[before : words[end].start()].strip() or start == end
    if start >= end:
        return ""
    return " ".join(text[words[start].start() : words[end - 1].end()].split())

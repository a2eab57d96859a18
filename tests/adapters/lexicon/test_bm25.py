"""Words into terms: what is one word, and what it weighs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.domain import Terms
from unchunk.errors import InvalidSettingError

LEXICON = Bm25Lexicon()
NEUTRAL = Bm25Lexicon("none")


def same(*texts: str, lexicon: Bm25Lexicon = LEXICON) -> bool:
    """Whether a query finds by each text what each other one holds."""
    return all(
        lexicon.query(one).ids
        and set(lexicon.query(one).ids) <= set(lexicon.document(f"before {other} after").ids)
        for one in texts
        for other in texts
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("running", "Run", "runs"),
        ("Café", "CAFE", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul", "ISTANBUL"),
        ("Łódź", "lodz"),
        ("smørrebrød", "SMORREBROD"),
        ("information", "infor\u00admation", "ｉｎｆｏｒｍａｔｉｏｎ", "ﬁne information"[4:]),
        ("ﬁnance", "finance"),
        ("it's finished", "it’s finished"),
        ("Ἀθήνα", "ΑΘΗΝΑ", "αθηνα"),
        ("Ёлка", "елка"),
        ("مُحَمَّد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("ガイド", "ｶﾞｲﾄﾞ"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
    ],
)
def test_writing_does_not_tell_words_apart(texts: tuple[str, ...]) -> None:
    assert same(*texts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("мой", "мои"),
        ("cat", "car"),
        ("हिन्दी", "हिन्दु"),
        ("x86", "x87"),
        ("서울", "부산"),
        ("東京", "京都"),
    ],
)
def test_but_letters_do(one: str, other: str) -> None:
    assert not set(LEXICON.query(one).ids) & set(LEXICON.query(other).ids)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("大学", "北京大学的学生在图书馆学习"),
        ("图书馆", "北京大学的学生在图书馆学习"),
        ("猫", "吾輩は猫である"),
        ("タワー", "東京タワーの高さは333メートルです"),
        ("333", "東京タワーの高さは333メートルです"),
        ("서울", "서울대학교에서 공부합니다"),
        ("ภาษา", "ในประเทศใช้ภาษาไทยเป็นหลัก"),
        ("手机", "新款iPhone手机上市"),
        ("iphone", "新款iPhone手机上市"),
        ("हिन्दी", "यह हिन्दी में लिखा है"),
        ("မြန်မာ", "ကျွန်တော်မြန်မာစကားပြောတယ်"),
        ("〇", "二〇二四年"),
    ],
)
def test_a_word_is_found_in_a_text_of_any_script(query: str, text: str) -> None:
    assert same(query)
    assert set(LEXICON.query(query).ids) <= set(LEXICON.document(text).ids)


def test_a_run_of_two_is_not_found_where_its_characters_stand_apart() -> None:
    asked = set(LEXICON.query("北京").ids)
    assert asked
    assert not asked & set(LEXICON.document("京北 北 京").ids)


LETTERS = st.characters(categories=("L", "N", "M", "P", "Zs", "Cs", "So"))
PLAIN = st.sampled_from(
    ["", "plain words", "“quoted”", "café au lait", "北京", "हिन्दी में", "\u0300", "🙂"]
)


@given(st.text(LETTERS, max_size=12), PLAIN, PLAIN)
def test_a_query_finds_its_own_words_whatever_stands_beside_them(
    text: str, before: str, after: str
) -> None:
    held = set(LEXICON.document(f"{before} {text} {after}").ids)
    assert set(LEXICON.query(text).ids) <= held
    assert set(LEXICON.query(f"{text} {after}").ids) <= held


@given(st.text(max_size=60))
def test_terms_are_in_order_and_weigh_something(text: str) -> None:
    for terms in (LEXICON.document(text), LEXICON.query(text), NEUTRAL.document(text)):
        assert list(terms.ids) == sorted(set(terms.ids))
        assert len(terms.ids) == len(terms.weights)
        assert all(0 <= term < 2**32 for term in terms.ids)
        assert all(weight > 0 for weight in terms.weights)


def test_words_of_a_query_weigh_as_often_as_they_stand_there() -> None:
    counted = LEXICON.query("whale sea whale 北京 whales 北京 " + "ship " * 500)
    weights = dict(zip(*counted, strict=True))
    for word, times in {"whale": 3.0, "sea": 1.0, "北京": 2.0, "ship": 500.0}.items():
        assert weights[LEXICON.query(word).ids[0]] == times
    assert LEXICON.query("whale sea").weights == (1.0, 1.0)


def test_words_of_a_document_weigh_by_saturated_frequency() -> None:
    terms = Bm25Lexicon(k1=1.2, b=0.75, average_length=4).document("whale sea whale ship whale")
    weights = dict(zip(terms.ids, terms.weights, strict=True))
    (whale,), (sea,) = LEXICON.query("whale").ids, LEXICON.query("sea").ids
    norm = 1.2 * (0.25 + 0.75 * 5 / 4)
    assert weights[whale] == pytest.approx(3 * 2.2 / (3 + norm), rel=1e-5)
    assert weights[sea] == pytest.approx(2.2 / (1 + norm), rel=1e-5)


def test_a_text_without_words_has_no_terms() -> None:
    for text in ("", " \n", "?!", "the of and", "🙂", "\ud800", "\u0301"):
        assert LEXICON.document(text) == LEXICON.query(text) == Terms((), ()), text


@given(st.text() | st.text(st.characters(codec="ascii")))
def test_the_words_of_a_text_are_the_terms_of_a_document(text: str) -> None:
    for lexicon in (LEXICON, NEUTRAL):
        assert lexicon.words(text) == set(lexicon.document(text).ids)


def test_the_language_is_chosen_once() -> None:
    german = Bm25Lexicon("german")
    assert same("Häuser", "Haus", "HÄUSERN", lexicon=german)
    assert german.query("und") == Terms((), ())
    assert LEXICON.query("und") != Terms((), ())
    assert NEUTRAL.query("the running").ids != LEXICON.query("the running").ids
    assert len(NEUTRAL.query("the running run").ids) == 3


@pytest.mark.parametrize("wrong", ["klingon", ""])
def test_an_unknown_language_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidSettingError) as refused:
        Bm25Lexicon(wrong)
    message = str(refused.value)
    assert message.startswith(f"unsupported language {wrong!r}; use one of arabic, ")
    assert "turkish, or none" in message
    for name in message.removesuffix(", or none").partition("use one of ")[2].split(", "):
        Bm25Lexicon(name)
    with pytest.raises(InvalidSettingError, match="the lexicon cannot be set up"):
        Bm25Lexicon(b=2.0)

"""How many tokens a text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.llm.chunks import EventReader
from unchunk.adapters.llm.endpoints import azure, openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.domain import EncodingName
from unchunk.text.tokens import get_encoding

OPENAI = "https://api.openai.com/v1"
TEXT = "The pilot boards at 12:45, Größe 3.141592, 東京タワー, 서울, Москва, <|endoftext|>."


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
    ],
)
def test_openai_s_models_are_counted_exactly(model: str, encoding: EncodingName) -> None:
    counted = OpenAIChatModel(openai(OPENAI, model)).count_tokens(TEXT)
    assert counted == get_encoding(encoding).count(TEXT)


def test_a_deployment_of_any_name_is_counted_by_the_larger_count() -> None:
    model = OpenAIChatModel(azure("https://mine.openai.azure.com", "mine", "key"))
    counts = [get_encoding("cl100k_base").count(TEXT), get_encoding("o200k_base").count(TEXT)]
    assert model.count_tokens(TEXT) == max(counts)


@given(st.text())
def test_other_models_are_never_counted_lower_than_openai_s(text: str) -> None:
    model = OpenAIChatModel(openai("http://127.0.0.1:1/v1", "qwen3"))
    text = text.encode("utf-8", "ignore").decode()
    assert model.count_tokens(text) >= get_encoding("cl100k_base").count(text)


def test_digits_count_one_by_one_where_the_tokenizer_is_not_known() -> None:
    model = OpenAIChatModel(openai("http://127.0.0.1:1/v1", "qwen3"))
    assert model.count_tokens("123456789" * 20) >= 180


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    st.data(),
)
def test_events_are_read_however_they_are_cut(lines: list[str], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    sent = b"".join(b"data: " + line.encode() + end + end for line in lines)
    reader, found, at = EventReader(), [], 0
    while at < len(sent):
        to = at + data.draw(st.integers(1, len(sent) - at))
        found += reader.feed(sent[at:to])
        at = to
    assert found == [line.encode() for line in lines]
    assert not reader.stray

"""Which models there are, and vectors from the one that embeds."""

import base64
import json
import math
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, AsyncOpenAI, BadRequestError, NotFoundError, OpenAI
from openai.types import CreateEmbeddingResponse

from server.openai_talk.talks import MODEL, Talk, talk
from unchunk.text.tokens import get_encoding


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("models"), "anna", "bert") as it:
        yield it


@pytest.fixture(scope="module")
def vectors(there: Talk) -> Iterator[OpenAI]:
    """A client that does not check what it is sent: it asks for base64, and its type has numbers."""
    with OpenAI(
        base_url=there.client.base_url, api_key=there.client.api_key, max_retries=0
    ) as client:
        yield client


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_models_are_the_library_the_askers_stores_the_chat_model_and_the_embedder(
    there: Talk, vectors: OpenAI
) -> None:
    found = {one.id: one for one in there.client.models.list()}
    embedder = vectors.embeddings.create(model="any", input="x").model
    assert list(found) == ["unchunk", MODEL, embedder, there.of_store]
    assert found["unchunk"].owned_by == found[there.of_store].owned_by == "unchunk"
    created = there.client.vector_stores.retrieve(there.store).created_at
    assert found[there.of_store].created == created
    # One by one, too, with the slashes that their names have.
    for one in found:
        assert there.client.models.retrieve(one).id == one


def test_more_stores_than_one_part_of_their_list_are_listed(there: Talk) -> None:
    bert = there.place.owned("bert")
    made = {bert.vector_stores.create(name=f"{at}").id for at in range(101)}
    names = [one.id for one in bert.models.list()]
    assert {one.removeprefix("unchunk/") for one in names if "/vs_" in one} == made
    assert len(names) == len(set(names))


def test_what_is_not_there_or_is_somebody_elses_is_not_found(there: Talk) -> None:
    for name in ("gpt-9", "unchunk/vs_none", "unchunk/", "a/b/c"):
        with pytest.raises(NotFoundError):
            there.client.models.retrieve(name)
    with pytest.raises(NotFoundError):
        there.place.owned("bert").models.retrieve(there.of_store)
    with pytest.raises(NotFoundError) as error:
        there.client.models.retrieve("gpt-9")
    assert error.value.code == "model_not_found"


def test_a_vector_is_the_same_in_each_form_and_of_each_way_to_say_its_text(vectors: OpenAI) -> None:
    create = vectors.embeddings.create
    text = "The crane lifts six tonnes."
    tokens = get_encoding("cl100k_base").encode(text)
    # The client asks for base64 by itself, and reads it.
    [usual] = create(model="any", input=text).data
    assert math.isclose(dot(usual.embedding, usual.embedding), 1, rel_tol=1e-5)
    [plain] = create(model="any", input=[text], encoding_format="float").data
    assert plain.embedding == pytest.approx(usual.embedding)
    [packed] = create(model="any", input=text, encoding_format="base64").data
    # Whoever asks for it gets it as it is.
    data = base64.b64decode(str(packed.embedding))
    assert array("f", data).tolist() == usual.embedding
    for said in (tokens, [tokens]):
        assert create(model="any", input=said).data[0].embedding == usual.embedding


def test_each_input_has_its_vector_in_its_place(there: Talk, vectors: OpenAI) -> None:
    texts = [f"Sentence {at} of the harbour." for at in range(40)]
    made = vectors.embeddings.create(model="any", input=texts)
    assert [one.index for one in made.data] == list(range(40))
    for at in (0, 17, 39):
        [alone] = vectors.embeddings.create(model="any", input=texts[at]).data
        assert alone.embedding == pytest.approx(made.data[at].embedding)
    assert made.usage.prompt_tokens == made.usage.total_tokens > 40

    async def again(client: AsyncOpenAI) -> CreateEmbeddingResponse:
        return await client.embeddings.create(model="any", input=texts, encoding_format="float")

    assert there.alone(again).data[39].embedding == pytest.approx(made.data[39].embedding)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "input 0 is empty"),
        (["a", ""], "input 1 is empty"),
        ([], "0 inputs"),
        (["a"] * 2049, "2049 inputs"),
        ([[]], "input 0 is empty"),
        ([1, "a"], "neither a text nor"),
        ([[1, -1]], "is not a token"),
        ([[200_000]], "is not a token"),
        ([True], "neither a text nor"),
        ({"a": 1}, "neither a text nor"),
        ("half \ud83d a character", "half a character"),
    ],
)
def test_an_input_that_is_none_is_refused(there: Talk, given: Any, said: str) -> None:  # noqa: ANN401
    url, key = there.client.base_url, there.client.api_key
    reply = httpx2.post(
        f"{url}embeddings",
        content=json.dumps({"model": "any", "input": given}),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert said in error["message"]
    assert (error["type"], error["param"]) == ("invalid_request_error", "input")


def test_other_dimensions_than_the_embedders_are_refused(vectors: OpenAI) -> None:
    [one] = vectors.embeddings.create(model="any", input="x").data
    own = len(one.embedding)
    made = vectors.embeddings.create(model="any", input="x", dimensions=own)
    assert len(made.data[0].embedding) == own
    with pytest.raises(BadRequestError, match=f"gives {own} dimensions") as error:
        vectors.embeddings.create(model="any", input="x", dimensions=own - 1)
    assert error.value.param == "dimensions"


def test_a_text_that_would_be_cut_is_refused_with_the_limit(vectors: OpenAI) -> None:
    with pytest.raises(BadRequestError, match=r"text 1 has \d+ tokens, and .* reads \d+") as error:
        vectors.embeddings.create(model="any", input=["short", "long " * 100_000])
    assert error.value.param == "input"


def test_a_question_may_be_embedded_as_one(vectors: OpenAI) -> None:
    for kind in ("query", "document"):
        made = vectors.embeddings.create(
            model="any", input="When?", extra_body={"input_type": kind}
        )
        assert len(made.data) == 1
    with pytest.raises(BadRequestError) as error:
        vectors.embeddings.create(model="any", input="When?", extra_body={"input_type": "other"})
    assert error.value.param == "input_type"


def test_methods_without_a_route_are_told_of(there: Talk) -> None:
    client = there.client
    page = (Path(__file__).parents[3] / "docs" / "openai.md").read_text("utf-8")
    asks: list[tuple[str, Callable[[], object]]] = [
        ("`responses.compact`", lambda: client.responses.compact(model="gpt-5")),
        ("`.input_tokens`", lambda: client.responses.input_tokens.count(input="x")),
        ("`completions.create`", lambda: client.completions.create(model="any", prompt="x")),
        ("`retrieve`", lambda: client.chat.completions.retrieve("chatcmpl-1")),
        ("`list`", client.chat.completions.list),
        ("`update`", lambda: client.chat.completions.update("chatcmpl-1", metadata={})),
        ("`delete`", lambda: client.chat.completions.delete("chatcmpl-1")),
    ]
    for name, ask in asks:
        assert name in page
        with pytest.raises(APIStatusError, match=r"here: docs/openai\.md") as error:
            ask()
        assert error.value.status_code in (404, 405)

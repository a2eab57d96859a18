import pytest

from unchunk.adapters.embed.attempts import Patience
from unchunk.adapters.embed.calls import Calls
from unchunk.adapters.embed.endpoints import azure, ollama, openai
from unchunk.adapters.embed.providers import remote_model
from unchunk.errors import InvalidSettingError


@pytest.mark.parametrize(
    "url", ["", "api.example.com/v1", "ftp://example.com", "http://", "http://[::1", "http://a:b"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettingError, match="http://"):
        openai(url, "m")


def test_a_url_that_only_the_client_refuses_is_a_wrong_setting_too() -> None:
    with pytest.raises(InvalidSettingError, match="is not a URL"):
        Calls(openai("http://exa\x01mple.com/v1", "m"), Patience())


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-sécret", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(InvalidSettingError) as by_openai:
        openai("http://127.0.0.1/v1", "m", key)
    with pytest.raises(InvalidSettingError) as by_azure:
        azure("http://127.0.0.1", "m", key)
    with pytest.raises(InvalidSettingError) as by_ollama:
        ollama("http://127.0.0.1", "m", 512, key)
    assert not [it for it in (by_openai, by_azure, by_ollama) if "cret" in str(it.value)]


def test_a_place_is_named_without_what_is_secret_in_it() -> None:
    endpoint = azure("https://me:word@example.com:8443/", "d", "secret", "v")
    assert endpoint.where == "https://example.com:8443/openai/deployments/d/embeddings"
    assert "secret" not in repr(endpoint)
    assert "word" not in repr(endpoint)


def test_ollama_gets_a_key_where_one_is_needed() -> None:
    assert ollama("http://127.0.0.1", "m", 1, "k").headers == {"Authorization": "Bearer k"}


def test_known_models_are_known_under_any_tag() -> None:
    plain, tagged = remote_model("nomic-embed-text"), remote_model("nomic-embed-text:v1.5")
    assert (plain.dimensions, plain.max_tokens) == (768, 2048)
    assert tagged.name == "nomic-embed-text:v1.5"
    assert tagged.identity().query_prefix == "search_query: "
    assert remote_model("text-embedding-3-large").identity().dimensions == 3072


def test_other_models_have_safe_limits_and_unknown_dimensions() -> None:
    model = remote_model("acme-embed")
    assert (model.dimensions, model.max_tokens, model.encoding) == (None, 512, None)

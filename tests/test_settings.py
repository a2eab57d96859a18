"""Settings from a file, the environment and arguments."""

from pathlib import Path

import pytest

from unchunk.domain import Chunking, ChunkingStrategy
from unchunk.errors import InvalidInputError, InvalidSettingError, OutputError
from unchunk.settings import FILE, load, save


def test_what_comes_later_goes_over_what_came_before(tmp_path: Path) -> None:
    assert load(tmp_path, {}).chunk_size == 800
    (tmp_path / FILE).write_text("chunk_size = 500\nchunk_overlap = 40\nextract_seconds = 3\n")
    assert load(tmp_path, {}).chunk_size == 500
    environment = {"UNCHUNK_CHUNK_SIZE": "600", "OTHER": "1"}
    assert load(tmp_path, environment).chunk_size == 600
    settings = load(tmp_path, environment, chunk_size=700, index=None)
    assert (settings.chunk_size, settings.chunk_overlap, settings.index) == (700, 40, "edge")
    assert settings.extract_seconds == 3.0
    assert settings.chunking == Chunking(ChunkingStrategy("chars", 700, 40), "markdown")


def test_the_home_is_told_or_in_the_environment_or_the_users(tmp_path: Path) -> None:
    assert load(tmp_path / "a", {"UNCHUNK_HOME": "/b"}).home == tmp_path / "a"
    assert load(None, {"UNCHUNK_HOME": "/b"}).home == Path("/b")
    assert load(None, {}).home == Path.home() / ".unchunk"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("chunk_siz = 5", "no setting 'chunk_siz': did you mean chunk_size"),
        ("xyzzy = 5", "no setting 'xyzzy'"),
        ("home = '/'", "no setting 'home'"),
        ("chunk_size = 'many'", "chunk_size must be int, not 'many'"),
        ("chunk_size = true", "chunk_size must be int, not True"),
        ("embedder = 5", "embedder must be str, not 5"),
        ("chunk_size", "cannot be read"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_the_file(
    tmp_path: Path, content: str, says: str
) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InvalidSettingError) as caught:
        load(tmp_path, {})
    assert says in str(caught.value)
    assert str(tmp_path / FILE) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("chunk_unit", "pages"), ("chunk_boundaries", "none"), ("chunk_size", 0)],
)
def test_a_chunking_that_cannot_be_is_an_error(
    tmp_path: Path, name: str, value: str | float
) -> None:
    with pytest.raises(InvalidInputError):
        _ = load(tmp_path, {}, **{name: value}).chunking


def test_keys_are_not_shown(tmp_path: Path) -> None:
    settings = load(tmp_path, {}, embedder_key="secret", index_key="secret")
    assert "secret" not in repr(settings)
    assert "embedder='local'" in repr(settings)


def test_one_setting_is_saved_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    save(home, "embedder", "hashing")
    (home / FILE).write_text("# mine\nembedder = 'local'\nchunk_size = 5000\n")
    save(home, "embedder", "hashing")
    assert (home / FILE).read_text() == '# mine\nchunk_size = 5000\nembedder = "hashing"\n'
    with pytest.raises(InvalidSettingError):
        save(home, "nonsense", "1")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "unchunk.new").mkdir()
    with pytest.raises(OutputError):
        save(tmp_path, "embedder", "hashing")


def test_lists_of_words_come_from_arrays_and_from_texts_with_commas(tmp_path: Path) -> None:
    assert load(tmp_path, {}).detail_words == ()
    (tmp_path / FILE).write_text('detail_words = ["explain", "in depth"]\n')
    assert load(tmp_path, {}).detail_words == ("explain", "in depth")
    environment = {"UNCHUNK_DETAIL_WORDS": "why , tell me all,"}
    assert load(tmp_path, environment).detail_words == ("why", "tell me all")
    assert load(tmp_path, environment, detail_words=["all"]).detail_words == ("all",)
    with pytest.raises(InvalidSettingError, match="scope_words must be a list of words, not 5"):
        load(tmp_path, {}, scope_words=5)


def test_some_variables_are_read_without_the_prefix_and_those_with_it_go_over_them(
    tmp_path: Path,
) -> None:
    bare = {"RAG_MAX_CONTEXT_CHARS": "5000", "CHUNKENIZER_API_URL": "http://a:1"}
    settings = load(tmp_path, bare)
    assert (settings.rag_max_context_chars, settings.chunkenizer_url) == (5000, "http://a:1")
    assert settings.max_context_chars == 24_000
    assert load(tmp_path, bare | {"UNCHUNK_RAG_MAX_CONTEXT_CHARS": "7"}).rag_max_context_chars == 7


@pytest.mark.parametrize("word", ["maybe", "2", "t", "", " true", "enabled"])
def test_what_does_not_turn_answers_from_documents_on_turns_them_off(
    tmp_path: Path, word: str
) -> None:
    assert not load(tmp_path, {"RAG_ENABLED": word}).rag_enabled
    # Ours is checked, as all settings of ours are.
    assert load(tmp_path, {"RAG_ENABLED": word, "UNCHUNK_RAG_ENABLED": "on"}).rag_enabled
    with pytest.raises(InvalidSettingError, match="rag_enabled must be true or false"):
        load(tmp_path, {"UNCHUNK_RAG_ENABLED": "maybe"})


@pytest.mark.parametrize(
    ("chosen", "source"),
    [
        ({}, ""),
        ({"chunkenizer_url": "http://a:1"}, "chunkenizer:http://a:1"),
        ({"chunkenizer_url": "http://a:1", "chat_source": "library"}, ""),
        (
            {"chunkenizer_url": "http://a:1", "chat_source": "qdrant:http://q:1#c"},
            "qdrant:http://q:1#c",
        ),
    ],
)
def test_a_chunkenizer_url_is_where_answers_come_from_unless_the_source_is_said(
    tmp_path: Path, chosen: dict[str, str], source: str
) -> None:
    assert load(tmp_path, {}, **chosen).answer_source == source


@pytest.mark.parametrize(
    "spellings",
    [
        ("chunkenizer:", "chunkenizer:http://localhost:8000", "chunkenizer:http://localhost:8000/"),
        ("qdrant:http://q:1#c", "qdrant:http://q:1/#c"),
        ("qdrant:chunks#c", "qdrant:./chunks/#c", "qdrant:{here}/chunks#c"),
        ("chroma:chunks#c", "chroma:../{here.name}/chunks#c", "chroma:{here}/chunks#c"),
    ],
)
def test_one_source_has_one_name_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spellings: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = {
        load(tmp_path, {}, chat_source=one.format(here=tmp_path)).answer_source for one in spellings
    }
    assert len(sources) == 1
    # The same words are another source where they name another folder.
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    here = load(tmp_path, {}, chat_source=spellings[0]).answer_source
    assert (here in sources) is ("://" in here)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("catalog", "postgresql://me:s3cret@host/name"),
        ("catalog", "postgresql://me:s3cr/e@t:s3cret@host/name"),
        ("catalog", "postgresql://host/name?user=me&password=s3cret&sslmode=require"),
        ("index", "pgvector:postgresql://me:s3cret@host/name"),
        ("index", "qdrant:http://one:6333,http://me:s3cret@two:6333"),
        ("blobs_key", "s3cret"),
    ],
)
def test_no_password_of_an_address_is_shown(tmp_path: Path, name: str, value: str) -> None:
    shown = repr(load(tmp_path, {f"UNCHUNK_{name.upper()}": value}))
    assert "s3cr" not in shown
    assert "embedder='local'" in shown


def test_an_address_without_a_password_is_shown_whole(tmp_path: Path) -> None:
    for where in ("postgresql://me@host:5432/name", "qdrant:http://one:6333,http://two:6333"):
        assert where in repr(load(tmp_path, {"UNCHUNK_CATALOG": where}))

"""One frozen settings object, from a file, the environment and arguments. Unknown keys are errors.

What a later source says goes over what an earlier one said: defaults, `unchunk.toml` in the
home, `UNCHUNK_...` in the environment, arguments.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

from unchunk.domain import Boundaries, Chunking, ChunkingStrategy, Unit
from unchunk.errors import InvalidSettingError, OutputError

FILE = "unchunk.toml"
_PREFIX = "UNCHUNK_"
_HOME = "UNCHUNK_HOME"
_ON, _OFF = ("1", "true", "yes", "y", "on"), ("0", "false", "no", "n", "off", "")
# Variables that are read without the prefix.
_UNPREFIXED = {
    name.upper(): name for name in ("rag_enabled", "rag_top_k", "rag_max_context_chars")
} | {"CHUNKENIZER_API_URL": "chunkenizer_url"}
OWN_LIBRARY = "library"
"""The `chat_source` that answers from the library although `chunkenizer_url` is set."""
CHUNKENIZER = "http://localhost:8000"
"""Where a Chunkenizer server is expected if nothing says where."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`embedder` and `index` name an adapter and, behind a colon, what it needs to know.

    Embedders: `local` or `local:MODEL`, `openai:MODEL`, `azure:DEPLOYMENT`, `ollama:MODEL`,
    `hashing`. Indexes: `edge`, `chroma`, or `qdrant:URL` and `chroma:URL` for servers, `qdrant:` with
    the URLs of several nodes and commas between them for a cluster, `pgvector` or `pgvector:URL`.
    `catalog` is empty for a file in the home, or the URL of a PostgreSQL database; `blobs` is empty
    for a folder there, `folder:PATH` for one that machines share, `s3:BUCKET` or `s3:BUCKET/PREFIX`. Fusions:
    `blend:ALPHA` or `rrf`. Rerankers: none, `local` or `local:MODEL`, `remote:MODEL`. Chat models:
    none, `openai:MODEL`, `azure:DEPLOYMENT`, `ollama:MODEL`. Lists of words that are empty are
    those that are built in.
    """

    home: Path
    embedder: str = "local"
    embedder_url: str = ""
    embedder_key: str = ""
    embedder_dimensions: int = 0
    embedder_max_tokens: int = 0
    embedder_min_score: float = 0.0
    embedder_threads: int = 0
    embedder_patience: float = 60.0
    catalog: str = ""
    blobs: str = ""
    blobs_url: str = ""
    blobs_region: str = ""
    blobs_id: str = ""
    blobs_key: str = ""
    index: str = "edge"
    index_key: str = ""
    index_timeout: float = 10.0
    qdrant_shards: int = 0
    qdrant_replicas: int = 0
    qdrant_write_consistency: int = 0
    qdrant_tenants: str = "payload"
    qdrant_quantization: str = "none"
    qdrant_on_disk: bool = False
    language: str = "english"
    chunk_unit: str = "chars"
    chunk_size: int = 800
    chunk_overlap: int = 0
    chunk_boundaries: str = "markdown"
    max_bytes: int = 200_000_000
    max_pages: int = 20_000
    max_characters: int = 200_000_000
    extract_seconds: float = 120.0
    extract_memory: int = 2_000_000_000
    workers: int = 0
    lease_seconds: float = 15.0
    job_attempts: int = 5
    fusion: str = "blend:0.6"
    reranker: str = ""
    reranker_url: str = ""
    reranker_key: str = ""
    reranked_chunks: int = 10
    rag_enabled: bool = True
    rag_top_k: int | None = None
    rag_max_context_chars: int | None = None
    top_k: int = 10
    max_context_chars: int = 24_000
    context_chunks: int = 0
    full_documents: int = 3
    full_document_chars: int = 0
    max_parts: int = 12
    detail_words: tuple[str, ...] = ()
    temporal_words: tuple[str, ...] = ()
    scope_words: tuple[str, ...] = ()
    analytical_words: tuple[str, ...] = ()
    follow_up_words: tuple[str, ...] = ()
    idioms: tuple[str, ...] = ()
    chat: str = ""
    chat_url: str = ""
    chat_key: str = ""
    chat_api_version: str = ""
    chat_window: int = 0
    chat_timeout: float = 60.0
    chat_temperature: float | None = None
    chat_max_tokens: int = 0
    chat_source: str = ""
    system_prompt: str = ""
    template: str = "context-first"
    strict: bool = False
    rewrite: bool = False
    collection_fields: str = "pages"
    collection_owner_field: str = ""
    collection_vector: str = ""
    collection_sparse_vector: str = ""
    collection_key: str = ""
    search_cache_seconds: float = 300.0
    chunkenizer_url: str = ""
    owner: str = "local"
    hosts: tuple[str, ...] = ()
    require_keys: bool = False
    behind_proxy: bool = False
    session_hours: float = 24.0
    rate_limit: int = 1_200
    sign_in_limit: int = 20
    max_uploads: int = 8
    max_connections: int = 800
    log_format: str = "text"
    trace_url: str = ""

    @property
    def chunking(self) -> Chunking:
        if self.chunk_unit not in get_args(Unit):
            raise InvalidSettingError(f"chunk_unit {self.chunk_unit!r} is none of {get_args(Unit)}")
        if self.chunk_boundaries not in get_args(Boundaries):
            raise InvalidSettingError(
                f"chunk_boundaries {self.chunk_boundaries!r} is none of {get_args(Boundaries)}"
            )
        unit, boundaries = cast("Unit", self.chunk_unit), cast("Boundaries", self.chunk_boundaries)
        return Chunking(ChunkingStrategy(unit, self.chunk_size, self.chunk_overlap), boundaries)

    @property
    def answer_source(self) -> str:
        """Where evidence for answers comes from: a place of foreign chunks; empty: the library.

        A place is always written in one way: with its URL, without a slash at the end, or with an
        absolute folder.
        """
        if self.chat_source == OWN_LIBRARY:
            return ""
        source = self.chat_source or ("chunkenizer:" if self.chunkenizer_url else "")
        kind, _, rest = source.partition(":")
        if kind == "chunkenizer":
            return f"chunkenizer:{(rest or self.chunkenizer_url or CHUNKENIZER).rstrip('/')}"
        where, _, name = rest.rpartition("#")
        if kind not in ("qdrant", "chroma") or not where:
            return source
        return f"{kind}:{where.rstrip('/') if '://' in where else Path(where).resolve()}#{name}"

    @property
    def answering_chunkenizer(self) -> str:
        """The URL of the Chunkenizer that answers come from; empty: they come from elsewhere."""
        kind, _, url = self.answer_source.partition(":")
        return url if kind == "chunkenizer" else ""

    @property
    def logs_are_json(self) -> bool:
        if self.log_format not in ("text", "json"):
            raise InvalidSettingError(f"log_format {self.log_format!r} is neither text nor json")
        return self.log_format == "json"

    def __repr__(self) -> str:
        shown = {
            field.name: _without_password(getattr(self, field.name))
            for field in fields(self)
            if not field.name.endswith("_key") or not getattr(self, field.name)
        }
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _without_password(value: object) -> object:
    """An address may hold one, before the host or behind it. Rather too much is hidden."""
    if not isinstance(value, str):
        return value
    return re.sub(r"(password=)[^&\s]*", r"\1***", re.sub(r"(//[^/@]*?:).*@", r"\1***@", value))


def load(
    home: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
    **arguments: str | float | Path | Sequence[str] | None,
) -> Settings:
    """The settings of a home: `home`, else UNCHUNK_HOME, else ~/.unchunk."""
    folder = Path(home or environment.get(_HOME) or Path.home() / ".unchunk").expanduser()
    settings = Settings(folder.absolute())
    settings = _over(settings, _from_file(folder / FILE), str(folder / FILE))
    settings = _over(settings, _from_environment(environment), "the environment")
    return _over(
        settings, {name: it for name, it in arguments.items() if it is not None}, "the arguments"
    )


def save(home: Path, name: str, value: str) -> None:
    """Set one setting in the home's file, and leave the rest of the file as it is."""
    path = home / FILE
    settings = Settings(home)
    _over(settings, {name: value}, "the arguments")
    _over(settings, _from_file(path), str(path))
    line = f"{name} = {json.dumps(value)}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        kept = [one for one in lines if one.partition("=")[0].strip() != name]
        temporary = path.with_suffix(".new")
        temporary.write_text("\n".join([*kept, line]) + "\n", "utf-8")
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None


def _from_file(path: Path) -> dict[str, object]:
    try:
        text = path.read_text("utf-8")
        # Most homes have no such file, and need not wait for what reads it.
        import tomllib  # noqa: PLC0415

        return tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise InvalidSettingError(f"{path} cannot be read: {error}") from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {
        ours: environment[name] for name, ours in _UNPREFIXED.items() if name in environment
    }
    if "rag_enabled" in found:
        # As other programs read this variable: what does not turn it on turns it off.
        found["rag_enabled"] = str(found["rag_enabled"]).lower() in _ON
    found |= {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and name != _HOME
    }
    return found


def _over(settings: Settings, values: Mapping[str, object], source: str) -> Settings:
    known = {name: _kind(hint) for name, hint in get_type_hints(Settings).items()}
    del known["home"]
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 -- only who errs needs it

            near = get_close_matches(name, known, 1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise InvalidSettingError(f"{source}: there is no setting {name!r}{hint}")
        changes[name] = _as(known[name], value, f"{source}: {name}")
    return replace(settings, **changes)


def _kind(hint: Any) -> type:  # noqa: ANN401 - whatever an annotation is
    """What a setting is made of; of one that may be None, what else it may be."""
    kind: type = get_origin(hint) or hint
    return kind if kind is not UnionType else get_args(hint)[0]


def _as(kind: type, value: object, where: str) -> Any:  # noqa: ANN401 - of `kind`
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple:
        return _words(value, where)
    if kind is bool and isinstance(value, str | int):
        return _switch(value, where)
    if kind is not str and isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            pass
    if type(value) is not kind:
        raise InvalidSettingError(f"{where} must be {kind.__name__}, not {value!r}")
    return value


def _switch(value: str | int, where: str) -> bool:
    word = str(value).strip().lower()
    if word not in (*_ON, *_OFF):
        raise InvalidSettingError(f"{where} must be true or false, not {value!r}")
    return word in _ON


def _words(value: object, where: str) -> tuple[str, ...]:
    """A list, or a text with commas between its parts."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(one, str) for one in parts):
        raise InvalidSettingError(f"{where} must be a list of words, not {value!r}")
    return tuple(one.strip() for one in parts if one.strip())


def made_of(
    home: Path, values: Mapping[str, object], file: Path, changes: Mapping[str, object]
) -> Settings:
    """Settings of another place: `values`, over them those of a file, over them `changes`.

    The environment has no say: it speaks of this place.
    """
    settings = _over(Settings(home.absolute()), values, "the settings")
    settings = _over(settings, _from_file(file), str(file))
    return _over(settings, changes, "--set")

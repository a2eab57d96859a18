"""Who may import whom: the rooms of docs/architecture.md, walked through."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

# What each room may import of unchunk, and whether outside libraries too. A room that is not
# listed here has no right to be.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "domain": ({"errors"}, set()),
    "text": ({"domain", "errors"}, {"regex"}),
    "ports": ({"domain", "errors"}, {"numpy"}),
    "telemetry": (set(), set()),
    "library": ({"domain", "errors", "ports", "telemetry", "text"}, {"numpy"}),
    "retrieval": ({"domain", "errors", "ports", "telemetry", "text"}, set()),
    "chat": ({"domain", "errors", "ports", "retrieval", "telemetry", "text"}, set()),
    "recovery": ({"domain", "errors", "ports", "telemetry", "text"}, set()),
    "rescue": ({"errors", "ports", "recovery", "text", "wiring"}, {"openai"}),
    "stores": (
        {"domain", "errors", "library", "ports", "retrieval", "telemetry", "text"},
        set(),
    ),
    "adapters": ({"domain", "errors", "ports", "telemetry", "text"}, set()),
    "testing": ({"domain", "errors", "ports"}, {"numpy", "pytest"}),
    "settings": ({"domain", "errors"}, set()),
    "keyring": ({"domain", "errors", "ports"}, set()),
    "engine": (
        {"chat", "domain", "errors", "keyring", "library", "retrieval", "searching", "stores"}
        | {"telemetry"},
        set(),
    ),
    "searching": ({"domain", "library", "retrieval"}, set()),
    "evaluation": ({"domain", "engine", "errors", "retrieval", "text"}, set()),
    "synchronous": ({"errors"}, set()),
    "wiring": (
        {
            "adapters",
            "beside",
            "chat",
            "domain",
            "engine",
            "errors",
            "keyring",
            "library",
            "ports",
            "retrieval",
            "settings",
        }
        | {"stores", "telemetry"},
        set(),
    ),
    "chunk_aware_retrieval": ({"domain", "errors", "retrieval", "wiring"}, set()),
    "opening": ({"domain", "engine", "retrieval", "settings", "synchronous", "wiring"}, set()),
    "beside": (
        {"", "chat", "domain", "engine", "errors", "library", "retrieval", "stores", "telemetry"},
        {"httpx2", "pydantic"},
    ),
    "mcp": (
        {"beside", "chat", "domain", "engine", "errors", "retrieval", "telemetry"},
        {"anyio", "httpx2", "mcp", "mcp_types", "pydantic", "starlette"},
    ),
    "server": (
        {"beside", "chat", "domain", "engine", "errors", "keyring", "library", "mcp", "ports"}
        | {"retrieval", "stores", "telemetry", "text"},
        {"fastapi", "h11", "prometheus_client", "pydantic", "python_multipart", "starlette"}
        | {"uvicorn"},
    ),
    "__main__": ({"cli"}, set()),
    "cli": (
        {
            "",
            "beside",
            "chat",
            "domain",
            "engine",
            "errors",
            "evaluation",
            "library",
            "mcp",
            "ports",
            "recovery",
            "retrieval",
            "server",
            "settings",
        }
        | {"synchronous", "telemetry", "text", "wiring"},
        {"click", "dotenv", "prompt_toolkit", "rich"},
    ),
    "": (
        {"chat", "chunk_aware_retrieval", "domain", "engine", "errors", "library", "opening"}
        | {"ports", "rescue", "retrieval", "text"},
        set(),
    ),
}
# The outside library of each adapter.
ADAPTERS: dict[str, set[str]] = {
    "blobs.s3": {"obstore"},
    "catalog.arriving": {"sqlalchemy"},
    "catalog.attaching": {"sqlalchemy"},
    "catalog.batches": {"sqlalchemy"},
    "catalog.browsing": {"sqlalchemy"},
    "catalog.changes": {"sqlalchemy"},
    "catalog.claims": {"sqlalchemy"},
    "catalog.completed": {"sqlalchemy"},
    "catalog.connecting": {"sqlalchemy"},
    "catalog.counting": {"sqlalchemy"},
    "catalog.database": {"sqlalchemy"},
    "catalog.describing": {"sqlalchemy"},
    "catalog.dialects": {"sqlalchemy"},
    "catalog.expiring": {"sqlalchemy"},
    "catalog.faults": {"sqlalchemy"},
    "catalog.fencing": {"sqlalchemy"},
    "catalog.filenotes": {"sqlalchemy"},
    "catalog.going_live": {"sqlalchemy"},
    "catalog.jobs": {"sqlalchemy"},
    "catalog.keys": {"sqlalchemy"},
    "catalog.leases": {"sqlalchemy"},
    "catalog.leaving": {"sqlalchemy"},
    "catalog.listening": {"psycopg", "sqlalchemy"},
    "catalog.lookups": {"sqlalchemy"},
    "catalog.members": {"sqlalchemy"},
    "catalog.migrations.env": {"alembic"},
    "catalog.migrations.versions.r0001_documents": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0002_conversations": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0003_keys": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0004_tokens": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0005_sessions": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0006_stores": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0007_sharing": {"alembic", "sqlalchemy"},
    "catalog.migrations.versions.r0008_purged": {"alembic", "sqlalchemy"},
    "catalog.naming": {"sqlalchemy"},
    "catalog.packing": {"numpy"},
    "catalog.prepared": {"sqlalchemy"},
    "catalog.paging": {"sqlalchemy"},
    "catalog.partial": {"sqlalchemy"},
    "catalog.patience": {"sqlalchemy"},
    "catalog.prompts": {"sqlalchemy"},
    "catalog.purged": {"sqlalchemy"},
    "catalog.rates": {"sqlalchemy"},
    "catalog.responses": {"sqlalchemy"},
    "catalog.revisions": {"sqlalchemy"},
    "catalog.ringing": {"sqlalchemy"},
    "catalog.schema": {"sqlalchemy"},
    "catalog.stores": {"sqlalchemy"},
    "catalog.streamlog": {"sqlalchemy"},
    "catalog.talks": {"sqlalchemy"},
    "catalog.tallying": {"sqlalchemy"},
    "catalog.transfer": {"sqlalchemy"},
    "catalog.units": {"sqlalchemy"},
    "catalog.upgrade": {"alembic", "sqlalchemy"},
    "catalog.vectors": {"numpy", "sqlalchemy"},
    "catalog.whole": {"sqlalchemy"},
    "chroma_clients": {"chromadb", "httpx"},
    "embed.calls": {"httpx2"},
    "embed.encoder": {"numpy"},
    "embed.given": {"numpy"},
    "embed.endpoints": {"numpy"},
    "embed.hashing": {"numpy"},
    "embed.local": {"numpy", "tokenizers"},
    "embed.networks": {"numpy", "onnxruntime", "tokenizers"},
    "embed.onnxfile": {"numpy"},
    "embed.remote": {"numpy"},
    "embed.weights": {"numpy"},
    "extract.decoding": {"chardet"},
    "extract.drawing": {"pypdfium2"},
    "extract.html": {"selectolax"},
    "extract.pdf_again": {"pypdf"},
    "extract.pdf": {"pypdfium2"},
    "extract.rtf": {"striprtf"},
    "extract.sheets": {"python_calamine"},
    "index.chroma": {"numpy"},
    "index.edge": {"numpy"},
    "index.edge_shard": {"qdrant_edge"},
    "index.packing": {"numpy"},
    "index.pgvector": {"numpy"},
    "index.pgvector_connections": {"psycopg"},
    "index.pgvector_rows": {"numpy"},
    "index.pgvector_tables": {"psycopg"},
    "index.pgvector_writing": {"numpy"},
    "index.qdrant": {"numpy", "qdrant_client"},
    "index.qdrant_asking": {"qdrant_client"},
    "index.qdrant_collections": {"qdrant_client"},
    "index.qdrant_nodes": {"grpc", "qdrant_client"},
    "index.qdrant_points": {"qdrant_client"},
    "index.spaces": {"numpy"},
    "lexicon.bm25": {"qdrant_edge", "regex"},
    "llm.answers": {"httpx2"},
    "llm.faults": {"httpx2", "openai"},
    "llm.openai": {"httpx2", "openai"},
    "rerank.local": {"numpy", "onnxruntime", "tokenizers"},
    "rerank.remote": {"httpx2"},
    "sources.asking": {"httpx2"},
    "sources.chroma": {"numpy"},
    "sources.chunkenizer": {"httpx2"},
    "sources.openai_calls": {"httpx2", "openai"},
    "sources.openai_clients": {"httpx2", "openai"},
    "sources.qdrant": {"numpy", "qdrant_client"},
    "sources.qdrant_clients": {"grpc", "qdrant_client"},
    "sources.qdrant_filters": {"qdrant_client"},
    "sources.qdrant_words": {"qdrant_client"},
    "sources.vectors": {"numpy"},
    "tracing.otel": {"opentelemetry"},
}
STANDARD = __import__("sys").stdlib_module_names


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module: str) -> str:
    return ([*module.split("."), ""])[1]


MODULES = modules()
GRAPH = {
    name: {target for target in imports(path) if target in MODULES and target != name}
    for name, path in MODULES.items()
}


def forbidden(name: str) -> Iterator[str]:
    """What a module imports although its package may not."""
    own, outside = ROOMS[room(name)]
    outside = outside | ADAPTERS.get(name.removeprefix("unchunk.adapters."), set())
    for target in GRAPH[name]:
        between_adapters = room(name) == room(target) == "adapters"
        is_sibling = name.split(".")[2:3] == target.split(".")[2:3]
        is_shared = target == "unchunk.adapters.chroma_clients"
        if room(target) not in own | {room(name)} or (
            between_adapters and not is_sibling and not is_shared
        ):
            yield f"{name} imports {target}"
    for target in imports(MODULES[name]):
        root = target.split(".")[0]
        if root != "unchunk" and root not in STANDARD and root not in outside:
            yield f"{name} imports {root}"


def test_a_module_imports_only_the_rooms_that_its_own_room_may() -> None:
    assert [one for name in MODULES for one in forbidden(name)] == []


def test_pure_code_does_no_input_or_output() -> None:
    doors = {"os", "io", "pathlib", "socket", "logging", "subprocess", "tempfile", "asyncio"}
    pure = (name for name in MODULES if room(name) in ("text", "domain", "errors"))
    opened = {
        name: used
        for name in pure
        if (used := doors & {target.split(".")[0] for target in imports(MODULES[name])})
    }
    assert opened == {}


def test_there_is_no_ring_of_imports() -> None:
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name not in done:
            # Its own package is named for the modules beside it.
            for target in GRAPH[name] - {"unchunk", name.rpartition(".")[0]}:
                walk(target, (*path, name))
            done.add(name)

    for name in MODULES:
        walk(name, ())
    assert done == set(MODULES)


def test_the_rules_see_what_they_should(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("import os.path\nfrom unchunk.text import tokens\n")
    assert list(imports(module)) == ["os.path", "unchunk.text", "unchunk.text.tokens"]
    assert room("unchunk.text.tokens") == "text"
    assert not room("unchunk")

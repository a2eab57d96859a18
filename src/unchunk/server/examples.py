"""Evidence as the description of the API shows it."""

from pydantic import JsonValue

ID = "06a1v8k2m4n7p0q3"
TEXT = "A night in the harbour costs 22 euros."
_CHUNK: dict[str, JsonValue] = {
    "chunk_index": 2,
    "start": 120,
    "end": 158,
    "first_page": None,
    "last_page": None,
    "heading_path": ["Harbour rules"],
}
SOURCE: dict[str, JsonValue] = {
    "document": ID,
    "name": "Harbour rules.md",
    "folder": "Sample",
    "title": "Harbour rules",
    "content_type": "text/markdown",
    "checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "kind": "passages",
    "coverage": "1/12 chunks",
    "chunk_count": 12,
    "chunks": [{"chunk_index": 2, "score": 0.71, "found_by": "meaning"}],
    "max_score": 0.71,
    "avg_score": 0.71,
    "found_by": "meaning",
    "pages": None,
    "heading_paths": [["Harbour rules"]],
    "passages": [
        {
            "first_chunk": 2,
            "last_chunk": 2,
            "start": 120,
            "end": 158,
            "text": TEXT,
            "first_page": None,
            "last_page": None,
            "heading_path": ["Harbour rules"],
            "chunks": [_CHUNK],
        }
    ],
}
PLAN: dict[str, JsonValue] = {
    "question": "What does a night in the harbour cost?",
    "mode": "passages",
    "reasons": ["a question that passages answer"],
    "search_text": "What does a night in the harbour cost?",
    "sources": [],
    "follow_up": False,
    "carried": [],
}
USAGE: dict[str, JsonValue] = {
    "context_size": 160,
    "context_budget": 24_000,
    "unit": "characters",
    "prompt_tokens": None,
    "completion_tokens": None,
}
SHOWN: dict[str, JsonValue] = {**SOURCE, "full_content": TEXT, "gaps": []}
FOUND: dict[str, JsonValue] = {
    "document": ID,
    "name": "Harbour rules.md",
    "chunk_index": 2,
    "score": 0.71,
    "found_by": "meaning",
    "rank_score": 0.9,
    "ways": [
        {"name": "dense", "rank": 1, "score": 0.71},
        {"name": "lexical", "rank": 2, "score": 4.2},
    ],
}
DROPPED: dict[str, JsonValue] = {
    "document": ID,
    "name": "",
    "chunk_index": 9,
    "score": 0.12,
    "reason": "is below 0.3",
}

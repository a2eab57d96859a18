"""What work costs today. A change that makes it cost more fails, and one that makes it cost much
less asks for a lower number here: so this page always tells what is true, and its diff tells what
a change costs.
"""

CALLS: dict[str, dict[str, int]] = {
    "a new document": {
        "catalog: reads": 12,
        "catalog: transactions": 7,
        "catalog: writes": 18,
        "embedder: calls": 1,
        "embedder: texts": 10,
        "engine: flush": 1,
        "engine: points": 13,
        "engine: upsert": 1,
    },
    "the same file again": {
        "catalog: reads": 4,
        "catalog: transactions": 2,
    },
    "a document replaced": {
        "catalog: reads": 11,
        "catalog: transactions": 8,
        "catalog: writes": 23,
        "embedder: calls": 1,
        "embedder: texts": 10,
        "engine: delete": 1,
        "engine: flush": 2,
        "engine: points": 13,
        "engine: upsert": 1,
    },
    "a question": {
        "catalog: reads": 6,
        "catalog: transactions": 4,
        "embedder: calls": 1,
        "embedder: texts": 1,
        "engine: fetch": 1,
        "engine: search": 1,
        "engine: searches": 2,
    },
    "the same question again": {
        "catalog: reads": 1,
        "catalog: transactions": 1,
    },
    "a question of a chat": {
        "catalog: reads": 6,
        "catalog: transactions": 4,
        "embedder: calls": 1,
        "embedder: texts": 1,
        "engine: fetch": 1,
        "engine: search": 1,
        "engine: searches": 2,
    },
    "a search for single chunks": {
        "catalog: reads": 4,
        "catalog: transactions": 2,
        "embedder: calls": 1,
        "embedder: texts": 1,
        "engine: search": 1,
        "engine: searches": 2,
    },
    "a document deleted": {
        "catalog: reads": 9,
        "catalog: transactions": 7,
        "catalog: writes": 14,
        "engine: census": 1,
        "engine: delete": 1,
        "engine: flush": 1,
    },
}
"""What each step in the life of a small library asks for, exactly."""

PEAK_BYTES: dict[str, float] = {
    "chunking by chars in windows": 0.22,
    "chunking by words in windows": 0.395,
    "chunking at boundaries": 0.327,
    "chunking Markdown": 1.22,
    "stitching by the strategy": 23.5,
    "stitching by the overlap": 2.03,
    "fusing by rank": 1.3,
    "fusing by score": 1.3,
    "telling copies": 3.55,
    "selecting and merging passages": 4.29,
    "selecting passages within a budget": 3.69,
    "looking for forged marks": 2.02,
}
"""The most memory at once, in bytes for a character of the text."""

INSTRUCTIONS: dict[str, float] = {
    "chunking by chars in windows": 0.0164,
    "chunking by words in windows": 0.37,
    "chunking at boundaries": 0.121,
    "chunking Markdown": 0.174,
    "stitching by the strategy": 2.8,
    "stitching by the overlap": 0.0111,
    "fusing by rank": 0.122,
    "fusing by score": 0.15,
    "telling copies": 1.36,
    "selecting and merging passages": 0.79,
    "selecting passages within a budget": 1.04,
    "looking for forged marks": 0.134,
}
"""Where a loop over the characters of the text takes 1; counted by callgrind with Python 3.11."""

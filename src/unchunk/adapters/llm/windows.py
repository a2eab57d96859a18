"""How large a model's window is: what servers tell, and what is known of well-known models.

Does no I/O. A server's own word comes first, since it may serve less than the model could.
"""

import re
from typing import Any

# Tokens of prompt and answer together, as their makers publish them.
KNOWN: dict[str, int] = {
    "gpt-3.5-turbo": 16_385,
    "gpt-35-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-0125": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4-vision": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "chatgpt-4o": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude-3": 200_000,
    "gemini-2.0-flash": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-2.5-pro": 1_048_576,
}
# vLLM's; OpenRouter's and Together's; Groq's; Mistral's.
_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")
_NUM_CTX = re.compile(r"(?m)^\s*num_ctx\s+(\d+)\s*$")


def known(model: str) -> int | None:
    """By the longest name that it begins with: what follows a name is a date or a variant."""
    name = model.rpartition("/")[2].lower()
    fitting = [each for each in KNOWN if re.match(rf"{re.escape(each)}(?![^-:@])", name)]
    return KNOWN[max(fitting, key=len)] if fitting else None


def of_models(reply: Any, model: str) -> int | None:  # noqa: ANN401 -- JSON, and nobody vouches for it
    """Out of the list that `GET /models` gives."""
    rows = reply.get("data") if isinstance(reply, dict) else None
    rows = rows if isinstance(rows, list) else []
    # llama.cpp answers with the one that it has, whatever it is asked for.
    own = [
        row for row in rows if isinstance(row, dict) and (row.get("id") == model or len(rows) == 1)
    ]
    found = [size for row in own for size in _sizes(row)]
    return min(found, default=None)


def _sizes(row: dict[str, Any]) -> list[int]:
    # llama.cpp also tells what the model was trained for, which is not what it serves.
    inner = [(row.get("meta"), "n_ctx"), (row.get("top_provider"), "context_length")]
    given = [row.get(name) for name in _FIELDS]
    given += [each.get(name) for each, name in inner if isinstance(each, dict)]
    return [size for size in given if isinstance(size, int) and _is_size(size)]


def of_ollama(shown: Any, running: Any, model: str) -> int | None:  # noqa: ANN401 -- as above
    """Out of `/api/show` and `/api/ps`; None if the model is not loaded and sets nothing itself.

    What it was trained for does not count: Ollama gives a model much less if nobody asks for
    more, and drops the beginning of what is longer without a word.
    """
    parameters = shown.get("parameters") if isinstance(shown, dict) else None
    if isinstance(parameters, str) and (found := _NUM_CTX.search(parameters)):
        return int(found[1]) or None
    rows = running.get("models") if isinstance(running, dict) else None
    for row in rows if isinstance(rows, list) else []:
        names = (row.get("name"), row.get("model")) if isinstance(row, dict) else ()
        if model in names or f"{model}:latest" in names:
            size = row.get("context_length")
            return size if _is_size(size) else None
    return None


def _is_size(size: object) -> bool:
    return type(size) is int and size > 0

"""What the size of a file says of its text: whether an end of it is missing.

No chunk shows that it is the first or the last of its file; that so many bytes came back does.
"""

from collections.abc import Mapping
from typing import Literal

from unchunk.ports import LostFile

Encoding = Literal["utf-8", "utf-8-sig", "utf-16", "one byte"]
# Characters besides ASCII that an encoding of one byte may have.
_ONE_BYTE = 128

# Files that are their own text. Of others, what a store keeps is what it read out of them.
_TEXTS = """
    adoc asc bash bat bib c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff env erl ex fs
    go gradle graphql h hpp hs ini java jl js json jsonl jsx kt less log lua m markdown md mdown
    mdx mjs mkd ml ndjson nix org patch php pl pm properties proto ps1 py r rb rs rst sass scala
    scss sh sql srt svelte swift tex text tf toml ts tsv tsx txt vb vim vtt vue xml yaml yml zig zsh
"""


# What a person should know of a file that was not in plain UTF-8, as its size tells.
ODD: Mapping[Encoding, str] = {
    "utf-8-sig": "by its size, the file had a byte order mark, which is not in this text",
    "utf-16": "by its size, the file was in UTF-16: this is its text in UTF-8",
    "one byte": "by its size, the file had one byte for each character: this is its text in UTF-8",
}


def tells_all(file: LostFile) -> bool:
    """Whether the bytes of its text are the bytes that the file had."""
    ending = file.name.rpartition(".")[2].casefold()
    return file.size is not None and ending != "" and ending in _TEXTS.split()


def encoding_of(file: LostFile, text: str) -> Encoding | None:
    """How `text` would have to be written to be as long as a file that `tells_all`; None if no way.

    Only `utf-8` leaves no doubt: of the others, the file that comes back is not the one that was.
    """
    written = len(text.encode("utf-8", "surrogatepass"))
    wide = len(text.encode("utf-16-le", "surrogatepass"))
    if file.size == written:
        return "utf-8"
    if file.size == written + len("\ufeff".encode()):
        return "utf-8-sig"
    if file.size in (wide, wide + 2):
        return "utf-16"
    # In none of them there are more characters than these.
    few = len({character for character in text if not character.isascii()}) <= _ONE_BYTE
    return "one byte" if file.size == len(text) and few else None

"""What the size of a file says of its text: whether an end of it is missing.

No chunk shows that it is the first or the last of its file; that so many bytes came back does.
"""

from unchunk.ports import LostFile

# Files that are their own text. Of others, what a store keeps is what it read out of them.
_TEXTS = """
    adoc asc bash bat bib c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff env erl ex fs
    go gradle graphql h hpp hs ini java jl js json jsonl jsx kt less log lua m markdown md mdown
    mdx mjs mkd ml ndjson nix org patch php pl pm properties proto ps1 py r rb rs rst sass scala
    scss sh sql srt svelte swift tex text tf toml ts tsv tsx txt vb vim vtt vue xml yaml yml zig zsh
"""


def tells_all(file: LostFile) -> bool:
    """Whether the bytes of its text are the bytes that the file had."""
    ending = file.name.rpartition(".")[2].casefold()
    return file.size is not None and ending != "" and ending in _TEXTS.split()


def is_whole(file: LostFile, text: str, written: int) -> bool:
    """Whether `text`, in UTF-8 `written` bytes long, is all of a file that `tells_all`.

    It may have been in UTF-16, with or without a mark at its beginning, or one byte a character.
    """
    if file.size in (written, written + len("\ufeff".encode()), len(text)):
        return True
    wide = len(text.encode("utf-16-le", "surrogatepass"))
    return file.size in (wide, wide + 2)

"""Words that a line break has cut in two: is the hyphen the word's own, or the typesetter's?

PDFium marks such a place with U+FFFE. The document itself mostly knows: it has the word
elsewhere, in one piece or with its hyphen.
"""

import re

MARK = "\ufffe"
_CUT = re.compile(rf"(\w++){MARK}(\w++)")
_WORD = re.compile(r"\w+(?:-\w+)*")


def rejoin(pages: list[str]) -> list[str]:
    """The pages with each mark resolved. Costs nothing where there is none."""
    if not any(MARK in page for page in pages):
        return pages
    words: set[str] = set()
    for page in pages:
        whole = _CUT.sub(" ", page) if MARK in page else page
        words.update(_WORD.findall(whole.casefold()))
    words.update([part for word in words if "-" in word for part in word.split("-")])

    def joined(cut: re.Match[str]) -> str:
        left, right = cut.groups()
        before, behind = left.casefold(), right.casefold()
        if before + behind in words:
            hyphen = ""
        elif f"{before}-{behind}" in words or left[-1].isdigit() or not right[0].islower():
            hyphen = "-"
        else:
            hyphen = "-" if before in words and behind in words else ""
        return f"{left}{hyphen}{right}"

    return [_CUT.sub(joined, page).replace(MARK, "") if MARK in page else page for page in pages]

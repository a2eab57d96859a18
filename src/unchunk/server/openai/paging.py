"""Lists, part by part: a part begins behind the thing that a cursor names, or ends before it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

from fastapi import Depends, Query

from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Page
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.ids import document_of

MOST, MOST_FILES = 100, 10_000
Order = Literal["asc", "desc"]
Cursor = Annotated[str, Query(max_length=200)]


def part_of_list(
    limit: Annotated[int, Query(ge=1, le=MOST)] = 20,
    order: Order = "desc",
    after: Cursor = "",
    before: Cursor = "",
) -> Page:
    return Page(limit, after, before, order)


def part_of_files(
    limit: Annotated[int, Query(ge=1, le=MOST_FILES)] = MOST_FILES,
    order: Order = "desc",
    after: Cursor = "",
    before: Cursor = "",
) -> Page:
    return by_documents(Page(limit, after, before, order))


def part_of_members(asked: Annotated[Page, Depends(part_of_list)]) -> Page:
    return by_documents(asked)


def by_documents(asked: Page) -> Page:
    """With the ids of documents in the place of those of files."""
    return asked._replace(
        after=_document(asked.after, "after"), before=_document(asked.before, "before")
    )


@contextmanager
def cursors(part: Page, shown: Callable[[str], str] = str) -> Iterator[None]:
    """While a list is read: what is wrong then is a cursor. `shown` is how clients know it."""
    try:
        yield
    except InvalidInputError as error:
        given = [it for it in (("after", part.after), ("before", part.before)) if it[1]]
        for param, cursor in given:
            if len(given) == 1 or repr(cursor) in str(error):
                told = f"{param} is {shown(cursor)!r}, which is not in this list: begin without it"
                raise refuse(told, param=param) from error
        raise


def listed(data: Sequence[dict[str, object]], *, has_more: bool) -> dict[str, object]:
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": has_more,
    }


def _document(cursor: str, param: str) -> str:
    if not cursor:
        return ""
    try:
        return document_of(cursor)
    except NotFoundError as error:
        raise refuse(f"{param} is not a file id", param=param) from error


PartOfList = Annotated[Page, Depends(part_of_list)]
PartOfFiles = Annotated[Page, Depends(part_of_files)]
PartOfMembers = Annotated[Page, Depends(part_of_members)]

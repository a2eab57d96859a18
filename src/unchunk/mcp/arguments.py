"""What the tools are given, checked. Their schemas are made of this, so they cannot differ."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_MOST_DOCUMENTS, _MOST_LISTED = 50, 200
_LONGEST_TEXT = 10**12

_Question = Annotated[str, Field(min_length=1, max_length=100_000)]
_Folder = Annotated[
    str | None,
    Field(max_length=1_000, description="Only documents in this folder; all of them without."),
]


class Arguments(BaseModel):
    """A name that is misspelt should not be lost."""

    model_config = ConfigDict(extra="forbid")


class RagSearch(Arguments):
    query: Annotated[
        _Question,
        Field(
            description="What to look for: a question or words. `source:NAME` in it means one document."
        ),
    ]
    limit: Annotated[
        int, Field(ge=1, le=_MOST_DOCUMENTS, description="So many documents, not chunks.")
    ] = 10
    use_chunk_aware: Annotated[
        bool,
        Field(description="Whole passages, put together in order; false: beginnings of chunks."),
    ] = True
    show_content: Annotated[
        bool, Field(description="With the text; false: only which documents, and where in them.")
    ] = True
    folder: _Folder = None


class GetDocument(Arguments):
    document: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2_000,
            description="Its id, as the other tools give it, its name, or folder/name.",
        ),
    ]
    start: Annotated[
        int, Field(ge=0, le=_LONGEST_TEXT, description="The first character wanted, from 0.")
    ] = 0
    end: Annotated[
        int | None,
        Field(ge=1, le=_LONGEST_TEXT, description="Up to this character, without it."),
    ] = None


class ListDocuments(Arguments):
    folder: _Folder = None
    query: Annotated[
        str | None,
        Field(max_length=1_000, description="A part of the name, in any case."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=_MOST_LISTED, description="So many at once.")] = 50
    offset: Annotated[
        int, Field(ge=0, le=_LONGEST_TEXT, description="How many of the list to pass over.")
    ] = 0


class Ask(Arguments):
    question: Annotated[_Question, Field(description="The question, in whole sentences.")]
    conversation: Annotated[
        str,
        Field(
            max_length=100,
            description="`new` begins a conversation that is kept; its id goes on with it, and"
            " what was said before is understood. Without, nothing is kept.",
        ),
    ] = ""
    folder: _Folder = None

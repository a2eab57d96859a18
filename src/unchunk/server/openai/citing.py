"""Citations as OpenAI's annotations, with what ours have beyond: which part of which text it is."""

from urllib.parse import quote, urlencode

from unchunk.chat.events import Answer, Cited, source
from unchunk.server.openai.ids import file_id
from unchunk.server.openai.shapes import Shape


def is_real(cited: Cited) -> bool:
    """What was not sent is not linked, and its text says no more than the answer does."""
    return cited.state != "unknown"


def url_citation(cited: Cited, base: str) -> Shape:
    """`base` is where the page is, whose reader the address opens at the place."""
    about = {
        "start_index": cited.at,
        "end_index": cited.end,
        "url": _address(cited, base),
        "title": cited.name,
    }
    return {"type": "url_citation", "url_citation": about | _place(cited)}


def file_citation(cited: Cited) -> Shape:
    """`index` is where in the answer it stands, as OpenAI has it."""
    about = {"index": cited.at, "start_index": cited.at, "end_index": cited.end}
    return {"type": "file_citation", **about, **_place(cited)}


def provenance(answer: Answer) -> Shape:
    """All that is known of an answer, without the texts of its sources."""
    return {
        "finish": answer.finish,
        "model": answer.model,
        "plan": answer.plan and answer.plan.as_dict(),
        "sources": [source(one, with_text=False) for one in answer.sources.documents],
        "warnings": [one.as_dict() for one in answer.warnings],
        "error": answer.error and answer.error.as_dict(),
    }


def _place(cited: Cited) -> Shape:
    return {
        "file_id": file_id(cited.document),
        "filename": cited.name,
        "chunk_index": cited.chunk_index,
        "start": cited.start,
        "end": cited.text_end,
        "state": cited.state,
    }


def _address(cited: Cited, base: str) -> str:
    address = f"{base}#/read/{quote(cited.document, safe='')}"
    if cited.start is None or cited.text_end is None:
        return address
    return f"{address}?{urlencode({'range': f'{cited.start}-{cited.text_end}'})}"

"""E-mail messages: who wrote what to whom, and the body; attachments are only named."""

import email
import email.policy
from email.message import EmailMessage

from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.decoding import decode
from unchunk.adapters.extract.html import write_page
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError

# What the standard library raises for headers that it did not foresee.
_MALFORMED = (LookupError, ValueError, AttributeError, TypeError)
_SHOWN = ("From", "To", "Cc", "Date", "Subject")


def read(source: Source) -> Extracted:
    message = email.message_from_bytes(source.path.read_bytes(), policy=email.policy.default)
    out = Composition(source.limits)
    out.title = _header(message, "Subject")
    lines = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    try:
        body = message.get_body(("plain", "html"))
        attached = [part.get_filename() or "unnamed" for part in message.iter_attachments()]
    except _MALFORMED as error:
        raise ExtractionError("damaged", f"it is not a valid message: {error}") from error
    out.paragraph("\n".join(" ".join(line.split()) for line in lines))
    if isinstance(body, EmailMessage):
        _write(body, out)
    if attached:
        out.notes.append(f"its attachments were left out: {', '.join(attached)}")
    return out.finish(source.media_type)


def _header(message: EmailMessage, name: str) -> str:
    """A header as people read it; as it stands, where the library cannot make sense of it."""
    try:
        return str(message.get(name, ""))
    except _MALFORMED:
        raw = (value for key, value in message.raw_items() if key.lower() == name.lower())
        return str(next(raw, ""))


def _write(body: EmailMessage, out: Composition) -> None:
    payload = body.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = "its charset"
    try:
        charset = body.get_content_charset("utf-8")
        text = data.decode(charset)
    except _MALFORMED:
        guessed = decode(data)
        text = guessed.text if guessed else ""
        out.notes.append(f"its body is not in {charset}, as it claims, and was guessed")
    if body.get_content_subtype() == "html":
        write_page(text, out)
    else:
        out.verbatim(text)

"""Messages: who, what, and the words."""

from email.message import EmailMessage

import pytest

from adapters.extract.conftest import Read
from unchunk.errors import ExtractionError

HEAD = b"From: Ann <a@example.org>\nTo: b@example.org\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nX-Other: no\n"


def test_a_plain_message(read: Read) -> None:
    found = read(HEAD + b"\nHello\n  there\n", "a.eml")
    assert found.text == (
        "From: Ann <a@example.org>\nTo: b@example.org\nSubject: Grüße\n\nHello\n  there"
    )
    assert found.title == "Grüße"


def test_attachments_are_named_and_plain_words_go_before_html(read: Read) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Hi"
    message.set_content("Plain words")
    message.add_alternative("<p>Other <b>words</b></p>", subtype="html")
    message.add_attachment(b"\0\1", maintype="application", subtype="pdf", filename="bill.pdf")
    found = read(message.as_bytes(), "a.eml")
    assert found.text.endswith("\n\nPlain words")
    assert found.notes == ("its attachments were left out: bill.pdf",)


def test_a_message_in_html_is_read_as_a_page(read: Read) -> None:
    found = read(
        HEAD + b"Content-Type: text/html\n\n<p>Dear <b>you</b></p><script>x</script>", "a.eml"
    )
    assert found.text.endswith("\n\nDear you")


@pytest.mark.parametrize("charset", ["utf-8", "no-such-charset"])
def test_a_charset_that_is_not_true_is_noted(read: Read, charset: str) -> None:
    body = "Größere Mühe, schönere Züge, süßere Früchte".encode("cp1252")
    head = HEAD + f"Content-Type: text/plain; charset={charset}\n".encode()
    found = read(head + b"Content-Transfer-Encoding: 8bit\n\n" + body, "a.eml")
    assert found.text.endswith("Größere Mühe, schönere Züge, süßere Früchte")
    assert found.notes == (f"its body is not in {charset}, as it claims, and was guessed",)


def test_a_message_without_a_body_still_says_who_wrote(read: Read) -> None:
    found = read(HEAD + b"Content-Type: multipart/mixed; boundary=x\n\n--x--\n", "a.eml")
    assert "Subject: Grüße" in found.text


def test_a_header_that_makes_no_sense_is_shown_as_it_stands(read: Read) -> None:
    head = b"From: Ann <a@example.org>\nTo: undisclosed:;<ate: Mon\nSubject: Hi\n"
    found = read(head + b"\nWords\n", "a.eml")
    assert "To: undisclosed:;<ate: Mon" in found.text
    assert found.text.endswith("Words")


def test_a_message_whose_parts_make_no_sense_is_damaged(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("'str' object has no attribute 'token_type'")

    monkeypatch.setattr(EmailMessage, "get_body", fail)
    with pytest.raises(ExtractionError) as refused:
        read(HEAD + b"\nWords\n", "a.eml")
    assert refused.value.code == "damaged"

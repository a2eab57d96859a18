"""XML that would expand or fetch is refused; the rest comes as events."""

import time
from pathlib import Path

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from unchunk.adapters.extract.xmlparts import attributes_of, first_text
from unchunk.errors import ExtractionError

REFERENCE = making.w("p", making.w("r", making.w("t", "&boom;")))


def refused(read: Read, data: bytes) -> ExtractionError:
    with pytest.raises(ExtractionError) as error:
        read(data, "a.docx")
    return error.value


def test_a_billion_laughs_are_not_laughed(read: Read) -> None:
    levels = "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "lol">' for n in range(10)
    )
    doctype = f'<!DOCTYPE d [{levels}<!ENTITY boom "&l9;">]>'
    begun = time.process_time()
    error = refused(read, making.docx(REFERENCE, doctype=doctype))
    assert error.code == "damaged"
    assert "declares entities" in str(error)
    assert time.process_time() - begun < 2


def test_a_file_of_this_machine_does_not_get_into_a_document(read: Read, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret words")
    for entity in (f'SYSTEM "{secret.as_uri()}"', f'PUBLIC "x" "{secret.as_uri()}"'):
        doctype = f"<!DOCTYPE d [<!ENTITY boom {entity}>]>"
        assert "declares entities" in str(refused(read, making.docx(REFERENCE, doctype=doctype)))
    doctype = f'<!DOCTYPE d SYSTEM "{secret.as_uri()}">'
    found = read(making.docx(making.paragraph("Words"), doctype=doctype), "a.docx")
    assert found.text == "Words"


@pytest.mark.parametrize("body", ["<w:p><w:r>", "&undefined;", "<a></b>", "\x01"])
def test_xml_that_is_none_is_damaged_and_names_its_part(read: Read, body: str) -> None:
    error = refused(read, making.docx(body))
    assert error.code == "damaged"
    assert "word/document.xml is not valid XML" in str(error)


def test_deep_nesting_needs_no_deep_stack(read: Read) -> None:
    body = "<w:sdt>" * 50_000 + making.paragraph("Deep") + "</w:sdt>" * 50_000
    assert read(making.docx(body), "a.docx").text == "Deep"


def test_a_relationship_is_another_attribute_than_one_of_the_same_name() -> None:
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    part = f'<list xmlns:r="{space}"><x id="1" r:id="r9"/><y/><x/></list>'.encode()
    assert attributes_of("a", [part[:20], part[20:]], "x") == [{"id": "1", "r:id": "r9"}, {}]


def test_the_first_text_of_an_element() -> None:
    part = b"<a><t/><t>One <b>not</b></t><t>Two</t></a>"
    assert first_text("a", [part], "t") == "One "
    assert not first_text("a", [part], "z")

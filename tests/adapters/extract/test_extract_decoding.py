"""Encodings: how many real texts come out right, and what is said of those that may not."""

import codecs
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus import DATA, MISSING
from unchunk.adapters.extract.decoding import Decoded, decode

SAMPLES = DATA / "encodings" / "chardet" / "tests"
PASSAGES = DATA / "texts" / "nltk" / "udhr2.zip"
DECLARATION = re.compile(rb"(?:encoding|charset)\s*=\s*[\"']?[\w-]+", re.IGNORECASE)

# Languages of the passages, with the encodings in which they were written before UTF-8.
LEGACY = {
    "fra": "cp1252 iso8859-15 cp850 mac_roman",
    "spa": "cp1252 iso8859-1 cp850",
    "por_PT": "cp1252 iso8859-1",
    "ita": "cp1252",
    "nld": "cp1252",
    "swe": "cp1252 iso8859-1",
    "fin": "cp1252 iso8859-1",
    "isl": "cp1252",
    "pol": "cp1250 iso8859-2 cp852",
    "ces": "cp1250 iso8859-2 cp852",
    "hun": "cp1250 iso8859-2 cp852",
    "rus": "cp1251 koi8-r iso8859-5 cp866 mac_cyrillic",
    "ukr": "cp1251 koi8-u",
    "bul": "cp1251 iso8859-5",
    "ell_monotonic": "cp1253 iso8859-7",
    "tur": "cp1254 iso8859-9",
    "heb": "cp1255 iso8859-8",
    "arb": "cp1256 iso8859-6",
    "lit": "cp1257 iso8859-13",
    "vie": "cp1258",
    "tha": "tis-620 cp874",
    "cmn_hans": "gb18030 gbk",
    "cmn_hant": "big5",
    "jpn": "shift_jis euc-jp iso-2022-jp",
    "kor": "cp949 euc-kr iso-2022-kr",
}


def samples() -> Iterator[tuple[Path, bytes, str | None]]:
    """Each file with its text by its true encoding; `None` where Python has no such codec."""
    for path in sorted(SAMPLES.rglob("*")):
        if path.is_file():
            data, name = path.read_bytes(), path.parent.name
            text = None
            for candidate in (name, name.rpartition("-")[0]):
                try:
                    text = data.decode(candidate).removeprefix("\ufeff")
                except LookupError:
                    continue
                break
            yield path, data, text


def right(found: Decoded | None, text: str | None) -> bool:
    return found is not None and found.text == text


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_of_425_real_files_422_come_out_exactly() -> None:
    # The others: EUC-TW, which Python does not know; a Mac text with a handful of letters that
    # tell; one minus sign that Shift JIS and its extension read in two ways.
    found = [
        (path.name, right(decode(data, markup=path.suffix in (".xml", ".html")), text))
        for path, data, text in samples()
    ]
    assert len(found) == 425
    assert sum(exact for _, exact in found) >= 422, [name for name, exact in found if not exact]


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_without_their_declarations_394_do_and_28_more_but_for_a_sign_or_two() -> None:
    # Shift JIS, GB 2312 and TIS-620 are taken for the larger sets that browsers read in their
    # place, which give a dash or a wave another number.
    exact = alike = 0
    for path, data, _ in samples():
        blank = DECLARATION.sub(lambda found: b"x" * len(found[0]), data)
        for candidate in (path.parent.name, path.parent.name.rpartition("-")[0]):
            try:
                text = blank.decode(candidate).removeprefix("\ufeff")
            except (LookupError, UnicodeDecodeError):
                continue
            found = decode(blank)
            exact += right(found, text)
            alike += found is not None and nearly(found.text, text)
            break
    assert exact >= 394
    assert alike >= 422


def nearly(found: str, text: str) -> bool:
    differing = sum(a != b for a, b in zip(found, text, strict=False))
    return len(found) == len(text) and differing <= 2 + 0.002 * len(text)


@pytest.mark.skipif(not PASSAGES.exists(), reason=MISSING)
@pytest.mark.parametrize(("size", "floor"), [(300, 0.98), (1500, 0.99)])
def test_passages_in_legacy_encodings_are_guessed(size: int, floor: float) -> None:
    tried = exact = 0
    with zipfile.ZipFile(PASSAGES) as archive:
        for language, encodings in LEGACY.items():
            text = archive.read(f"udhr2/{language}.txt").decode()
            for part in (text[len(text) // 4 :], text[len(text) // 2 :]):
                for encoding in encodings.split():
                    data = part[:size].encode(encoding, "ignore")
                    tried += 1
                    exact += right(decode(data), data.decode(encoding))
    assert tried > 100
    assert exact / tried >= floor


def test_a_guess_is_noted_and_what_is_certain_is_not() -> None:
    guessed = decode("Съешь же ещё этих мягких французских булок".encode("cp1251"))
    assert guessed is not None
    assert guessed.note == "its encoding is not declared and was taken for cp1251"
    certain = decode("Съешь же ещё".encode())
    assert certain == Decoded("Съешь же ещё", "utf-8")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_no_text(mark: bytes, encoding: str) -> None:
    text = "naïve 😀\r\n"
    assert decode(mark + text.encode(encoding)) == Decoded(text, encoding)


def test_every_character_is_kept() -> None:
    text = "a \r\n\t b\r\n\n\x0c\x1b[31m \ufeff trailing  "
    assert decode(text.encode()) == Decoded(text, "utf-8")


def test_utf_16_cut_in_the_middle_of_a_character_is_read_and_noted() -> None:
    found = decode(codecs.BOM_UTF16_LE + "ab😀".encode("utf-16-le")[:-2])
    assert found is not None
    assert found.text == "ab\ufffd"
    assert "1 places are not valid utf-16-le" in found.note


def test_utf_8_with_few_broken_bytes_stays_utf_8_and_says_how_many() -> None:
    data = "größer, schöner, wärmer, kühler, höher, süßer — öfter".encode()
    found = decode(data[:10] + b"\xff" + data[10:])
    assert found is not None
    assert found.encoding == "utf-8"
    assert found.note == "1 places are not valid utf-8 and were replaced by U+FFFD"


def test_utf_8_cut_off_in_its_last_character_stays_utf_8() -> None:
    found = decode("é und ü".encode()[:-1])
    assert found is not None
    assert found.text == "é und \ufffd"


def test_utf_16_without_a_mark_is_found() -> None:
    text = "Plain words without a mark, as some programs write them.\r\n" * 3
    for encoding in ("utf-16-le", "utf-16-be"):
        found = decode(text.encode(encoding))
        assert found is not None
        assert found.text == text
        assert found.note


def test_a_text_with_holes_is_a_text_and_binary_data_are_not() -> None:
    log = "12:00 started\n" * 20 + "\0" * 512 + "12:05 started again\n" * 20
    holes = decode(log.encode())
    assert holes is not None
    assert holes.text == log
    assert "NUL" in holes.note
    assert decode(b"\0\x01\x02" * 300 + b"words") is None
    assert decode(b"\0".join([b"name", b"value"] * 20)) is None
    assert decode(b"\0\0\0\0some words \xff\xfe and more") is None
    assert decode(bytes(range(1, 32)) * 40) is None
    assert decode(bytes(range(1, 256)) * 40) is None


def test_what_a_page_declares_is_believed_where_it_can_be_true() -> None:
    page = '<?xml version="1.0" encoding="gb2312"?><a>一—一</a>'
    data = page.encode("gb18030")
    found = decode(data, markup=True)
    assert found is not None
    assert found == Decoded(data.decode("gb2312"), "gb2312")
    # A dollar sign of Windows is not in the smaller set that the page names.
    euro = '<meta charset="iso-8859-1"><p>5 €</p>'.encode("cp1252")
    assert decode(euro, markup=True) == Decoded('<meta charset="iso-8859-1"><p>5 €</p>', "cp1252")


def test_valid_utf_8_wins_over_a_declaration() -> None:
    page = '<meta charset="windows-1252"><p>größer</p>'
    assert decode(page.encode(), markup=True) == Decoded(page, "utf-8")


@pytest.mark.parametrize("name", ["utf-7", "rot13", "base64", "idna", "no-such-thing"])
def test_names_that_are_no_character_sets_are_not_believed(name: str) -> None:
    page = f'<meta charset="{name}"><p>{"größer und schöner und kühler " * 9}</p>'
    found = decode(page.encode("cp1252"), markup=True)
    assert found is not None
    assert found.text == page
    assert found.note


def test_a_declaration_that_cannot_be_true_is_passed_over() -> None:
    page = '<?xml version="1.0" encoding="ascii"?><a>Съешь же ещё этих мягких булок</a>'
    data = page.encode("koi8-r").replace(b'"ascii"', b'"euc_jp"')
    found = decode(data, markup=True)
    assert found is not None
    assert "Съешь же ещё" in found.text


def test_seven_bit_encodings_are_read_and_terminal_codes_are_kept() -> None:
    japanese = "日本語の文字コードを確かめるための文章です。"
    found = decode(japanese.encode("iso-2022-jp"))
    assert found is not None
    assert found.text == japanese
    colours = "done\x1b(B\x1b[m and ~{ braces"
    assert decode(colours.encode()) == Decoded(colours, "utf-8")


def test_what_the_guess_does_not_fit_to_the_end_is_read_with_losses_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unchunk.adapters.extract.decoding._EXAMINED", 1000)
    text = "日本語の文章です。文字コードを確かめます。" * 40
    found = decode(text.encode("euc-jp") + b" \xff\xfe\xfd end")
    assert found is not None
    assert found.text.startswith(text)
    assert found.text.endswith(" end")
    assert "was taken for euc_jp; 3 places are not valid euc_jp" in found.note


def test_a_guess_gives_way_to_the_larger_set_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unchunk.adapters.extract.decoding._EXAMINED", 1000)
    text = "Der größere Teil der schönen Häuser gehört den Bürgern. " * 40
    found = decode(text.encode("iso8859-1") + "“5 €”".encode("cp1252"))
    assert found is not None
    assert found.text == f"{text}“5 €”"
    assert found.encoding == "cp1252"

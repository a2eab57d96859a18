"""Web pages: the words of their authors, without what programs put around them."""

import time

import pytest

from adapters.extract.conftest import Read
from corpus import DATA, MISSING
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.domain import Heading
from unchunk.errors import ExtractionError

SAMPLES = DATA / "office_samples" / "markitdown"


def page(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


def test_words_are_kept_and_machinery_is_not(read: Read) -> None:
    found = read(
        page(
            "<nav><a href=/>Home</a></nav><script>var x = '<p>no</p>'</script><style>p{}</style>"
            "<h1>A <em>heading</em></h1><p>One &amp; two<br>three&nbsp;four</p><!-- no -->"
            "<div hidden>no</div><div aria-hidden=true>no</div><div style='display: none'>no</div>"
            "<div role=navigation>no</div><form><input value=no><button>no</button></form>"
            "<ul><li><a hreflang=de href=de>Deutsch</a></ul>"
            "<p>so\xadft</p><template><p>no</p></template><footer>no</footer>"
            "<article><footer>A footer of its own</footer></article>",
            "<title> The\n title </title>",
        ),
        "a.html",
    )
    assert found.text == "# A heading\n\nOne & two\nthree four\n\nsoft\n\nA footer of its own"
    assert found.title == "The title"
    assert found.headings == (Heading(0, 1, "A heading"),)


def test_lists_code_and_loose_text(read: Read) -> None:
    found = read(
        page(
            "loose <b>text</b><ul><li>one<ol><li>below</ol><li><p>two</p><p>more of two</p></ul>"
            "<pre>  x = 1\n\ty</pre><blockquote>quoted</blockquote>after<li>stray</li>"
        ),
        "a.html",
    )
    assert found.text == (
        "loose text\n\n- one\n  - below\n- two\n\nmore of two\n\n```\n  x = 1\n\ty\n```\n\n"
        "quoted\n\nafter\n\n- stray"
    )


def test_tables_of_data_are_tables(read: Read) -> None:
    found = read(
        page(
            "<table><caption>Costs</caption><tr><th>a<th colspan=2>b</tr>"
            "<tr><td>1<td>2<ul><li>x<li>y</ul><td colspan=zz>3</table>"
            "<table><td>1<td>2<tr><td>3<td><b>4</b></table>"
        ),
        "a.html",
    )
    assert found.text == (
        "Costs\n\n| a | b |  |\n| --- | --- | --- |\n| 1 | 2 x y | 3 |\n\n"
        "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |"
    )


def test_tables_of_layout_are_what_stands_in_them(read: Read) -> None:
    layout = (
        "<table><tr><td>menu<td><h2>Heading</h2><table><tr><th>a<th>b<tr><td>1<td>2</table></table>"
    )
    assert read(page(layout), "a.html").text == (
        "menu\n\n## Heading\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )
    for frame in (
        "<table><tr><td>one<td>row</table>",
        "<table role=presentation><tr><td>one<tr><td>row</table>",
    ):
        assert read(page(frame), "a.html").text == "one\n\nrow"
    long = f"<table><tr><td>{'word ' * 400}<td>x<tr><td>y<td>z</table>"
    assert "|" not in read(page(long), "a.html").text
    nested = "<table><tr><th>a<th>b<tr><td>c<td>d" * 30
    assert "a" in read(page(nested), "a.html").text


def test_only_the_main_part_of_a_page_is_read_if_it_has_one(read: Read) -> None:
    words = "These are the words that matter. " * 5
    found = read(
        page(f"<div>Menu</div><main role=main><p>{words}</p></main><div>Ads</div>"), "a.html"
    )
    assert found.text == words.strip()
    small = read(page(f"<div>{words}</div><main>x</main>"), "a.html")
    assert small.text == f"{words.strip()}\n\nx"


def test_xhtml_may_close_its_elements_itself(read: Read) -> None:
    found = read(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="x"/></head><body><a id="top"/><p>Words</p></body></html>',
        "a.xhtml",
    )
    assert found.text == "Words"


def test_references_to_half_characters_do_no_harm(read: Read) -> None:
    found = read(page("<p>a&#xD800;b&#0;c&#x1F600;</p>"), "a.html")
    assert found.text.encode()
    assert "😀" in found.text


def test_a_page_without_words_is_empty(read: Read) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(page("<img src=x><script>1</script>"), "a.html")
    assert refused.value.code == "empty"


@pytest.mark.parametrize("opening", ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<span><p>"])
def test_deep_nesting_is_walked_without_recursion(read: Read, opening: str) -> None:
    found = read(page(opening * 3000 + "Deep words"), "a.html")
    assert found.text.strip(" -") == "Deep words"


def test_a_page_of_many_megabytes_is_read_in_linear_time(read: Read) -> None:
    part = "<p>Hello <b>world</b>, this is <a href=x>a link</a>.</p>\n"
    small, large = page(part * 3_000), page(part * 24_000)

    def seconds(data: str) -> float:
        begun = time.process_time()
        read(data, "a.html")
        return time.process_time() - begun

    few = min(seconds(small) for _ in range(3))
    assert min(seconds(large) for _ in range(2)) < 8 * few * 3


def test_an_html_that_does_not_fit_in_memory_says_so(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    from selectolax.lexbor import SelectolaxError

    def refuse(_: str) -> None:
        raise SelectolaxError("Can't parse HTML.")

    monkeypatch.setattr("unchunk.adapters.extract.html.LexborHTMLParser", refuse)
    with pytest.raises(MemoryError):
        read(page("x"), "a.html", Limits(memory=MiB))


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_real_pages(read: Read) -> None:
    found = read((SAMPLES / "test_wikipedia.html").read_bytes(), "a.html")
    assert found.text.startswith("# Microsoft\n")
    assert (
        "| Founded | April 4, 1975; 48 years ago in Albuquerque, New Mexico, U.S. |" in found.text
    )
    assert "Afrikaans" not in found.text
    assert "Jump to content" not in found.text
    assert len(found.headings) > 25
    blog = read((SAMPLES / "test_blog.html").read_bytes(), "a.html")
    assert blog.text.startswith("# Does Model and Inference Parameter Matter")
    assert "Large language models (LLMs) are powerful tools" in blog.text

"""Documents to read: the text with what is highlighted in it, and the drawn pages of a PDF."""

import re

from playwright.sync_api import expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Visit
from page.papers import OIL, handbook, ledger
from page.saying import Cite, citing


def marked(visit: Visit) -> list[str]:
    expect(visit.page.locator("mark").first).to_be_in_viewport()
    found = visit.page.locator("mark").evaluate_all("all => all.map((one) => one.textContent)")
    return [str(one) for one in found]


def test_ranges_are_highlighted_by_characters_and_the_first_is_in_view(visit: Visit) -> None:
    document = visit.add("handbook.md", handbook())
    text = visit.get(f"/api/documents/{document}/text")["text"]
    places = [text.index("Petrels strike"), text.index("Visitors sign")]
    ranges = "&".join(f"range={at}-{at + 14}" for at in places)
    visit.go(f"#/read/{document}?{ranges}")
    assert marked(visit) == [text[at : at + 14] for at in places]
    page = visit.page
    expect(page.locator(".reader-tools")).to_contain_text("1 of 2")
    page.get_by_role("button", name="Next highlight").click()
    expect(page.locator("mark").nth(1)).to_be_in_viewport()
    expect(page.locator("mark").nth(1)).to_have_class(re.compile("active"))


def test_a_gap_is_highlighted_as_the_chunks_it_is(visit: Visit) -> None:
    document = visit.add("handbook.md", handbook())
    chunks = visit.get(f"/api/documents/{document}/chunks")["chunks"]
    text = visit.get(f"/api/documents/{document}/text")["text"]
    visit.go(f"#/read/{document}?gap=3-4")
    assert "".join(marked(visit)) == text[chunks[3]["start"] : chunks[4]["end"]]


def test_the_contents_lead_to_their_headings(visit: Visit) -> None:
    document = visit.add("handbook.md", handbook())
    visit.go(f"#/read/{document}")
    page = visit.page
    page.locator("details.contents").get_by_role("button", name="Weather").click()
    # At the top of what is seen, whatever stands before it.
    expect(page.locator("details.contents .current")).to_have_text("Weather")


def test_a_long_document_is_read_from_its_middle_to_both_ends(visit: Visit) -> None:
    lines = [f"Line {number} of the long log 🪵." for number in range(20_000)]
    document = visit.add("log.txt", "\n".join(lines))
    text = visit.get(f"/api/documents/{document}/text")["text"]
    at = text.index("Line 12345 ")
    visit.go(f"#/read/{document}?range={at}-{at + 10}")
    assert marked(visit) == ["Line 12345"]
    excerpt = visit.page.locator(".excerpt")

    def reached(edge: str, line: str) -> bool:
        script = f"one => {{ one.scrollTop = one.{edge}; return one.textContent }}"
        return line in excerpt.evaluate(script)

    visit.until(lambda: reached("scrollHeight", "Line 19999 "))
    visit.until(lambda: reached("scrollTop * 0", "Line 0 "))
    # What is far away is let go: a browser does not hold the whole of it.
    assert len(excerpt.text_content() or "") < 600_000


def test_the_drawn_page_of_a_pdf_is_marked_where_the_cited_words_stand(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("ledger.pdf", ledger())
    model.script.append(citing("Four hundred gallons ", Cite(OIL), "."))
    visit.go()
    turn = visit.ask("How much colza oil does the store hold?")
    turn.get_by_role("link", name="Citation 1").click()
    panel = visit.page.locator("aside.panel")
    expect(panel.locator("mark").first).to_be_in_viewport()
    assert OIL in "".join(panel.locator("mark").all_inner_texts())
    panel.get_by_role("radio", name="Page").check()
    expect(panel.get_by_role("spinbutton", name="Page")).to_have_value("2")
    picture = panel.get_by_role("img", name="Page 2 of ledger.pdf")
    expect(picture).to_be_visible()
    visit.until(lambda: picture.evaluate("one => one.complete && one.naturalWidth > 300"))
    marks = panel.locator(".sheet-marks span")
    expect(marks.first).to_be_visible()
    sheet = picture.bounding_box()
    assert sheet is not None
    boxes = [one.bounding_box() for one in marks.all()]
    shares = [
        ((box["x"] - sheet["x"]) / sheet["width"], (box["y"] - sheet["y"]) / sheet["height"])
        for box in boxes
        if box is not None
    ]
    # The page is 600 by 800 points; its lines begin at 20 points from the left, and the first
    # stands 100 from the top. The words are on the second.
    assert all(0.02 < across < 0.05 for across, _ in shares)
    lines = {round((down * 800 - 90) / 14) for _, down in shares}
    assert 1 in lines
    assert lines <= set(range(22))
    panel.get_by_role("button", name="Next page").click()
    expect(panel.get_by_role("img", name="Page 3 of ledger.pdf")).to_be_visible()
    expect(panel.locator(".sheet-marks span")).to_have_count(0)


def test_a_document_that_is_gone_is_told_as_gone(visit: Visit) -> None:
    visit.forgive("status of 404")
    visit.page.goto(f"{visit.server.url}/#/read/nothing")
    expect(visit.page.get_by_text("This document is not there")).to_be_visible()

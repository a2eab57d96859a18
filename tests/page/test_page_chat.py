"""Questions and answers on the page: asked, streamed, cited, stopped, asked again, and kept."""

import re
from typing import Any

from playwright.sync_api import Locator, expect

from adapters.llm.scripted import ScriptedModel, answer, fail_amid, hang, hang_amid
from chat.reading import book
from chat.reading import reader as reading
from page.browsing import Enter, Visit
from page.papers import handbook
from page.running import Running
from page.saying import Cite, citing

FACT = "A keeper is paid forty guineas a year"
PAY = "What is a keeper paid in a year?"
WHOLE = "Summarize the whole document handbook.md"


def paid() -> Any:  # noqa: ANN401 - a behaviour
    return citing("Forty ", "**guineas** ", Cite(FACT), ", and no more.")


def panel(visit: Visit) -> Locator:
    return visit.page.locator("aside.panel")


def highlighted(within: Locator) -> str:
    expect(within.locator("mark").first).to_be_visible()
    return "".join(within.locator("mark").all_inner_texts())


def test_a_question_is_answered_and_its_citation_leads_to_the_very_words(
    visit: Visit, model: ScriptedModel
) -> None:
    document = visit.add("handbook.md", handbook())
    model.script.append(paid())
    visit.go()
    turn = visit.ask(PAY)
    expect(turn.locator(".prose")).to_have_text("Forty guineas 1, and no more.")
    expect(turn.locator(".prose strong")).to_have_text("guineas")
    [kept] = visit.get(f"/api/conversations/{visit.page.url.rpartition('/')[2]}")["turns"]
    [cited] = kept["record"]["citations"]
    turn.get_by_role("link", name="Citation 1").click()
    text = visit.get(f"/api/documents/{document}/text")["text"]
    # In front of it stand signs that are two for a browser, and one for the server.
    assert "🌊" in text[: cited["start"]]
    assert FACT in text[cited["start"] : cited["text_end"]]
    shown = panel(visit).locator("mark")
    expect(shown.first).to_be_in_viewport()
    whole = "".join(shown.evaluate_all("all => all.map((one) => one.textContent)"))
    assert whole == text[cited["start"] : cited["text_end"]]
    # The rest of the document is there, too.
    expect(panel(visit).locator(".excerpt")).to_contain_text("The keeper's handbook")
    panel(visit).get_by_role("button", name="Back to the sources").click()
    expect(panel(visit).get_by_role("heading", name="Sources")).to_be_visible()


def test_the_sources_tell_file_heading_coverage_and_scores(
    visit: Visit, model: ScriptedModel
) -> None:
    document = visit.add("handbook.md", handbook(), folder="rock")
    model.script.append(paid())
    visit.go()
    visit.ask(PAY)
    card = panel(visit).get_by_role("region", name="handbook.md")
    chunks = visit.get(f"/api/documents/{document}")["chunk_count"]
    for words in ("rock", "Wages", f"of {chunks}"):
        expect(card).to_contain_text(words)
    expect(card.locator(".scores dd").first).to_contain_text(re.compile(r"0\.\d+|found by words"))
    expect(card.get_by_text("Cited as")).to_be_visible()


def test_a_gap_opens_and_asking_again_with_it_brings_its_chunks(
    visit: Visit, model: ScriptedModel
) -> None:
    document = visit.add("handbook.md", handbook())
    model.script.extend([paid(), citing("So it is ", Cite("The lamp is lit at dusk"), ".")])
    visit.go()
    visit.ask(PAY)
    asked = len(model.asked)
    mark = panel(visit).locator(".gap-mark").first
    expect(mark).to_contain_text("omitted")
    mark.click()
    chunks = visit.get(f"/api/documents/{document}/chunks")["chunks"]
    opened = panel(visit).locator(".gap-chunk").first
    expect(opened.locator(".passage-text")).to_contain_text("The lamp is lit at dusk")
    assert opened.locator(".passage-text").text_content() == chunks[0]["text"]
    assert f"[{document}:0]" not in str(model.asked[-1].body)
    opened.get_by_role("button", name="Ask again with").click()
    expect(visit.page.locator("article.turn")).to_have_count(2)
    turn = visit.answered(PAY)
    expect(turn.locator(".question")).to_contain_text("With chunk 0 of handbook.md")
    assert f"[{document}:0]" in str(model.asked[asked].body)
    expect(turn.locator(".prose")).to_have_text("So it is 1.")
    turn.get_by_role("link", name="Citation 1").click()
    assert "The lamp is lit" in highlighted(panel(visit))


def test_the_stop_button_stops_the_answer_and_the_model(visit: Visit, model: ScriptedModel) -> None:
    visit.add("handbook.md", handbook())
    model.script.append(hang_amid)
    aborted = model.aborted
    visit.go()
    page = visit.page
    page.get_by_label("Your question").fill(PAY)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".answer .prose")).to_have_text("The pilot boards")
    page.get_by_role("button", name="Stop the answer").click()
    turn = visit.answered(PAY)
    expect(turn).to_contain_text("You stopped this answer.")
    expect(turn.locator(".prose")).to_have_text("The pilot boards")
    assert model.settled(lambda: model.aborted == aborted + 1)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    page.reload()
    expect(visit.answered(PAY)).to_contain_text("You stopped this answer.")


def test_a_long_document_is_read_part_by_part_and_the_page_says_which(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("log.md", book(120))
    model.script.extend([reading(part1=hang)] * 20)
    visit.go()
    page = visit.page
    question = "Summarise source:log.md"
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".answer")).to_contain_text(re.compile(r"Reading part \d of \d: log\.md"))
    page.get_by_role("button", name="Stop the answer").click()
    expect(visit.answered(question)).to_contain_text("You stopped this answer.")
    model.script.clear()


def test_an_answer_goes_on_over_another_view_and_over_a_reload(
    visit: Visit, model: ScriptedModel
) -> None:
    model.script.append(answer("One", *[" more"] * 40, pause=0.02))
    visit.add("handbook.md", handbook())
    visit.go()
    page = visit.page
    page.get_by_label("Your question").fill(PAY)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".answer .prose")).to_contain_text("One more")
    page.reload()
    turn = visit.answered(PAY)
    expect(turn.locator(".prose")).to_have_text("One" + " more" * 40)
    expect(page.locator("article.turn")).to_have_count(1)


def test_an_answer_that_ended_while_nobody_looked_is_shown_once(
    visit: Visit, model: ScriptedModel
) -> None:
    model.script.append(answer("One", *[" more"] * 40, pause=0.02))
    visit.go()
    page = visit.page
    page.get_by_label("Your question").fill(PAY)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".answer .prose")).to_contain_text("One more")
    address = page.url
    page.goto("about:blank")
    path = f"/api/conversations/{address.rpartition('/')[2]}"
    visit.until(lambda: visit.get(path)["turns"][0]["status"] == "complete")
    page.goto(address)
    expect(visit.answered(PAY).locator(".prose")).to_have_text("One" + " more" * 40)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    expect(page.locator("article.turn")).to_have_count(1)


def test_conversations_are_there_after_a_reload_and_can_be_renamed_and_deleted(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    model.script.append(paid())
    visit.go()
    visit.ask(PAY)
    page = visit.page
    page.reload()
    turn = visit.answered(PAY)
    expect(turn.locator(".prose")).to_have_text("Forty guineas 1, and no more.")
    turn.get_by_role("link", name="Citation 1").click()
    assert FACT in highlighted(panel(visit))
    history = page.get_by_role("navigation", name="Conversations")
    history.get_by_role("button", name="What to do with").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("dialog").get_by_label("Its name").fill("On pay")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(history.get_by_role("link", name="On pay")).to_be_visible()
    expect(page.locator("main h1")).to_have_text("On pay")
    page.reload()
    expect(page.locator("main h1")).to_have_text("On pay")
    history.get_by_role("button", name="What to do with").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(history.get_by_role("link", name="On pay")).to_have_count(0)
    assert visit.get("/api/conversations")["conversations"] == []


def test_the_choice_of_evidence_is_made_by_itself_or_by_the_asker_and_told(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    visit.go()
    turn = visit.ask(WHOLE)
    plan = visit.client.post("/api/retrieve", json={"message": WHOLE}).json()["plan"]
    assert plan["reasons"]
    expect(turn.locator(".how")).to_contain_text("chosen automatically")
    for reason in plan["reasons"]:
        expect(turn.locator(".how")).to_contain_text(reason)
    choice = visit.page.get_by_label("What to answer from")
    choice.select_option("Passages")
    expect(visit.ask(PAY).locator(".how")).to_contain_text("Passages, as you chose")
    # What was said before takes room, too.
    visit.page.get_by_role("link", name="New conversation").click()
    expect(visit.page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    choice.select_option("Full documents")
    turn = visit.ask("Who settles arrears?")
    expect(turn.locator(".how")).to_contain_text("Full documents, as you chose")
    assert "The lamp is lit" in str(model.asked[-1].body["messages"][-1])
    choice.select_option("No documents")
    turn = visit.ask("How are you?")
    expect(turn.locator(".how")).to_contain_text("No documents, as you chose")
    assert model.asked[-1].body["messages"][-1]["content"] == "How are you?"


def test_a_document_is_named_by_completion_with_the_keyboard_alone(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    visit.add("hand signals.md", "# Signals\n\nA raised hand means stop.")
    visit.add("menu.md", "# Menu\n\nSoup.")
    visit.go()
    page = visit.page
    box = page.get_by_label("Your question")
    box.press_sequentially("What is in source:hand")
    options = page.get_by_role("listbox", name="Documents").get_by_role("option")
    expect(options).to_have_count(2)
    expect(options.first).to_have_attribute("aria-selected", "true")
    names = options.locator("span:first-child").all_inner_texts()
    wanted = names.index("hand signals.md")
    for _ in range(wanted):
        box.press("ArrowDown")
    expect(options.nth(wanted)).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == options.nth(wanted).get_attribute("id")
    box.press("Enter")
    expect(box).to_have_value('What is in source:"hand signals.md" ')
    expect(page.get_by_role("listbox", name="Documents")).to_be_hidden()
    box.press("Enter")
    visit.answered("What is in")
    prompt = str(model.asked[-1].body["messages"][-1])
    assert "A raised hand means stop." in prompt
    assert "Soup" not in prompt
    assert "lamp" not in prompt


def test_a_question_is_asked_and_its_source_opened_without_a_mouse(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    model.script.append(paid())
    visit.go("#/library")
    page = visit.page
    tab_to(visit, "Chat")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(PAY)
    page.keyboard.press("Enter")
    visit.answered(PAY)
    tab_to(visit, "Citation 1", backwards=True)
    page.keyboard.press("Enter")
    assert FACT in highlighted(panel(visit))
    # Whoever opened it is in it, and gets back to where they were.
    expect(panel(visit).get_by_role("heading", name="handbook.md")).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel(visit)).to_be_hidden()
    expect(page.get_by_role("link", name="Citation 1")).to_be_focused()


def test_the_conversations_of_a_small_screen_take_the_focus_and_give_it_back(
    enter: Enter, talking: Running
) -> None:
    visit = enter(talking, viewport={"width": 390, "height": 844})
    visit.client.post("/api/chat", json={"message": PAY, "conversation": "new"})
    visit.go()
    page = visit.page
    history = page.get_by_role("navigation", name="Conversations")
    expect(history).to_be_hidden()
    page.get_by_role("button", name="Conversations").press("Enter")
    expect(history.get_by_role("link", name="New conversation")).to_be_focused()
    page.keyboard.press("Escape")
    expect(history).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations")).to_be_focused()
    page.get_by_role("button", name="Conversations").press("Enter")
    history.get_by_role("link", name=PAY).click()
    visit.answered(PAY)
    expect(history).to_be_hidden()


def tab_to(visit: Visit, name: str, *, backwards: bool = False) -> None:
    """By Tab alone, with a focus that can be seen at every step."""
    focused = """() => {
      const one = document.activeElement;
      const style = getComputedStyle(one);
      const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
      const shadow = style.boxShadow !== "none";
      return [one.getAttribute("aria-label") ?? one.textContent.trim(), ring || shadow];
    }"""
    for _ in range(60):
        visit.page.keyboard.press("Shift+Tab" if backwards else "Tab")
        label, is_seen = visit.page.evaluate(focused)
        assert is_seen or label.startswith(("Your question", "The page")), f"no focus on {label!r}"
        if label.startswith(name):
            return
    raise AssertionError(f"the keyboard does not lead to {name!r}")


def test_a_model_that_fails_says_so_and_the_question_can_be_asked_again(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    model.script.extend([fail_amid, paid()])
    visit.go()
    turn = visit.ask(PAY)
    expect(turn.get_by_role("alert")).to_contain_text("the model fell over")
    turn.get_by_role("button", name="Try again").click()
    expect(visit.page.locator("article.turn")).to_have_count(2)
    expect(visit.answered(PAY).locator(".prose")).to_have_text("Forty guineas 1, and no more.")


def test_without_a_model_the_answer_is_made_of_quotes(reader: Visit) -> None:
    reader.add("handbook.md", handbook())
    reader.go()
    expect(reader.page.locator("main")).to_contain_text("No model is set up")
    turn = reader.ask(PAY)
    expect(turn.locator(".prose")).to_contain_text(FACT)
    expect(turn.get_by_text("Quotes", exact=True)).to_be_visible()
    turn.get_by_role("link", name="Citation 1").click()
    assert FACT in highlighted(panel(reader))

"""The views that tell how things are: why an answer is as it is, and how the server does."""

import json
import re

import pytest
from playwright.sync_api import expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Gate, Visit
from page.papers import handbook

QUESTION = "What is a keeper paid in a year?"


def test_why_shows_the_plan_the_scores_what_was_dropped_and_the_exact_prompt(
    visit: Visit, model: ScriptedModel
) -> None:
    visit.add("handbook.md", handbook())
    # The same again is found as well as the first, and is dropped for it.
    visit.add("copy of the handbook.md", handbook() + "\nOne line more.")
    visit.go()
    turn = visit.ask(QUESTION)
    sent = model.asked[-1].body["messages"]
    page = visit.page
    with page.expect_response("**/api/retrieve") as retrieved:
        turn.get_by_role("link", name="Why this answer?").click()
    got = retrieved.value.json()
    result = page.locator(".why-result")
    plan = result.locator("section", has=page.get_by_role("heading", name="Plan"))
    expect(plan).to_contain_text(got["plan"]["search_text"])
    rows = page.get_by_role("region", name="What was found").locator("tbody tr:visible")
    expect(rows).to_have_count(min(len(got["found"]), 30))
    first = got["found"][0]
    expect(rows.first).to_contain_text(f"{first['score']:.2f}")
    for way in first["ways"]:
        expect(rows.first).to_contain_text(f"{way['score']:.2f} · no. {way['rank']}")
    expect(rows.first.locator(".meter").first).to_be_visible()
    assert got["dropped"]
    dropped = result.locator(".dropped li")
    expect(dropped).to_have_count(len(got["dropped"]))
    expect(dropped.first).to_contain_text(got["dropped"][0]["reason"])
    shown = result.locator(".message pre").evaluate_all("all => all.map((one) => one.textContent)")
    assert shown == [one["content"] for one in sent]
    # Nothing was asked of the model for it.
    assert model.asked[-1].body["messages"] is sent


def test_why_looks_into_any_question(visit: Visit, model: ScriptedModel) -> None:
    visit.add("handbook.md", handbook())
    asked = len(model.asked)
    visit.go("#/why")
    page = visit.page
    page.get_by_label("Question").fill("When is the lamp lit?")
    page.get_by_label("Answer from").select_option("Full documents")
    page.get_by_role("button", name="Look").click()
    expect(page.locator(".why-result")).to_contain_text("Full documents, as you chose")
    page.get_by_label("Answer from").select_option("No documents")
    page.get_by_role("button", name="Look").click()
    expect(page.locator(".message pre")).to_have_text("When is the lamp lit?")
    assert len(model.asked) == asked


def test_what_is_typed_while_why_is_still_loading_is_not_looked_into(visit: Visit) -> None:
    looks: list[str] = []
    folders = Gate(visit.page, "**/api/folders")
    visit.page.on(
        "request",
        lambda sent: looks.append(sent.url) if sent.url.endswith("/api/retrieve") else None,
    )
    visit.go("#/why")
    page = visit.page
    page.get_by_label("Question").fill("When is the la")
    with page.expect_response("**/api/folders"):
        folders.open()
    page.get_by_label("Question").fill("When is the lamp lit?")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("heading", name="The prompt")).to_be_visible()
    assert len(looks) == 1


def test_status_tells_parts_engine_library_and_counters(visit: Visit) -> None:
    visit.add("handbook.md", handbook())
    visit.go("#/status")
    page = visit.page
    told = visit.get("/api/status")
    expect(page.get_by_role("heading", name="Everything works")).to_be_visible()
    parts = page.locator(".parts li")
    expect(parts).to_have_count(4)
    expect(parts.filter(has_text="Works")).to_have_count(4)
    for words in (told["version"], told["embedder"]["name"], "scripted", "800"):
        expect(page.locator("main")).to_contain_text(words)
    figures = dict(
        zip(
            page.locator(".figures dt").all_inner_texts(),
            page.locator(".figures dd").all_inner_texts(),
            strict=True,
        )
    )
    # Of this user alone, whoever else the server serves.
    assert json.loads(figures["Documents"]) == 1
    assert json.loads(figures["Chunks"]) == told["library"]["chunks"]
    # What all users did together is not for each of them.
    expect(page.get_by_role("heading", name="Since the start")).to_be_visible()
    expect(page.get_by_text("Figures of the whole server are for its operator")).to_be_visible()
    expect(page.get_by_text("Nothing has happened yet")).to_have_count(0)


def test_the_theme_is_the_systems_until_another_is_chosen(visit: Visit) -> None:
    visit.page.emulate_media(color_scheme="dark")
    visit.go()
    page = visit.page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Use the light theme").click()
    visit.until(lambda: page.evaluate(paper) != dark)
    light = page.evaluate(paper)
    page.reload()
    expect(page.get_by_role("button", name="Use the dark theme")).to_be_visible()
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="Use the dark theme").click()
    visit.until(lambda: page.evaluate(paper) == dark)


def test_a_server_that_is_away_is_told_and_the_page_goes_on_when_it_is_back(visit: Visit) -> None:
    visit.forgive("ERR_INTERNET_DISCONNECTED")
    visit.add("handbook.md", handbook())
    visit.go()
    visit.page.get_by_label("Your question").fill(QUESTION)
    visit.context.set_offline(True)
    visit.page.get_by_label("Your question").press("Enter")
    turn = visit.page.locator("article.turn")
    expect(turn.get_by_role("alert")).to_contain_text("does not answer")
    # What could not be asked is not lost.
    expect(visit.page.get_by_label("Your question")).to_have_value(QUESTION)
    visit.context.set_offline(False)
    turn.get_by_role("button", name="Try again").click()
    expect(visit.answered(QUESTION).locator(".prose")).to_contain_text("pilot")
    expect(visit.page.locator("aside.panel .source")).to_be_visible()


def test_what_must_not_happen_is_seen_when_it_happens(visit: Visit) -> None:
    visit.go()
    for script, fault in (
        ("setTimeout(() => { throw new Error('a bug') })", "page: a bug"),
        ("document.body.append(Object.assign(new Image(), { src: 'https://example.org/x' }))", "x"),
        ("document.body.setAttribute('onclick', 'alert(1)'); document.body.click()", "console: "),
        ("fetch('/nothing')", "404"),
        ("console.error('oh')", "console: oh"),
    ):
        visit.page.evaluate(f"() => {{ {script} }}")
        visit.until(lambda: visit.faults)
        assert fault in visit.faults[0]
        with pytest.raises(AssertionError, match=re.escape(fault)):
            visit.check()
        visit.faults.clear()

"""What outlives a view, a panel or a person, and what must not."""

import json

from playwright.sync_api import FilePayload, Page, Route, ViewportSize, expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Enter, Gate, Visit
from page.papers import handbook
from page.running import Running
from page.saying import Cite, citing

PAID = "What is a keeper paid in a year?"
NARROW: ViewportSize = {"width": 390, "height": 800}


def shown_prompt(page: Page) -> list[str]:
    expect(page.locator(".message pre").first).to_be_visible()
    found: list[str] = page.locator(".message pre").evaluate_all(
        "all => all.map((one) => one.textContent)"
    )
    return found


def test_why_shows_a_later_answers_own_prompt_also_after_more_was_asked(
    visit: Visit, model: ScriptedModel
) -> None:
    document = visit.add("handbook.md", handbook())
    visit.add("other.md", "# Gulls\n\nGulls are paid nothing at all in a year.\n")
    model.script.append(citing("Forty guineas ", Cite("forty guineas"), "."))
    visit.go(f"#/chat?include={document}:1-2")
    page = visit.page
    questions = [PAID, "And the assistant?", "When is the lamp lit?"]
    asked = len(model.asked)
    for one in questions:
        visit.ask(one)
    sent = [[one["content"] for one in each.body["messages"]] for each in model.asked[asked:]]
    conversation = page.url
    for again in (False, True):
        for number, question in enumerate(questions):
            if again:
                visit.go(f"#{conversation.partition('#')[2]}")
                expect(visit.answered(PAID)).to_contain_text("With chunks 1–2 of handbook.md")
            visit.answered(question).get_by_role("link", name="Why this answer?").click()
            assert shown_prompt(page) == sent[number]
            expect(page.get_by_text("As it was asked:")).to_be_visible()
            page.go_back()
    # Whoever asks here asks it alone.
    visit.answered(questions[1]).get_by_role("link", name="Why this answer?").click()
    assert shown_prompt(page) == sent[1]
    with page.expect_response("**/api/retrieve") as alone:
        page.get_by_role("button", name="Look").click()
    assert set(json.loads(alone.value.request.post_data or "")) == {"message", "mode"}
    expect(page.get_by_text("As it was asked:")).to_be_hidden()


def sign_in(page: Page, key: str) -> None:
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Your key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_files_that_wait_for_a_key_go_to_who_chose_them_and_to_nobody_else(
    enter: Enter, talking: Running
) -> None:
    mine: FilePayload = {"name": "mine.md", "mimeType": "text/markdown", "buffer": b"# Mine\n"}
    for name, other in (("carla", "carla"), ("dora", "emil")):
        visit = enter(talking, owner=name)
        visit.forgive("status of 401")
        page = visit.page
        visit.go("#/chat")
        page.get_by_label("Your question").fill("What did I ask?")
        page.evaluate("location.hash = '#/library'")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Add files").click()
        talking.revoke(name)
        chooser.value.set_files([mine])
        sign_in(page, talking.new_key(other))
        expect(page.locator(".owner")).to_have_text(other)
        page.evaluate("location.hash = '#/library'")
        expect(page.get_by_role("heading", name="Library", level=1)).to_be_visible()
        if name == other:
            expect(page.get_by_role("row").filter(has_text="mine.md")).to_contain_text("Ready")
        else:
            expect(page.locator(".list .empty")).to_be_visible()
            expect(page.get_by_role("region", name="Files on their way in")).to_be_hidden()
            assert "What did I ask?" not in page.evaluate("JSON.stringify(sessionStorage)")
        page.get_by_role("link", name="Chat", exact=True).click()
        left = "What did I ask?" if name == other else ""
        expect(page.get_by_label("Your question")).to_have_value(left)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
    with talking.client(talking.new_key("emil")) as client:
        assert client.get("/api/documents").json()["total"] == 0


def test_the_panel_over_a_new_conversation_closes_and_leaves_it_where_it_is(visit: Visit) -> None:
    visit.add("handbook.md", handbook())
    visit.go()
    page = visit.page
    asking = Gate(page, "**/api/chat/stream")
    page.get_by_label("Your question").fill(PAID)
    page.get_by_role("button", name="Ask", exact=True).click()
    visit.until(lambda: asking.waiting)
    panel = page.get_by_role("complementary", name="Sources")
    page.set_viewport_size(NARROW)
    panel.get_by_role("button", name="Close the panel").click()
    page.get_by_role("button", name="Sources", exact=True).click()
    assert page.evaluate("history.state.panel")
    asking.open()
    expect(page.locator(".chat-head h1")).to_have_text(PAID)
    assert page.evaluate("history.state.panel")
    panel.get_by_role("button", name="Close the panel").click()
    expect(panel).to_be_hidden()
    visit.answered(PAID)
    visit.until(lambda: "#/chat/" in page.url)
    page.reload()
    visit.answered(PAID)


def test_a_conversation_that_cannot_be_opened_leaves_nothing_behind(visit: Visit) -> None:
    visit.forgive("status of 500|some trouble")
    page = visit.page
    page.add_init_script(
        """
        globalThis.listening = 0;
        for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
          const real = globalThis[name];
          globalThis[name] = (kind, ...rest) => {
            if (kind === "popstate") globalThis.listening += by;
            return real.call(globalThis, kind, ...rest);
          };
        }
        """
    )

    def fail(route: Route) -> None:
        route.fulfill(status=500, json={"error": {"type": "internal", "message": "some trouble"}})

    page.route("**/api/conversations/c1", fail)
    visit.go("#/chat/c1")
    expect(page.get_by_role("alert")).to_contain_text("some trouble")
    assert page.evaluate("listening") == 0
    page.evaluate("location.hash = '#/chat'")
    expect(page.get_by_label("Your question")).to_be_visible()
    assert page.evaluate("listening") == 1

"""Every view of the page, one after the other, with something in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Visit
from page.papers import OIL, handbook, ledger, torn
from page.saying import Cite, citing

LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung" * 2
PAY = "What is a keeper paid in a year?"


@dataclass(frozen=True)
class Furnished:
    """A library with a bit of everything, and a conversation in it."""

    handbook: str
    ledger: str
    conversation: str


def furnish(visit: Visit, model: ScriptedModel) -> Furnished:
    made = Furnished(
        visit.add("handbook.md", handbook(), "rock"),
        visit.add("ledger.pdf", ledger(), "rock/accounts"),
        "",
    )
    # Words without an end are no reason to scroll sideways.
    visit.add(f"{LONG}.md", f"# {LONG}\n\nA {LONG} about pay.", f"{LONG[:60]}/{LONG[:40]}")
    refused = visit.client.post("/api/documents", files={"file": ("torn.pdf", torn())})
    assert refused.status_code == 422, refused.text
    model.script.append(
        citing(
            "## Pay\n\nA keeper earns **forty guineas** a year ",
            Cite("A keeper is paid forty guineas"),
            ".\n\n| who | guineas |\n|---|---|\n| keeper | 40 |\n| assistant | 25 |\n",
            f"| {LONG} | {LONG} |\n\n{LONG}\n\n```\n{LONG}\n```\n\n",
            "1. `Arrears` wait for Michaelmas [nothing:1].\n2. See [the coast](https://example.org).",
        )
    )
    body = {"message": PAY, "conversation": "new"}
    conversation = visit.client.post("/api/chat", json=body).json()["conversation"]
    return Furnished(made.handbook, made.ledger, conversation)


def tour(visit: Visit, made: Furnished) -> Iterator[str]:
    """The name of each view, while it is shown."""
    page = visit.page
    visit.go("#/chat")
    expect(page.locator(".empty")).to_be_visible()
    yield "chat-empty"
    visit.go(f"#/chat/{made.conversation}")
    turn = visit.answered(PAY)
    yield "chat"
    turn.get_by_role("button", name="Sources").click()
    expect(page.locator("aside.panel .source").first).to_be_visible()
    page.locator(".gap-mark").first.click()
    expect(page.locator(".gap-chunk").first).to_be_visible()
    yield "chat-sources"
    visit.go(f"#/chat/{made.conversation}")
    visit.answered(PAY).get_by_role("link", name="Citation 1").click()
    expect(page.locator("aside.panel mark").first).to_be_visible()
    yield "chat-reader"
    visit.go("#/library")
    expect(page.get_by_role("row").filter(has_text="torn.pdf")).to_be_visible()
    yield "library"
    actions = page.get_by_role("button", name="Actions for handbook.md")
    actions.scroll_into_view_if_needed()
    # A menu closes when the page is scrolled, which is told a frame later.
    page.evaluate(
        "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"
    )
    actions.click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    yield "library-menu"
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    yield "library-dialog"
    visit.go("#/library/nothing%20yet")
    expect(page.locator(".list .empty")).to_be_visible()
    yield "library-empty"
    text = visit.get(f"/api/documents/{made.ledger}/text")["text"]
    at = text.index(OIL)
    visit.go(f"#/read/{made.ledger}?range={at}-{at + len(OIL)}")
    expect(page.locator("mark").first).to_be_visible()
    yield "reader"
    visit.go(f"#/why?q={PAY}")
    expect(page.get_by_role("heading", name="The prompt")).to_be_visible()
    yield "why"
    visit.go("#/status")
    expect(page.get_by_role("heading", name="Parts")).to_be_visible()
    yield "status"

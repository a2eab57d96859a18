"""A browser at a server: what is seen in it, and what must never happen there."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)

from page.running import Running

CHROMIUM = Path("/usr/bin/chromium")
# For a machine with a lot to do; nobody waits that long for what comes at once.
_PATIENCE = 30_000


@contextmanager
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            # Whoever tests in a container may be root, and may have little shared memory.
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        try:
            yield browser
        finally:
            browser.close()


class Gate:
    """Requests for `pattern` wait here until it is opened, and pass from then on."""

    def __init__(self, page: Page, pattern: str) -> None:
        self.waiting: list[Route] = []
        self._is_open = False
        page.route(pattern, self._came)

    def _came(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self.waiting.append(route)

    def open(self) -> None:
        self._is_open = True
        for one in self.waiting:
            one.continue_()
        self.waiting.clear()


@dataclass
class Visit:
    """One person in front of the page: a context of its own, and the same person's client.

    `faults` are what no visit may end with: errors in the console (a refused script is one), in
    the page, and requests to anybody but the server. Those that match `forgiven` are meant.
    """

    server: Running
    context: BrowserContext
    page: Page
    client: httpx2.Client
    owner: str
    faults: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        def said(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.faults.append(f"console: {message.text} {message.location.get('url', '')}")

        def asked(request: Request) -> None:
            ours = (f"{self.server.url}/", f"blob:{self.server.url}/", "about:blank")
            if not request.url.startswith(ours):
                self.faults.append(f"another host: {request.url}")

        page.on("console", said)
        page.on("pageerror", lambda error: self.faults.append(f"page: {error}"))
        page.on("request", asked)
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def forgive(self, pattern: str) -> None:
        self.forgiven.append(pattern)

    def check(self) -> None:
        left = [
            one for one in self.faults if not any(re.search(meant, one) for meant in self.forgiven)
        ]
        assert not left, "\n".join(left)

    def go(self, address: str = "#/chat") -> None:
        """Shown when the view has its first heading.

        It is loaded anew: what one view leaves open does not lie over the next.
        """
        self.page.goto("about:blank")
        self.page.goto(f"{self.server.url}/{address}")
        expect(self.page.locator("main h1")).to_be_visible()

    def add(self, name: str, content: str | bytes, folder: str = "") -> str:
        """A document in this person's library, past the page; its id."""
        data = content if isinstance(content, bytes) else content.encode()
        reply = self.client.post(
            "/api/documents", files={"file": (name, data)}, data={"folder": folder}
        )
        assert reply.status_code == 200, reply.text
        return str(reply.json()["document_id"])

    def ask(self, question: str) -> Locator:
        """The question's turn, when its answer is there."""
        self.page.get_by_label("Your question").fill(question)
        self.page.get_by_role("button", name="Ask", exact=True).click()
        return self.answered(question)

    def answered(self, question: str) -> Locator:
        turn = self.page.locator("article.turn").filter(has_text=question).last
        expect(turn.locator(".answer-foot").get_by_role("link", name="Why this")).to_be_visible()
        return turn

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for what no element of the page tells."""
        deadline = time.monotonic() + _PATIENCE / 1000
        while not holds():
            assert time.monotonic() < deadline, "it did not come to hold"
            # The browser's own events go on meanwhile.
            self.page.wait_for_timeout(20)

    def get(self, path: str, **query: str | int) -> Any:  # noqa: ANN401 - what JSON is
        reply = self.client.get(path, params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()


# How the tests let somebody in: at a server, as an owner (a new one if none is named; "" is nobody).
Enter = Callable[..., Visit]


@contextmanager
def visiting(browser: Browser, server: Running, owner: str = "", **options: Any) -> Iterator[Visit]:  # noqa: ANN401 - the browser's own
    """As `owner`, signed in; without one, as whoever comes."""
    key = server.new_key(owner) if owner else ""
    chosen = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
    context = browser.new_context(**chosen)
    context.set_default_timeout(_PATIENCE)
    with server.client(key) as client:
        if key:
            context.add_cookies([_signed_in(server, key)])
        visit = Visit(server, context, context.new_page(), client, owner)
        visit.watch(visit.page)
        try:
            yield visit
            visit.check()
        finally:
            context.close()


def _signed_in(server: Running, key: str) -> Any:  # noqa: ANN401 - the browser's own
    reply = httpx2.post(f"{server.url}/api/session", json={"key": key})
    assert reply.status_code == 200, reply.text
    [(name, value)] = reply.cookies.items()
    return {"name": name, "value": value, "url": server.url, "httpOnly": True, "sameSite": "Strict"}

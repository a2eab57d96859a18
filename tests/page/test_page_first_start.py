"""The first minutes with unchunk: one command, no key, no network, and something to ask."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Response, expect

from page.browsing import Enter, Visit
from page.running import Running, started

SAMPLE = ("harbour-handbook.md", "keepers-log.md", "storm-report.pdf", "tariff.md")
MOST = 150_000


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With nothing set at all: the default embedder, no model, no keys."""
    with started(tmp_path_factory.mktemp("fresh") / "home") as server:
        yield server


@pytest.fixture
def newcomer(enter: Enter, fresh: Running) -> Visit:
    return enter(fresh, owner="")


def test_the_first_load_is_small_and_comes_from_one_place(newcomer: Visit) -> None:
    page = newcomer.page
    # Until the sample is in, it is asked for again and again: that is no part of the load.
    newcomer.until(lambda: newcomer.get("/api/documents", state="live")["total"] == len(SAMPLE))
    came: list[Response] = []
    page.on("response", lambda response: came.append(response))  # noqa: PLW0108 - it is kept by name
    newcomer.go("")
    page.wait_for_load_state("networkidle")
    sizes = {one.url: one.request.sizes()["responseBodySize"] for one in came}
    assert len(sizes) > 5
    assert sum(sizes.values()) < MOST, sorted(sizes.items(), key=lambda one: -one[1])
    # Also for who unpacks nothing on the way.
    assert sum(len(one.body()) for one in came) < MOST
    # Every one of them says what may run, and the page runs nothing else.
    for one in came:
        if one.url.endswith(("/", ".js", ".css")):
            assert "script-src 'self'" in one.headers["content-security-policy"]

    # Whoever comes again brings it all along.
    came.clear()
    page.reload()
    page.wait_for_load_state("networkidle")
    again = [one for one in came if "/page/" in one.url]
    assert sum(one.request.sizes()["responseBodySize"] for one in again) == 0


def test_a_first_start_has_a_sample_and_the_first_question_works(newcomer: Visit) -> None:
    newcomer.go("#/library")
    page = newcomer.page
    for name in SAMPLE:
        expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("Ready")
    notice = page.get_by_role("region", name="The sample")
    expect(notice).to_contain_text("4 documents")
    notice.get_by_role("link", name="Ask something").click()
    expect(page.get_by_label("Your question")).to_be_focused()
    turn = newcomer.ask("What does a night in the harbour cost?")
    expect(turn.locator(".prose")).to_contain_text("14 to 30 crowns")
    turn.get_by_role("link", name="Citation 1").first.click()
    marked = page.locator("aside.panel mark")
    expect(marked.first).to_be_in_viewport()
    assert "14 to 30 crowns" in "".join(marked.all_inner_texts())
    expect(page.locator("aside.panel").get_by_role("heading", level=2)).to_have_text("tariff.md")


def test_what_is_suggested_can_be_asked_with_one_click(newcomer: Visit) -> None:
    newcomer.go()
    page = newcomer.page
    suggestion = page.locator(".empty .buttons").get_by_role("button").first
    expect(suggestion).to_be_visible()
    suggestion.click()
    expect(page.locator("article.turn .answer-foot")).to_contain_text("Why this answer?")
    expect(page.locator("article.turn .prose")).not_to_be_empty()


def test_the_welcome_is_renewed_when_the_first_documents_arrive(reader: Visit) -> None:
    reader.go()
    page = reader.page
    welcome = page.locator(".empty")
    expect(welcome).to_contain_text("There is nothing in your library yet.")
    add = welcome.get_by_role("link", name="Add documents")
    add.focus()
    reader.add("tides.md", "High water is at noon.\n", folder="coast")
    expect(welcome.get_by_role("button", name="What is tides.md about?")).to_be_visible()
    expect(welcome).not_to_contain_text("There is nothing in your library yet.")
    expect(add).to_have_count(0)
    # Whoever was there is not left nowhere.
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.get_by_label("Folder to look in")).to_contain_text("coast")


@pytest.mark.parametrize("arrives", [True, False])
def test_documents_are_asked_for_until_there_are_some_or_somebody_talks(
    reader: Visit, *, arrives: bool
) -> None:
    page = reader.page
    page.clock.install()
    reader.go()
    expect(page.locator(".empty")).to_contain_text("There is nothing in your library yet.")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))

    def asked_in_a_minute() -> set[str]:
        asked.clear()
        page.clock.fast_forward(60_000)
        # What the page asked for by then is told before this.
        page.evaluate("fetch('/api/session')")
        return {"/api/jobs", "/api/documents"} & set(asked)

    reader.until(asked_in_a_minute)
    if arrives:
        reader.add("tides.md", "High water is at noon.\n")
        expect(page.locator(".empty")).to_contain_text("What is tides.md about?")
    else:
        reader.ask("When is high water?")
    assert not asked_in_a_minute()


def test_the_sample_goes_with_one_click_and_does_not_come_again(
    enter: Enter, tmp_path: Path
) -> None:
    with started(tmp_path / "home", embedder="hashing") as server:
        visit = enter(server, owner="")
        visit.go("#/library")
        page = visit.page
        expect(page.get_by_role("row").filter(has_text="Ready")).to_have_count(len(SAMPLE))
        page.get_by_role("button", name="Remove the sample").click()
        expect(page.get_by_role("region", name="Receipt")).to_contain_text("Deleted 4 documents")
        expect(page.locator(".list .empty")).to_be_visible()
        expect(page.get_by_role("region", name="The sample")).to_have_count(0)
        assert visit.get("/api/documents")["total"] == 0
    with started(tmp_path / "home", embedder="hashing") as again:
        visit = enter(again, owner="")
        visit.go("#/library")
        expect(visit.page.locator(".list .empty")).to_be_visible()
        assert visit.get("/api/documents")["total"] == 0

"""Pictures of every view, light and dark, wide and narrow, with the sample library in it.

    python tests/page/pictures.py FOLDER [--readme docs/page.png]

They are for looking at: no test compares them. The embedder is the default one, the model a
scripted one that cites what it was sent. `--readme` is one of them again, made small.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Visit, chromium, visiting
from page.papers import torn
from page.running import Running, started
from page.saying import Cite, citing

QUESTION = "What does it cost to stay a night with a boat of ten metres, and what if I come late?"
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}
NIGHT, LATE = Cite("A night in the harbour costs"), Cite("Boats that arrive between ten")
ANSWER: list[str | Cite] = [
    "A boat of ten metres pays **22 crowns** a night from May to September ",
    "and **11 crowns** from October to April ",
    NIGHT,
    ". A catamaran pays one and a half times as much, and the seventh night in a row is free ",
    NIGHT,
    ".\n\nIf you come between ten at night and six in the morning:\n\n",
    "1. Lie at the waiting pontoon, the first one on the left. ",
    "It has light, but neither water nor power ",
    LATE,
    ".\n2. Move to your berth in the morning; the night at the pontoon costs nothing ",
    LATE,
    ".\n",
]
_MOST = 150_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", type=Path, help="where the picture for the README goes")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedModel() as model,
        started(
            Path(folder) / "home", chat="openai:local-model", chat_url=f"{model.url}/v1"
        ) as server,
        chromium() as browser,
    ):
        _furnish(browser, server, model)
        for scheme, size in product(("light", "dark"), SIZES):
            _take(browser, server, _views, folder=options.folder, scheme=scheme, size=size)
        with started(Path(folder) / "other", require_keys="yes") as locked:
            for scheme, size in product(("light", "dark"), SIZES):
                _take(browser, locked, _door, folder=options.folder, scheme=scheme, size=size)
    if options.readme:
        _shrink(options.folder / "wide-light-chat-sources.png", options.readme)
    return 0


def _furnish(browser: Browser, server: Running, model: ScriptedModel) -> None:
    with visiting(browser, server) as visit:
        visit.until(lambda: visit.get("/api/documents", state="live")["total"] == 4)
        visit.client.post("/api/documents", files={"file": ("scan of the lease.pdf", torn())})
        visit.add(
            "winter storage.md", "# Winter storage\n\nMasts come down before the lift.\n", "yard"
        )
        for question in ("When is the crane booked?", "Who keeps the light?"):
            model.script.append(citing("Two days ahead."))
            visit.client.post("/api/chat", json={"message": question, "conversation": "new"})
        model.script.append(citing(*ANSWER))
        visit.client.post("/api/chat", json={"message": QUESTION, "conversation": "new"})


def _take(
    browser: Browser,
    server: Running,
    views: Callable[[Visit, bool], Iterator[str]],
    *,
    folder: Path,
    scheme: str,
    size: str,
) -> None:
    width, height = SIZES[size]
    is_small = size == "narrow"
    with visiting(
        browser,
        server,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=1,
        has_touch=is_small,
        is_mobile=is_small,
    ) as visit:
        for name in views(visit, is_small):
            # What is still on its way would be on one picture, and not on the next.
            expect(visit.page.locator(".passage-text > .muted, .waiting")).to_have_count(0)
            visit.page.screenshot(path=folder / f"{size}-{scheme}-{name}.png")


def _views(visit: Visit, is_small: bool) -> Iterator[str]:
    yield from _of_the_chat(visit, is_small=is_small)
    yield from _of_the_library(visit)
    yield from _of_the_rest(visit)


def _door(visit: Visit, _: bool) -> Iterator[str]:
    visit.forgive("status of 401")
    visit.go("#/chat")
    visit.page.get_by_label("Your key").fill("uk_0123456789abcdef_wrong")
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page.get_by_role("alert")).not_to_be_empty()
    yield "sign-in"


def _of_the_chat(visit: Visit, *, is_small: bool) -> Iterator[str]:
    page = visit.page
    kept = visit.get("/api/conversations")["conversations"][0]["id"]
    visit.go("#/chat")
    expect(page.locator(".empty .buttons")).to_be_visible()
    yield "chat-empty"
    visit.go(f"#/chat/{kept}")
    turn = visit.answered(QUESTION)
    yield "chat"
    if is_small:
        page.get_by_role("button", name="Conversations").click()
        yield "chat-history"
        page.keyboard.press("Escape")
    turn.locator(".acts").get_by_role("button", name="Sources").click()
    expect(page.locator("aside.panel .source").first).to_be_visible()
    yield "chat-sources"
    page.locator(".gap-mark").first.click()
    expect(page.locator(".gap-chunk").first).to_be_visible()
    yield "chat-gap"
    visit.go(f"#/chat/{kept}")
    visit.answered(QUESTION).get_by_role("link", name="Citation 2").first.click()
    expect(page.locator("aside.panel mark").first).to_be_visible()
    yield "chat-reader"
    visit.go(f"#/chat/{kept}")
    page.get_by_label("Your question").fill("What is in source:")
    page.get_by_label("Your question").press_sequentially("h")
    expect(page.get_by_role("listbox", name="Documents")).to_be_visible()
    yield "chat-completion"


def _of_the_library(visit: Visit) -> Iterator[str]:
    page = visit.page
    visit.go("#/library")
    expect(page.get_by_role("row").filter(has_text="scan of the lease")).to_be_visible()
    yield "library"
    page.get_by_role("button", name="Actions for tariff.md").click()
    yield "library-menu"
    page.get_by_role("menuitem", name="Delete").click()
    yield "library-dialog"
    visit.go("#/library/new")
    yield "library-empty"


def _of_the_rest(visit: Visit) -> Iterator[str]:
    page = visit.page
    documents = {one["name"]: one["id"] for one in visit.get("/api/documents")["documents"]}
    visit.go(f"#/read/{documents['harbour-handbook.md']}?range=1086-1200")
    expect(page.locator("mark").first).to_be_visible()
    yield "reader"
    visit.go(f"#/read/{documents['storm-report.pdf']}?range=120-260")
    page.get_by_role("radio", name="Page").check()
    expect(page.locator(".sheet img")).to_be_visible()
    yield "reader-page"
    visit.go(f"#/why?q={quote(QUESTION)}")
    expect(page.get_by_role("heading", name="The prompt")).to_be_visible()
    yield "why"
    page.locator(".why-result h2").last.scroll_into_view_if_needed()
    yield "why-prompt"
    visit.go("#/status")
    expect(page.get_by_role("heading", name="Parts")).to_be_visible()
    yield "status"


def _shrink(picture: Path, to: Path) -> None:
    """A palette is enough for a page of few colours."""
    from PIL import Image

    with Image.open(picture) as opened:
        opened.convert("RGB").quantize(128).save(to, optimize=True)
    size = to.stat().st_size
    assert size < _MOST, f"{to} has {size} bytes"


if __name__ == "__main__":
    sys.exit(main())

"""The library on the page: files come in, are told about, fail with a reason, and go for good."""

import shutil
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Route, expect

from page.browsing import Gate, Visit
from page.papers import handbook, ledger, torn


def row(visit: Visit, name: str) -> Locator:
    return visit.page.get_by_role("row").filter(has_text=name)


def do(visit: Visit, name: str, action: str) -> None:
    row(visit, name).get_by_role("button", name=f"Actions for {name}").click()
    visit.page.get_by_role("menuitem", name=action).click()


def drop(visit: Visit, *paths: Path) -> None:
    """As the system does it: the browser reads what lies at these paths."""
    expect(visit.page.locator(".list > *").first).to_be_visible()
    data = {"items": [], "files": [str(one) for one in paths], "dragOperationsMask": 1}
    browser = visit.context.new_cdp_session(visit.page)
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 500, "data": data})
        if kind == "dragOver":
            expect(visit.page.locator(".drop-shade")).to_be_visible()
    expect(visit.page.locator(".drop-shade")).to_be_hidden()


def file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_a_pdf_and_a_markdown_file_are_chosen_and_each_step_is_told(visit: Visit) -> None:
    visit.go("#/library")
    page = visit.page
    # What is told on the way depends on nobody's speed: each step waits until it was seen.
    sending, indexing = Gate(page, "**/api/documents"), Gate(page, "**/api/jobs")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files(
        [
            file("handbook.md", handbook().encode()),
            file("ledger.pdf", ledger()),
        ]
    )
    tray = page.get_by_role("region", name="Files on their way in")
    expect(tray.get_by_role("heading")).to_have_text("Adding 2 files")
    for name in ("handbook.md", "ledger.pdf"):
        sent = tray.get_by_role("listitem").filter(has_text=name)
        expect(sent.locator(".tray-state")).to_contain_text("Sending")
        expect(sent.get_by_role("progressbar", name=f"Progress of {name}")).to_be_visible()
    sending.open()
    for name in ("handbook.md", "ledger.pdf"):
        coming = tray.get_by_role("listitem").filter(has_text=name)
        expect(coming).to_have_attribute("data-state", "indexing")
    expect(tray).to_contain_text("2 being indexed")
    indexing.open()
    expect(tray).to_contain_text("2 added")
    for name in ("handbook.md", "ledger.pdf"):
        expect(row(visit, name)).to_contain_text("Ready")
    expect(row(visit, "ledger.pdf").locator("td.pages")).to_have_text("3")
    found = visit.get("/api/documents")["documents"]
    assert {one["name"]: one["state"] for one in found} == {
        "handbook.md": "live",
        "ledger.pdf": "live",
    }


def test_files_and_a_whole_folder_are_dropped_and_keep_their_places(
    visit: Visit, tmp_path: Path
) -> None:
    (tmp_path / "rock" / "deep").mkdir(parents=True)
    (tmp_path / "rock" / "handbook.md").write_text(handbook(), "utf-8")
    (tmp_path / "rock" / "deep" / "ledger.pdf").write_bytes(ledger())
    (tmp_path / "rock" / ".hidden").write_text("not this")
    loose = tmp_path / "loose.txt"
    loose.write_text("A loose leaf about lanterns.")
    visit.go("#/library")
    drop(visit, loose, tmp_path / "rock")
    for name in ("handbook.md", "ledger.pdf", "loose.txt"):
        expect(row(visit, name)).to_contain_text("Ready")
    found = visit.get("/api/documents")["documents"]
    assert {one["name"]: one["folder"] for one in found} == {
        "handbook.md": "rock",
        "ledger.pdf": "rock/deep",
        "loose.txt": "",
    }
    folders = visit.page.get_by_role("navigation", name="Folders")
    folders.get_by_role("link", name="rock/deep").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("rock/deep")
    expect(row(visit, "ledger.pdf")).to_be_visible()
    expect(row(visit, "loose.txt")).to_have_count(0)


def test_a_whole_folder_is_chosen(visit: Visit, tmp_path: Path) -> None:
    folder = tmp_path / "lamps"
    folder.mkdir()
    (folder / "wicks.md").write_text("# Wicks\n\nTrim them.")
    visit.go("#/library")
    with visit.page.expect_file_chooser() as chooser:
        visit.page.get_by_role("button", name="Add a folder").click()
    chooser.value.set_files(folder)
    expect(row(visit, "wicks.md")).to_contain_text("Ready")
    assert visit.get("/api/documents")["documents"][0]["folder"] == "lamps"


def test_a_document_is_deleted_and_the_receipt_counts_what_is_left(visit: Visit) -> None:
    document = visit.add("handbook.md", handbook())
    visit.add("menu.md", "# Menu\n\nSoup.")
    visit.go("#/library")
    page = visit.page
    do(visit, "handbook.md", "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete handbook.md?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(row(visit, "handbook.md")).to_be_visible()
    do(visit, "handbook.md", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    receipt = page.get_by_role("region", name="Receipt")
    expect(receipt).to_contain_text("Deleted handbook.md. Nothing of it is left.")
    counted = "0 vectors, 0 originals, 0 cached vectors, 0 catalog entries left"
    expect(receipt).to_contain_text(counted)
    expect(row(visit, "handbook.md")).to_have_count(0)
    expect(row(visit, "menu.md")).to_be_visible()
    assert visit.client.get(f"/api/documents/{document}").status_code == 404
    receipt.get_by_role("button", name="Put the receipt away").click()
    expect(receipt).to_have_count(0)


def test_several_documents_are_deleted_at_once(visit: Visit) -> None:
    for name in ("one.md", "two.md", "three.md"):
        visit.add(name, f"# {name}\n\nOf {name}.")
    visit.go("#/library")
    page = visit.page
    for name in ("one.md", "three.md"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    expect(page.locator(".list-line")).to_contain_text("2 selected")
    page.locator(".list-line").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("region", name="Receipt")).to_contain_text("Deleted 2 documents")
    assert [one["name"] for one in visit.get("/api/documents")["documents"]] == ["two.md"]


def test_a_file_that_fails_is_shown_with_its_reason_and_can_be_tried_again(visit: Visit) -> None:
    visit.go("#/library")
    page = visit.page
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files(file("torn.pdf", torn()))
    failed = row(visit, "torn.pdf")
    expect(failed).to_contain_text("Failed")
    [document] = visit.get("/api/documents", state="failed")["documents"]
    reason = document["error"]
    assert reason
    expect(failed).to_contain_text(reason[1:])
    tray = page.get_by_role("region", name="Files on their way in")
    expect(tray).to_contain_text("could not be added")
    expect(tray).to_contain_text(reason[1:])
    with page.expect_response(lambda reply: reply.url.endswith("/retry")) as retried:
        failed.get_by_role("button", name="Try torn.pdf again").click()
    assert retried.value.status == 202
    job = retried.value.json()["job"]["id"]
    visit.until(lambda: visit.get(f"/api/jobs/{job}")["ended_at"])
    expect(failed).to_contain_text("Failed")
    expect(failed).to_contain_text(reason[1:])
    page.get_by_role("radio", name="Ready").check()
    expect(failed).to_have_count(0)


def test_a_file_whose_line_broke_is_sent_again(visit: Visit) -> None:
    """The line breaks once; the second time the file gets through, by itself."""
    visit.forgive("ERR_FAILED")
    visit.go("#/library")
    page = visit.page
    broken: list[Route] = []

    def break_off(route: Route) -> None:
        if not broken:
            broken.append(route)
            route.abort()
        else:
            route.continue_()

    page.route("**/api/documents", break_off)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files(file("menu.md", b"# Menu\n\nSoup."))
    expect(row(visit, "menu.md")).to_contain_text("Ready")
    assert len(broken) == 1


def test_documents_are_filtered_by_name_and_the_filter_is_in_the_address(visit: Visit) -> None:
    for name in ("handbook.md", "menu.md"):
        visit.add(name, f"# {name}\n\nOf {name}.")
    visit.go("#/library")
    page = visit.page
    expect(row(visit, "handbook.md")).to_be_visible()
    page.get_by_label("Filter by name").fill("MEN")
    expect(row(visit, "handbook.md")).to_have_count(0)
    expect(row(visit, "menu.md")).to_be_visible()
    page.reload()
    expect(row(visit, "menu.md")).to_be_visible()
    expect(row(visit, "handbook.md")).to_have_count(0)
    page.get_by_label("Filter by name").fill("nothing of the kind")
    page.get_by_role("button", name="Show all").click()
    expect(row(visit, "handbook.md")).to_be_visible()


def test_the_original_is_downloaded_as_it_was(visit: Visit, tmp_path: Path) -> None:
    visit.add("ledger.pdf", ledger())
    visit.go("#/library")
    row(visit, "ledger.pdf").get_by_role("button", name="Actions for").click()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("menuitem", name="Download the original").click()
    assert download.value.suggested_filename == "ledger.pdf"
    got = tmp_path / "got.pdf"
    shutil.copy(download.value.path(), got)
    assert got.read_bytes() == ledger()

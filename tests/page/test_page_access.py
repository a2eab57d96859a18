"""Who gets in, and what the others do not see."""

from playwright.sync_api import expect

from page.browsing import Enter, Visit
from page.papers import handbook
from page.running import Running


def test_a_wrong_key_is_refused_and_the_right_one_opens_the_library(
    enter: Enter, talking: Running
) -> None:
    visit, key = enter(talking, owner=""), talking.new_key("anna")
    visit.forgive("status of 401")
    page = visit.page
    visit.go("#/library")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Your key").fill("uk_nothing_of_the_kind")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    page.get_by_label("Your key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    # Where the way had led before the door.
    expect(page.get_by_role("heading", name="Library", level=1)).to_be_visible()
    expect(page.locator(".owner")).to_have_text("anna")
    [cookie] = visit.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert key not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{talking.url}/#/library")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert not visit.context.cookies()


def test_a_key_that_is_revoked_leads_back_to_the_door(enter: Enter, talking: Running) -> None:
    visit = enter(talking, owner="berta")
    visit.forgive("status of 401")
    visit.go("#/library")
    talking.revoke("berta")
    visit.page.evaluate("location.hash = '#/status'")
    expect(visit.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_second_user_sees_nothing_of_the_first(visit: Visit, enter: Enter) -> None:
    document = visit.add("diary.md", handbook(), folder="private")
    visit.go()
    visit.ask("When is the lamp lit?")
    conversation = visit.page.url.rpartition("/")[2]
    other = enter(visit.server)
    other.forgive("status of 404")
    page = other.page
    other.go("#/library")
    expect(page.locator(".list .empty")).to_be_visible()
    expect(page.get_by_text("private")).to_have_count(0)
    page.goto(f"{visit.server.url}/#/read/{document}")
    expect(page.get_by_text("This document is not there")).to_be_visible()
    page.goto(f"{visit.server.url}/#/chat/{conversation}")
    expect(page.get_by_text("This conversation is not there")).to_be_visible()
    expect(page.get_by_role("navigation", name="Conversations")).not_to_contain_text("lamp")
    other.ask("When is the lamp lit?")
    expect(page.locator("body")).not_to_contain_text("diary.md")
    with page.expect_response(lambda reply: "q=dia" in reply.url):
        page.get_by_label("Your question").fill("source:dia")
    expect(page.get_by_role("listbox", name="Documents")).to_be_hidden()
    assert "diary" not in page.locator("body").inner_text()

"""What others have written stays words: in names, texts, answers, titles, errors and addresses."""

from urllib.parse import quote

from playwright.sync_api import expect

from adapters.llm.scripted import ScriptedModel, answer, error, refuse
from page.browsing import Visit
from page.papers import torn

HURT = "<img src=x onerror=window.hurt=1>"
SCRIPT = "<script>window.hurt=2</script>"
SVG = '"><svg onload=window.hurt=3>'
WRITTEN = f"""# A heading {SCRIPT}

Some text with {HURT} and {SVG} about lanterns.

## Another {HURT}

<iframe src="javascript:window.hurt=4"></iframe> ends it.
"""
ANSWER = f"""## Title {HURT}

{SCRIPT}

<div onclick="window.hurt=5" style="position:fixed;inset:0">over all</div>

- [a link](javascript:window.hurt=6) and [another](  JaVaScRiPt:window.hurt=7)
- [data](data:text/html,<script>window.hurt=8</script>) <https://example.org/{quote(SVG)}>
- ![a picture](https://example.org/spy.png) and ![another](x" onerror="window.hurt=9)
- `{HURT}`

| a{HURT} | b |
|---|---|
| {SCRIPT} | {SVG} |

```html
{HURT}
```

An end & a tail &lt;b&gt; \u202etxt.exe
"""


def unhurt(visit: Visit) -> None:
    """Nothing ran, and nothing became an element that was a word."""
    page = visit.page
    assert page.evaluate("window.hurt") is None
    strange = page.evaluate(
        """() => [...document.querySelectorAll(
          'body script, iframe, object, embed, main svg[onload], img[src="x"], [onerror], [onclick], [style*=fixed]'
        )].map((one) => one.outerHTML)"""
    )
    assert strange == []
    links = page.locator("a[href]").evaluate_all("all => all.map((one) => one.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


def test_stored_script_in_names_and_texts_is_shown_as_the_words_it_is(visit: Visit) -> None:
    name = f"{HURT}.md"
    folder = "<b onmouseover=hurt()>bold"
    document = visit.add(name, WRITTEN, folder=folder)
    visit.go("#/library")
    page = visit.page
    expect(page.get_by_role("link", name=name)).to_be_visible()
    expect(page.get_by_role("navigation", name="Folders")).to_contain_text(folder)
    unhurt(visit)
    page.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Delete {name}?")
    unhurt(visit)
    page.keyboard.press("Escape")
    page.get_by_role("link", name=name).click()
    expect(page.locator(".excerpt")).to_contain_text(HURT)
    expect(page.locator("details.contents")).to_contain_text(SCRIPT)
    unhurt(visit)
    text = visit.get(f"/api/documents/{document}/text")["text"]
    assert page.locator(".excerpt .text").text_content() == text


def test_an_answer_that_is_full_of_traps_is_only_read(visit: Visit, model: ScriptedModel) -> None:
    visit.add(f"{HURT}.md", WRITTEN)
    model.script.append(answer(*(ANSWER[at : at + 7] for at in range(0, len(ANSWER), 7))))
    visit.go()
    turn = visit.ask(f"{HURT} lanterns?")
    prose = turn.locator(".prose")
    for words in (HURT, SCRIPT, "over all", "a link", "a picture"):
        expect(prose).to_contain_text(words)
    expect(prose.locator("code").first).to_have_text(HURT)
    expect(prose.get_by_role("table")).to_contain_text(SVG)
    unhurt(visit)
    assert prose.locator("img").count() == 0
    for link in prose.get_by_role("link").all():
        assert str(link.get_attribute("href")).startswith("https://example.org/")
        assert "noopener" in str(link.get_attribute("rel"))
    # The question is a title, too; and both are there after a reload.
    expect(visit.page.get_by_role("navigation", name="Conversations")).to_contain_text(HURT)
    visit.page.reload()
    visit.answered("lanterns")
    unhurt(visit)
    turn.get_by_role("link", name="Why this answer?").click()
    expect(visit.page.locator(".message pre").last).to_contain_text(SCRIPT)
    unhurt(visit)


def test_titles_and_errors_with_script_in_them_are_words(
    visit: Visit, model: ScriptedModel
) -> None:
    failed = visit.client.post("/api/documents", files={"file": (f"{HURT}.pdf", torn())})
    assert failed.status_code == 422
    visit.add("notes.md", WRITTEN)
    refusal = error(f"bad {HURT}{SCRIPT}", type="invalid_request_error")
    model.script.append(refuse(400, refusal))
    visit.go()
    turn = visit.ask("What about lanterns?")
    expect(turn.get_by_role("alert")).to_contain_text(HURT)
    unhurt(visit)
    [kept] = visit.get("/api/conversations")["conversations"]
    path = f"/api/conversations/{kept['id']}"
    assert visit.client.patch(path, json={"title": f"{SVG} {SCRIPT}"}).status_code == 200
    visit.page.reload()
    expect(visit.page.locator("main h1")).to_have_text(f"{SVG} {SCRIPT}")
    unhurt(visit)
    visit.go("#/library")
    expect(visit.page.get_by_role("row").filter(has_text=f"{HURT}.pdf")).to_contain_text("Failed")
    unhurt(visit)


def test_addresses_with_script_in_them_do_nothing(visit: Visit) -> None:
    visit.forgive("status of 404")
    visit.add("notes.md", WRITTEN)
    trap = quote(f"{HURT}{SCRIPT}")
    for address in (
        f"#/why?q={trap}",
        f"#/library/{trap}",
        f"#/library?q={trap}&state={trap}",
        f"#/read/{trap}?range={trap}&gap={trap}",
        f"#/chat/{trap}",
        f"#/{trap}",
        f"#/sign-in?next={quote('javascript:window.hurt=1')}",
        f"#/sign-in?next={quote('//example.org/')}",
    ):
        visit.page.goto("about:blank")
        visit.page.goto(f"{visit.server.url}/{address}")
        expect(visit.page.locator("main .view")).to_be_visible()
        visit.page.wait_for_load_state("networkidle")
        unhurt(visit)
        assert visit.page.url.startswith(visit.server.url)

"""The page for everybody: names for who listens, contrast for who looks, room on a small screen."""

from typing import Any

import pytest
from playwright.sync_api import expect

from adapters.llm.scripted import ScriptedModel
from page.browsing import Enter, Visit
from page.running import Running
from page.touring import furnish, tour

CONTROLS = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton"}
CONTROLS |= {"menuitem", "option", "progressbar", "image", "img", "dialog", "region"}
CONTROLS |= {"listbox", "menu", "radiogroup", "slider", "tab", "switch"}

# What is written in a colour that is too near to the one behind it, as [ratio, words, where].
FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const light = (one) => {
    const [r, g, b] = one.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(rgba(getComputedStyle(one).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    const dark = getComputedStyle(document.documentElement).colorScheme.startsWith("dark");
    return layers.reverse().reduce((under, layer) => over(layer, under), dark ? [18, 18, 18] : [255, 255, 255]);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data.trim()).join(" ").trim();
    if (!words || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest(":disabled, .sr-only, .skip, option")) continue;
    const style = getComputedStyle(element);
    const under = behind(element);
    const [one, other] = [light(over(rgba(style.color), under)), light(under)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) found.push([ratio.toFixed(2), words.slice(0, 40), `${element.tagName}.${element.className}`]);
  }
  return found;
}"""

# What is wider than the screen: the page itself, or what scrolls all of it.
WIDE = """() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  for (const one of [document.documentElement, document.body, document.querySelector("main")]) {
    if (one.scrollWidth > one.clientWidth) found.push(`${one.tagName} ${one.scrollWidth} > ${one.clientWidth}`);
  }
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect();
    if (box.width === 0 || box.right <= width + 1 || !one.checkVisibility({ visibilityProperty: true })) continue;
    let inside = one.parentElement;
    while (inside && !/auto|scroll|hidden|clip/.test(getComputedStyle(inside).overflowX)) inside = inside.parentElement;
    if (!inside || inside === document.body || inside.tagName === "MAIN") found.push(`${one.tagName}.${one.className} ends at ${box.right}`);
  }
  return found;
}"""


# What a finger cannot hit.
SMALL = """() => [...document.querySelectorAll("button, select, nav a, [role=menuitem], input[type=search]")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.matches(".link, [tabindex='-1']:not([role])"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.height < 40 || box.width < 40))
  .map(([one, box]) => `${one.getAttribute("aria-label") ?? one.textContent} ${Math.round(box.width)}x${Math.round(box.height)}`)
"""


def nameless(visit: Visit) -> list[str]:
    """Controls and regions that a screen reader has no word for."""
    browser = visit.context.new_cdp_session(visit.page)
    nodes: list[dict[str, Any]] = browser.send("Accessibility.getFullAXTree")["nodes"]
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if node.get("ignored") or role not in CONTROLS or node.get("name", {}).get("value"):
            continue
        described = browser.send("DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]})
        found.append(f"{role} {described['node']['nodeName']} {described['node']['attributes']}")
    return found


def outline(visit: Visit) -> list[str]:
    """What is wrong with headings and landmarks."""
    landmarks = (visit.page.get_by_role("banner"), visit.page.get_by_role("main"))
    wrong = [str(one) for one in landmarks if one.count() != 1]
    if not visit.page.get_by_role("navigation", name="Main").count():
        wrong.append("no main navigation")
    visible = visit.page.locator("h1:visible")
    if visible.count() != 1:
        wrong.append(f"h1: {visible.all_inner_texts()}")
    twice = visit.page.evaluate(
        """() => [...document.querySelectorAll("[id]")].map((one) => one.id)
          .filter((one, at, all) => all.indexOf(one) !== at)"""
    )
    return wrong + [f"twice the id {one}" for one in twice]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_has_names_landmarks_one_title_and_contrast(
    enter: Enter, talking: Running, model: ScriptedModel, scheme: str
) -> None:
    visit = enter(talking, color_scheme=scheme)
    wrong: dict[str, list[Any]] = {}
    for view in tour(visit, furnish(visit, model)):
        found = [*nameless(visit), *visit.page.evaluate(FAINT)]
        # What lies under an open dialog is not there for anybody.
        found += [] if view == "library-dialog" else outline(visit)
        if found:
            wrong[view] = found
    assert not wrong


@pytest.mark.parametrize("width", [360, 768])
def test_every_view_fits_a_small_screen_and_a_finger(
    enter: Enter, talking: Running, model: ScriptedModel, width: int
) -> None:
    small = {"width": width, "height": 740}
    visit = enter(talking, viewport=small, has_touch=True, is_mobile=True)
    wrong: dict[str, list[Any]] = {}
    for view in tour(visit, furnish(visit, model)):
        found = visit.page.evaluate(WIDE)
        if width == 360:
            found += visit.page.evaluate(SMALL)
        if found:
            wrong[view] = found
    assert not wrong


def test_the_door_has_names_contrast_and_room(enter: Enter, talking: Running) -> None:
    for scheme in ("light", "dark"):
        visit = enter(
            talking, owner="", color_scheme=scheme, viewport={"width": 360, "height": 740}
        )
        visit.forgive("status of 401")
        visit.go("#/sign-in")
        expect(visit.page.get_by_label("Your key")).to_be_focused()
        assert [*nameless(visit), *visit.page.evaluate(FAINT), *visit.page.evaluate(WIDE)] == []


def test_the_rules_see_what_they_should(visit: Visit) -> None:
    visit.go()
    page = visit.page
    assert [*nameless(visit), *outline(visit)] == []
    page.evaluate(
        """() => {
          const add = (tag, style, words = "") => {
            const one = document.createElement(tag);
            Object.assign(one.style, style);
            one.textContent = words;
            document.querySelector("main").append(one);
          };
          add("button", { width: "9px", height: "9px", minWidth: 0, minHeight: 0, padding: 0 });
          add("p", { color: "rgb(150 150 150)", background: "white" }, "faint");
          add("p", { color: "rgb(110 110 110)", background: "white" }, "clear");
          add("div", { width: "3000px", height: "1px" });
          add("h1", {}, "another");
        }"""
    )
    assert [one.split()[:2] for one in nameless(visit)] == [["button", "BUTTON"]]
    assert [one[1] for one in page.evaluate(FAINT)] == ["faint"]
    assert any("DIV" in one for one in page.evaluate(WIDE))
    assert any("9x9" in one for one in page.evaluate(SMALL))
    assert any("another" in one for one in outline(visit))

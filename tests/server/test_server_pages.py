"""The files of the page: how they are served, and what may not stand in them."""

import gzip
import posixpath
import re
from collections.abc import Iterator

import httpx2
import pytest

from server.scripted import Scripted, serving
from unchunk.server.pages import FOLDER, POLICY, TYPES, names

FILES = names()
TEXTS = {name: (FOLDER / name).read_text("utf-8") for name in FILES}
SCRIPTS = [name for name in FILES if name.endswith(".js")]
VIEWS = ["chat.js", "library.js", "why.js", "status.js", "reader.js", "signin.js"]
# Static and dynamic ones alike; all are relative.
IMPORT = re.compile(r"""\bimport\s*\(?\s*(?:[\w*{][^"';]*?\bfrom\s*)?["']([^"']+)["']""")
LOADED = re.compile(r"""(?:\b(?:src|href|style)\s*[=:]\s*["'])(/[^"'#]+)["']""")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with serving(Scripted().engine) as served, httpx2.Client(base_url=served.url) as client:
        yield client


def plain(name: str) -> str:
    """A script without its comments, which may speak of anything."""
    return re.sub(r"/\*.*?\*/|^\s*//.*?$", "", TEXTS[name], flags=re.DOTALL | re.MULTILINE)


def imports(name: str) -> set[str]:
    return set(IMPORT.findall(plain(name)))


def needed(*entries: str) -> set[str]:
    """The scripts that come with these, without those that are imported when they are wanted."""
    found: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            still = re.sub(r"import\([^)]*\)", "", plain(name))
            waiting += [posixpath.normpath(one) for one in IMPORT.findall(still)]
    return found


@pytest.mark.parametrize("path", ["/", "/favicon.ico", *(f"/page/{name}" for name in FILES)])
def test_every_file_is_served_with_its_type_and_the_strict_policy(
    client: httpx2.Client, path: str
) -> None:
    reply = client.get(path)
    name = {"/": "index.html", "/favicon.ico": "favicon.svg"}.get(path, path.rpartition("/")[2])
    assert reply.status_code == 200
    assert reply.content == (FOLDER / name).read_bytes()
    assert reply.headers["content-type"] == TYPES[name[name.rindex(".") :]]
    assert reply.headers["content-security-policy"] == POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["cache-control"] == "no-cache"
    assert "set-cookie" not in reply.headers


def test_the_policy_lets_nothing_in_but_what_is_ours() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["img-src"] == "'self' blob:"
    for rule in ("font-src", "base-uri", "form-action", "frame-ancestors"):
        assert rules[rule] == "'none'"


def test_a_file_that_has_not_changed_is_not_sent_again(client: httpx2.Client) -> None:
    for packing in ("identity", "gzip"):
        first = client.get("/page/app.js", headers={"Accept-Encoding": packing})
        tag = first.headers["etag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}'):
            headers = {"Accept-Encoding": packing, "If-None-Match": known}
            again = client.get("/page/app.js", headers=headers)
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
            assert again.headers["content-security-policy"] == POLICY
        other = client.get("/page/app.js", headers={"If-None-Match": '"other"'})
        assert other.status_code == 200


def test_two_files_have_two_tags(client: httpx2.Client) -> None:
    tags = {client.head(f"/page/{name}").headers["etag"] for name in FILES}
    assert len(tags) == len(FILES)


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.8", True),
        ("GZIP", True),
        ("gzip;q=0", False),
        ("gzip; q=0.00", False),
        ("identity", False),
        ("br", False),
    ],
)
def test_files_are_packed_for_who_takes_that(
    client: httpx2.Client, accepted: str, is_packed: bool
) -> None:
    with client.stream("GET", "/page/style.css", headers={"Accept-Encoding": accepted}) as reply:
        raw = b"".join(reply.iter_raw())
    assert (reply.headers.get("content-encoding") == "gzip") is is_packed
    assert (gzip.decompress(raw) if is_packed else raw).decode() == TEXTS["style.css"]
    assert reply.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/none.js",
        "/page/..%2Fpages.py",
        "/page/%2e%2e/pages.py",
        "/page/..%5Cpages.py",
        "/page/app.js%00.css",
        "/page/app.js/",
        "/page/./app.js%2F",
        "/page/%2Fetc%2Fpasswd",
        "/page/APP.JS",
        "/page/../../pages.py",
        "/pages.py",
        "/index.html",
    ],
)
def test_no_other_path_leads_to_a_file(client: httpx2.Client, path: str) -> None:
    reply = client.get(path, follow_redirects=False)
    assert reply.status_code in (307, 404)
    assert b"import" not in reply.content


def test_the_page_is_only_read(client: httpx2.Client) -> None:
    assert client.head("/").status_code == 200
    assert client.post("/").status_code == 405
    assert client.put("/page/app.js").status_code == 405


def test_the_folder_holds_nothing_but_the_page() -> None:
    assert sorted(one.name for one in FOLDER.iterdir()) == FILES


@pytest.mark.parametrize("view", VIEWS)
def test_the_first_load_is_small_whichever_view_it_shows(view: str) -> None:
    """Also for who takes nothing packed."""
    [own] = re.findall(rf"^.*import\(\"\./{view}\"\).*$", TEXTS["app.js"], re.MULTILINE)
    at_once = LOADED.findall(TEXTS["index.html"]) + LOADED.findall(own)
    files = {path.removeprefix("/page/") for path in at_once}
    first = {"index.html"} | files | needed("app.js", view)
    assert sum(len(TEXTS[name].encode()) for name in first) < 150_000


def test_all_files_together_are_small_as_they_are_sent() -> None:
    assert sum(len(gzip.compress(text.encode())) for text in TEXTS.values()) < 100_000


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_elements_or_code_out_of_text(name: str) -> None:
    """What comes from documents, models and people stays text."""
    forbidden = (
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc|createContextualFragment)\b",
        r"\b(DOMParser|eval|execScript)\b",
        r"\bnew\s+Function\b",
        r"\bdocument\s*\.\s*write",
        r"\bset(Timeout|Interval)\s*\(\s*[\"'`]",
        r"setAttribute\(\s*[\"'](on|style)",
        r"javascript:",
    )
    for one in forbidden:
        assert not re.search(one, plain(name)), f"{name}: {one}"


def test_the_page_has_no_script_style_or_listener_of_its_own() -> None:
    """The policy would refuse them."""
    page = TEXTS["index.html"]
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=", page)
    assert not re.search(r"<style\b", page)
    assert all("src=" in tag for tag in re.findall(r"<script\b[^>]*>", page))
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=|<script", TEXTS["favicon.svg"])


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_another_host(name: str) -> None:
    """But for the name of a language, which nobody asks for."""
    named = TEXTS[name].replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://\w|[\"'(]//\w|@import|\bwss?://\w", named)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_import_leads_to_a_file_of_the_page(name: str) -> None:
    for one in imports(name):
        assert one.startswith("./"), f"{name} imports {one}"
        assert posixpath.normpath(one) in FILES, f"{name} imports {one}"


def test_every_file_that_is_loaded_is_there_and_every_file_is_loaded() -> None:
    loaded = {"index.html"} | needed("app.js", *VIEWS)
    for name in ("index.html", "app.js"):
        loaded |= {path.removeprefix("/page/") for path in LOADED.findall(TEXTS[name])}
    assert loaded == set(FILES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_name_that_is_imported_is_exported(name: str) -> None:
    found = re.findall(r'import\s*\{([^}]*)\}\s*from\s*"\./([^"]+)"', plain(name))
    for wanted, source in found:
        given = set(
            re.findall(
                r"export\s+(?:async\s+)?(?:function\*?|const|class|let)\s+(\w+)", TEXTS[source]
            )
        )
        asked = {one.split(" as ")[0].strip() for one in wanted.split(",") if one.strip()}
        assert asked <= given, f"{name} wants {asked - given} of {source}"

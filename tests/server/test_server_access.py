"""Who is let in: keys, sessions, cookies, and all that only looks like them."""

import asyncio
import base64
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server.doors import Door, asked, guarded, keyring_in, status_of, stop_clocks
from server.scripted import Scripted, serving
from server.test_server_sockets import hear, hear_all, say
from unchunk.errors import (
    IntegrityError,
    LibraryInUseError,
    OutputError,
    TransientError,
    UnchunkError,
)
from unchunk.server.options import Options
from unchunk.server.sessions import Sessions, csrf_token

CHAT, TALKS, SESSION = "/api/chat", "/api/conversations", "/api/session"
QUESTION = {"message": "When?"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """For tests that change no key."""
    options = Options(require_keys=True, rate_limit=0, sign_in_limit=0)
    with guarded(tmp_path_factory.mktemp("door"), options) as door:
        yield door


@pytest.fixture
def door(shared: Door) -> Door:
    shared.engine.asked.clear()
    return shared


def kind(reply: httpx2.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["type"]


def test_without_a_key_nothing_is_done(door: Door) -> None:
    with door.client() as client:
        reply = client.post(CHAT, json=QUESTION)
    assert kind(reply) == (401, "key-needed")
    assert reply.headers["www-authenticate"] == 'Bearer realm="unchunk"'
    assert not door.engine.asked


@pytest.mark.parametrize(
    "header",
    [
        "Authorization: Bearer {}",
        "authorization: bearer  {}",
        "Authorization: BEARER {}",
        "X-API-Key: {}",
    ],
)
def test_a_key_opens_what_its_owner_has(door: Door, header: str) -> None:
    for owner in ("local", "other"):
        name, _, value = header.format(door.keys[owner]).partition(": ")
        with door.client(**{name: value}) as client:
            assert client.post(CHAT, json=QUESTION).status_code == 200
    assert [owner for _, owner, _ in door.engine.asked] == ["local", "other"]


@pytest.mark.parametrize(
    "header",
    [
        "Authorization: ",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer x",
        "Authorization: {}",
        "Authorization: Basic {}",
        "Authorization: Bearer {}x",
        "Authorization: Bearer {} {}",
        "Authorization: Bearer {},{}",
        "Authorization: Bearer \xfc{}",
        "Authorization: Bearer {}\r\nAuthorization: Bearer {}",
        "Authorization: Bearer {}\r\nX-API-Key: {}",
        "X-API-Key: ",
        "X-API-Key: Bearer {}",
        "X-API-Key: {}\r\nX-API-Key: nonsense",
        "X-API-Key: uk_0000000000000000_" + "A" * 43,
        "X-API-Key: uk_" + "_" * 5_000,
    ],
)
def test_what_is_no_key_is_refused(door: Door, header: str) -> None:
    lines = header.replace("{}", door.keys["local"]).split("\r\n")
    reply = asked(door.served, "GET", TALKS, *lines)
    assert status_of(reply) == 401
    assert b'"wrong-key"' in reply
    assert b'Bearer realm="unchunk", error="invalid_token"' in reply
    assert door.keys["local"].encode() not in reply


def test_basic_credentials_are_no_key(door: Door) -> None:
    pair = base64.b64encode(f"me:{door.keys['local']}".encode()).decode()
    with door.client(Authorization=f"Basic {pair}") as client:
        assert kind(client.get(TALKS)) == (401, "wrong-key")


def test_a_wrong_key_is_not_helped_by_a_good_cookie(door: Door) -> None:
    with door.signed_in("local") as (client, _):
        assert client.get(TALKS).status_code == 200
        wrong = client.get(TALKS, headers={"X-API-Key": "nonsense"})
        assert kind(wrong) == (401, "wrong-key")


def test_a_key_for_figures_opens_nothing_else_and_no_other_opens_those(door: Door) -> None:
    with door.client("figures") as figures, door.client("local") as local, door.client() as nobody:
        assert kind(figures.get(TALKS)) == (403, "forbidden")
        assert kind(figures.post(CHAT, json=QUESTION)) == (403, "forbidden")
        assert kind(local.get("/metrics")) == (403, "forbidden")
        assert kind(nobody.get("/metrics")) == (401, "key-needed")
        # It is good for what everybody may see, and no more than that.
        assert figures.get("/health").status_code == 200
        assert figures.get(SESSION).json()["owner"] is None
        key = {"key": door.keys["figures"]}
        assert kind(nobody.post(SESSION, json=key)) == (401, "wrong-key")
    assert not door.engine.asked


def test_a_session_is_told_from_its_beginning_to_its_end(door: Door) -> None:
    with door.client(Origin=door.served.url) as client:
        before = client.get(SESSION).json()
        version = before.pop("version")
        assert before == {"owner": None, "needs_key": True, "signed_in": False, "csrf": ""}
        assert version
        begun = client.post(SESSION, json={"key": f" {door.keys['other']}\n"})
        session = begun.json()
        assert (session["owner"], session["needs_key"], session["signed_in"]) == (
            "other",
            False,
            True,
        )
        assert client.get(SESSION).json() == session
        token = {"X-CSRF-Token": session["csrf"]}
        assert client.post(CHAT, json=QUESTION, headers=token).status_code == 200
        [(_, owner, _)] = door.engine.asked
        assert owner == "other"
        stolen = client.cookies["unchunk"]
        assert kind(client.delete(SESSION)) == (403, "wrong-token")
        ended = client.delete(SESSION, headers=token)
        assert (ended.status_code, ended.content) == (204, b"")
        assert "unchunk=;" in ended.headers["set-cookie"]
        assert "Max-Age=0" in ended.headers["set-cookie"]
        assert "unchunk" not in client.cookies
        assert client.get(SESSION).json()["needs_key"]
        # Signing out twice is signing out once.
        assert client.delete(SESSION).status_code == 204
    with door.client(Cookie=f"unchunk={stolen}") as thief:
        assert kind(thief.get(TALKS)) == (401, "key-needed")


def test_the_cookie_has_the_flags_that_it_should(door: Door) -> None:
    with door.client() as client:
        reply = client.post(SESSION, json={"key": door.keys["local"]})
    [name, *flags] = reply.headers["set-cookie"].split("; ")
    assert name.startswith("unchunk=")
    assert sorted(flags) == ["HttpOnly", "Max-Age=86400", "Path=/", "SameSite=Strict"]
    assert reply.headers["cache-control"] == "no-store"
    # Neither the key nor anything that it could be made of.
    assert door.keys["local"].split("_", 2)[2] not in reply.text + reply.headers["set-cookie"]


@pytest.mark.parametrize("body", [{}, {"key": ""}, {"key": 5}, {"key": "x", "owner": "y"}, [], "x"])
def test_what_is_no_attempt_to_sign_in_is_malformed(door: Door, body: object) -> None:
    with door.client() as client:
        assert kind(client.post(SESSION, json=body)) == (422, "malformed")


@pytest.mark.parametrize("key", ["x", "uk_", "' OR 1=1", "\r\nSet-Cookie: a=b", "\0", "x" * 200])
def test_a_wrong_key_signs_nobody_in(door: Door, key: str) -> None:
    with door.client() as client:
        reply = client.post(SESSION, json={"key": key})
        assert kind(reply) == (401, "wrong-key")
        assert "set-cookie" not in reply.headers


def test_with_a_cookie_what_changes_something_needs_its_token(door: Door) -> None:
    with door.signed_in("local") as (client, token), door.signed_in("other") as (_, foreign):
        assert client.get(TALKS).status_code == 200
        changes = (("POST", CHAT), ("PATCH", f"{TALKS}/c1"), ("DELETE", f"{TALKS}/c1"))
        for method, path in (*changes, ("POST", "/documents"), ("PUT", "/api/prompts")):
            for given in (None, "", "x", foreign, token[:-1], f"{token}x", token.upper(), "\xfc"):
                headers = {} if given is None else {b"X-CSRF-Token": given.encode("latin-1")}
                reply = client.request(method, path, json=QUESTION, headers=headers)
                assert kind(reply) == (403, "wrong-token"), (method, given)
        assert not door.engine.asked
        right = {"X-CSRF-Token": token}
        assert client.post(CHAT, json=QUESTION, headers=right).status_code == 200
        # Whoever shows a key shows what no other page can.
        key = {"X-API-Key": door.keys["local"]}
        assert client.post(CHAT, json=QUESTION, headers=key).status_code == 200


def test_a_page_of_another_site_cannot_use_the_cookie_though_it_knew_the_token(door: Door) -> None:
    with door.signed_in("local") as (client, token):
        for origin in ("http://evil.example", "null", door.served.url.replace("127", "128")):
            headers = {"Origin": origin, "X-CSRF-Token": token}
            assert kind(client.post(CHAT, json=QUESTION, headers=headers)) == (403, "wrong-origin")
            assert kind(client.delete(SESSION, headers=headers)) == (403, "wrong-origin")
            assert kind(client.post(SESSION, json={"key": "x"}, headers={"Origin": origin})) == (
                403,
                "wrong-origin",
            )
    assert not door.engine.asked


def forgeries(door: Door) -> Iterator[str]:
    """Cookies that are none, made by somebody who has one of their own."""
    with door.signed_in("local") as (client, csrf):
        mine = client.cookies["unchunk"]
    key, end, nonce, signature = mine.split(".")
    secret = asyncio.run(door.keyring.secret())
    yield from ("", ".", "...", "a.1.b.c", "\xfc.1.b.c", "x" * 4_000, "." * 1_000)
    yield f"{door.ids['other']}.{end}.{nonce}.{signature}"
    yield f"{key}.{int(end) + 1}.{nonce}.{signature}"
    yield f"{key}.{end}.{nonce}x.{signature}"
    yield f"{key}.{end}.{nonce}.{signature[:-1]}"
    yield f"{key}.{end}.{nonce}.{signature}="
    yield f"{key}.{end}.{nonce}."
    yield f"{key}.{end}.{nonce}"
    yield f"{mine}.{signature}"
    yield f"{key}.{end}.{nonce}.{csrf}"
    yield mine.upper()
    sessions = Sessions(3600)
    yield sessions.begin(bytes(32), key).value
    yield sessions.begin(secret[::-1], key).value
    # These are signed as they should be.
    yield Sessions(3600, lambda: time.time() - 3601).begin(secret, key).value
    yield sessions.begin(secret, "0" * 16).value
    yield sessions.begin(secret, door.ids["figures"]).value
    own = sessions.begin(secret, key)
    yield f"{own.value.rpartition('.')[0]}.{csrf_token(secret, own)}"


def test_forged_expired_and_tampered_cookies_are_nobodys(door: Door) -> None:
    for value in forgeries(door):
        lines = [f"Cookie: unchunk={value}"]
        assert status_of(asked(door.served, "GET", TALKS, *lines)) == 401, value
        told = asked(door.served, "GET", SESSION, *lines)
        assert status_of(told) == 200
        assert b'"owner":null,"needs_key":true,"signed_in":false' in told


def test_a_cookie_of_the_right_name_is_found_among_others(door: Door) -> None:
    secret = asyncio.run(door.keyring.secret())
    value = Sessions(60).begin(secret, door.ids["local"]).value
    for line in (f"a=b; unchunk={value}; c=d", f"unchunk={value}"):
        assert status_of(asked(door.served, "GET", TALKS, f"Cookie: {line}")) == 200
    # By http, the name that is for https alone counts for nothing.
    for name in ("__Host-unchunk", "Unchunk", "xunchunk"):
        assert status_of(asked(door.served, "GET", TALKS, f"Cookie: {name}={value}")) == 401


def test_a_revoked_key_is_refused_at_once_with_all_of_its_sessions(tmp_path: Path) -> None:
    with guarded(tmp_path) as door:
        with (
            door.signed_in("local") as (client, token),
            door.signed_in("other") as (other, _),
            door.client("local") as by_key,
        ):
            assert client.get(TALKS).status_code == by_key.get(TALKS).status_code == 200
            door.revoke("local")
            assert kind(by_key.get(TALKS)) == (401, "wrong-key")
            assert kind(client.get(TALKS)) == (401, "key-needed")
            right = {"X-CSRF-Token": token}
            assert kind(client.post(CHAT, json=QUESTION, headers=right)) == (401, "key-needed")
            assert client.get(SESSION).json()["needs_key"]
            assert kind(client.post(SESSION, json={"key": door.keys["local"]})) == (
                401,
                "wrong-key",
            )
            assert client.delete(SESSION).status_code == 204
            assert other.get(TALKS).status_code == 200
        assert not door.engine.asked


def test_a_session_outlives_the_server_that_began_it_but_not_its_time(tmp_path: Path) -> None:
    options = Options(require_keys=True)
    with guarded(tmp_path, options) as door, door.signed_in("local") as (client, _):
        cookie = client.cookies["unchunk"]
    with (
        keyring_in(tmp_path) as keyring,
        serving(Scripted(keyring=keyring).engine, options) as served,
    ):
        assert status_of(asked(served, "GET", TALKS, f"Cookie: unchunk={cookie}")) == 200
        served.app.state.house.sessions._now = lambda: time.time() + options.session_seconds
        assert status_of(asked(served, "GET", TALKS, f"Cookie: unchunk={cookie}")) == 401


def test_a_session_that_was_ended_stays_so_after_a_restart(tmp_path: Path) -> None:
    options = Options(require_keys=True)
    with guarded(tmp_path, options) as door, door.signed_in("local") as (client, token):
        ended = client.cookies["unchunk"]
        assert client.delete(SESSION, headers={"X-CSRF-Token": token}).status_code == 204
        client.cookies.clear()
        client.post(SESSION, json={"key": door.keys["local"]})
        another = client.cookies["unchunk"]
    with (
        keyring_in(tmp_path) as keyring,
        serving(Scripted(keyring=keyring).engine, options) as served,
    ):
        assert status_of(asked(served, "GET", TALKS, f"Cookie: unchunk={ended}")) == 401
        assert status_of(asked(served, "GET", TALKS, f"Cookie: unchunk={another}")) == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LibraryInUseError("another process is writing to /secret/place"), 503),
        (TransientError("the database /secret/place does not answer"), 503),
        (IntegrityError("/secret/place is damaged"), 500),
        (OutputError("cannot write /secret/place"), 507),
    ],
)
def test_where_nobody_can_be_told_apart_that_is_said_and_what_is_open_stays_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: UnchunkError,
    status: int,
) -> None:
    async def broken(_: object) -> None:
        raise error

    with guarded(tmp_path) as door, door.signed_in("local") as (client, token):
        csrf = {"X-CSRF-Token": token}
        cookie = {"Cookie": f"unchunk={client.cookies['unchunk']}", "Origin": door.served.url}
        monkeypatch.setattr(door.keyring, "get", broken)
        with door.client("local") as by_key:
            replies = [by_key.get(TALKS), client.get(TALKS)]
            replies.append(client.post(CHAT, json=QUESTION, headers=csrf))
            # Nobody is told that they were signed out who is not, or are not who they are.
            replies += [client.get(SESSION), client.delete(SESSION, headers=csrf)]
            for reply in replies:
                assert kind(reply) == (status, error.code)
                assert "secret" not in reply.text
            assert refused(door, **cookie) == status
            for path in ("/", "/page/app.js", "/health", "/health/live", "/health/ready"):
                assert by_key.get(path).status_code == client.get(path).status_code == 200, path
        assert "/secret/place" in caplog.text
        monkeypatch.undo()
        assert client.get(TALKS).status_code == 200
    assert not door.engine.asked


def test_on_this_machine_one_user_needs_no_key(tmp_path: Path) -> None:
    with guarded(tmp_path, Options()) as door:
        with door.client() as client:
            assert client.get(TALKS).status_code == 200
            told = client.get(SESSION).json()
            told.pop("version")
            assert told == {"owner": "local", "needs_key": False, "signed_in": False, "csrf": ""}
            assert client.post(CHAT, json=QUESTION).status_code == 200
            # What another program means for another server is not for us.
            for header in ("Bearer sk-something", "Basic eDp5"):
                headers = {"Authorization": header}
                assert client.get(TALKS, headers=headers).status_code == 200
            wrong = {"Authorization": f"Bearer {door.keys['other']}x"}
            assert kind(client.get(TALKS, headers=wrong)) == (401, "wrong-key")
        with door.client("other") as other:
            assert other.get(SESSION).json()["owner"] == "other"
        with door.signed_in("other") as (client, _):
            assert client.get(SESSION).json()["owner"] == "other"


@pytest.mark.parametrize(
    "name",
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "x-real-ip", "Via"],
)
def test_what_came_by_way_of_another_machine_is_not_local(tmp_path: Path, name: str) -> None:
    with guarded(tmp_path, Options()) as door:
        for value in ("127.0.0.1", ""):
            with door.client(**{name: value}) as client:
                assert kind(client.post(CHAT, json=QUESTION)) == (401, "key-needed")
                assert client.get(SESSION).json()["needs_key"]
        with door.client("local", **{name: "127.0.0.1"}) as client:
            assert client.get(TALKS).status_code == 200
        assert not door.engine.asked


@pytest.mark.parametrize(
    "options",
    [
        Options(require_keys=True),
        Options(behind_proxy=True),
        Options(hosts=("notes.example",)),
        Options(host="0.0.0.0"),  # noqa: S104 - what is tried
        Options(host="192.168.1.5"),
        Options(host="::"),
    ],
)
def test_keys_are_in_force_wherever_others_may_come(tmp_path: Path, options: Options) -> None:
    assert options.keys_in_force
    with keyring_in(tmp_path) as keyring:
        _, key = asyncio.run(keyring.new("a", "local"))
        with serving(Scripted(keyring=keyring).engine, options) as served:
            assert status_of(asked(served, "GET", TALKS)) == 401
            assert status_of(asked(served, "GET", TALKS, f"X-API-Key: {key}")) == 200


@pytest.mark.parametrize(
    "options", [Options(), Options(host="localhost"), Options(host="::1", hosts=("localhost",))]
)
def test_keys_are_not_in_force_where_nobody_else_may_come(options: Options) -> None:
    assert not options.keys_in_force


def test_a_connection_from_elsewhere_is_not_local_whatever_the_options_say(tmp_path: Path) -> None:
    """As when somebody serves the application on another address by means of their own."""
    with guarded(tmp_path, Options()) as door:
        transport = httpx2.ASGITransport(door.served.app)

        async def scene() -> None:
            for base, status in (("http://127.0.0.1", 200), ("http://192.168.1.5", 401)):
                async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
                    assert (await client.get(SESSION)).status_code == 200
                    assert (await client.get(TALKS)).status_code == status

        door.served.inside(scene)


def test_by_https_the_cookie_is_secure_and_its_name_says_so(tmp_path: Path) -> None:
    options = Options(behind_proxy=True, hosts=("notes.example",))
    secure = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    with guarded(tmp_path, options) as door:
        own = secure | {"Host": "notes.example", "Origin": "https://notes.example"}
        with door.client(**own) as client:
            reply = client.post(SESSION, json={"key": door.keys["local"]})
            cookie = reply.headers["set-cookie"]
            assert cookie.startswith("__Host-unchunk=")
            assert "; Secure" in cookie
            assert "; Path=/;" in cookie
            assert "Domain" not in cookie
            assert reply.headers["strict-transport-security"] == "max-age=31536000"
            value = cookie.partition(";")[0]
            token = reply.json()["csrf"]
        for line, status in ((value, 200), (value.removeprefix("__Host-"), 401)):
            with door.client(Cookie=line, **own) as client:
                assert client.get(TALKS).status_code == status
        # The last one said is the proxy's own; what the client says before it counts for nothing.
        with door.client(Cookie=value, **own | {"X-Forwarded-Proto": "https, http"}) as client:
            reply = client.get(TALKS)
            assert reply.status_code == 401
            assert "strict-transport-security" not in reply.headers
        # A page that came by http is not ours where we are reached by https.
        headers = own | {"Origin": "http://notes.example", "X-CSRF-Token": token}
        with door.client(Cookie=value, **headers) as client:
            assert kind(client.post(CHAT, json=QUESTION)) == (403, "wrong-origin")


def refused(door: Door, **headers: str) -> int:
    with (
        pytest.raises(InvalidStatus) as told,
        connect(door.served.ws, additional_headers=headers, open_timeout=30),
    ):
        pass
    return told.value.response.status_code


def test_a_socket_needs_a_key_or_a_cookie_from_our_own_page(door: Door) -> None:
    assert refused(door) == 401
    assert refused(door, Authorization="Bearer nonsense") == 401
    assert refused(door, Authorization=f"Bearer {door.keys['figures']}") == 403
    with door.signed_in("other") as (client, _):
        cookie = f"unchunk={client.cookies['unchunk']}"
    assert refused(door, Cookie=cookie) == 403
    assert refused(door, Cookie=cookie, Origin="http://evil.example") == 403
    assert refused(door, Cookie=f"{cookie}x", Origin=door.served.url) == 401
    assert not door.engine.asked
    for headers in (
        {"Authorization": f"Bearer {door.keys['other']}"},
        {"Cookie": cookie, "Origin": door.served.url},
    ):
        with connect(door.served.ws, additional_headers=headers, open_timeout=30) as socket:
            say(socket, type="ask", message="q")
            assert hear_all(socket)[-1]["type"] == "done"
    assert [owner for _, owner, _ in door.engine.asked] == ["other", "other"]


def test_an_open_socket_is_asked_again_with_each_question(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(require_keys=True, rate_limit=3)) as door:
        stop_clocks(door)
        by_key = {"Authorization": f"Bearer {door.keys['local']}"}
        other = {"Authorization": f"Bearer {door.keys['other']}"}
        with (
            connect(door.served.ws, additional_headers=by_key, open_timeout=30) as socket,
            connect(door.served.ws, additional_headers=other, open_timeout=30) as busy,
        ):
            say(socket, type="ask", message="q")
            assert hear_all(socket)[-1]["type"] == "done"
            door.revoke("local")
            say(socket, type="ask", message="q")
            assert hear(socket)["code"] == "wrong-key"
            codes = []
            for _ in range(3):
                say(busy, type="ask", message="q")
                codes.append(hear_all(busy)[-1].get("code"))
            assert codes == [None, None, "too-many"]
        assert len(door.engine.asked) == 3

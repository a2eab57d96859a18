"""The command that serves a library over HTTP."""

import click

from unchunk.cli.session import Session, with_session
from unchunk.engine import Engine
from unchunk.wiring import INCOMING, open_engine


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65_535),
    help="The port; 0 is a free one.",
)
@click.option(
    "--resume-seconds",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0),
    help="How long an answer goes on for a reader whose connection broke.",
)
@with_session
def serve(session: Session, host: str, port: int, resume_seconds: float) -> None:
    """Serve the library to programs on this machine: chat, streams, and Chunkenizer's routes.

    The server's /openapi.json describes all routes. It ends with Ctrl-C.
    """
    # The web framework takes longer to load than all the rest, and no other command needs it.
    from unchunk.server.app import create_app  # noqa: PLC0415
    from unchunk.server.options import Options  # noqa: PLC0415
    from unchunk.server.serving import serve as run_server  # noqa: PLC0415

    settings = session.settings
    options = Options(
        settings.owner,
        embedder=settings.embedder,
        resume_seconds=resume_seconds,
        max_upload=settings.max_bytes,
        upload_folder=settings.home / INCOMING,
    )

    def ready(address: str) -> None:
        session.result({"url": address})
        session.say(f"unchunk serves {settings.home} at {address}; Ctrl-C ends it")

    async def opening() -> Engine:
        engine = await open_engine(settings)
        try:
            await engine.claim()
        except BaseException:
            await engine.close()
            raise
        return engine

    run_server(create_app(opening, options), host=host, port=port, ready=ready)

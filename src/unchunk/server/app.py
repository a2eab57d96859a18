"""The application: one engine behind all routes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from unchunk.engine import Engine
from unchunk.errors import UnchunkError
from unchunk.server import (
    beside,
    chat,
    chunkenizer,
    conversations,
    documents,
    operations,
    pages,
    progress,
    reading,
    retrieving,
    signing_in,
    sockets,
    viewing,
)
from unchunk.server.access import House
from unchunk.server.adding import UPLOADS
from unchunk.server.agents import Agents
from unchunk.server.beginning import begin, tidy
from unchunk.server.checkup import Checkup
from unchunk.server.describing import describe, operation_id
from unchunk.server.entrance import Entrance, check_keys
from unchunk.server.faults import handle_faults
from unchunk.server.guarding import Guard
from unchunk.server.jobs import Jobs
from unchunk.server.limits import Limits
from unchunk.server.metrics import Metrics
from unchunk.server.openai import routing as openai
from unchunk.server.openai.azure import Azure
from unchunk.server.options import Options
from unchunk.server.pictures import Pictures
from unchunk.server.proxies import Proxied
from unchunk.server.receiving import Receiving
from unchunk.server.sessions import Sessions
from unchunk.server.shielding import Shield
from unchunk.server.streams import streams_of
from unchunk.server.sweeping import keep_sweeping
from unchunk.server.tracing import Tracing


def create_app(
    opening: Engine | Callable[[], Awaitable[Engine]], options: Options | None = None
) -> FastAPI:
    """What `opening` opens is closed with the application; an open engine stays its opener's.

    Where it cannot be opened, `app.state.failure` says why.
    """
    options, metrics, agents = options or Options(), Metrics(), Agents()
    uploads = UPLOADS | beside.UPLOADS | openai.UPLOADS

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            engine = await _opened(opening, options)
        except UnchunkError as error:
            app.state.failure = error
            raise
        streams = await streams_of(engine, options)
        checkup = Checkup(engine, streams, options.probe_seconds)
        sessions, limits = Sessions(options.session_seconds), Limits(options, engine.sharing.rates)
        jobs = Jobs(engine, options)
        await jobs.start()
        pictures = Pictures(
            engine, options.kept_picture_bytes, options.max_drawn, options.max_drawn_for_one
        )
        app.state.house = House(
            engine, streams, options, checkup, metrics, sessions, limits, jobs, pictures
        )
        house: House = app.state.house
        chores = [asyncio.create_task(chore(house)) for chore in (begin, tidy, keep_sweeping)]
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.wait(chores)
            await streams.close()
            await jobs.close()
            await agents.close()
            if callable(opening):
                await engine.close()

    app = FastAPI(
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
        # Their pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        # Its own traces would hold what somebody asked.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        middleware=[
            Middleware(Azure),
            Middleware(Shield),
            *([Middleware(Proxied)] if options.behind_proxy else []),
            Middleware(Tracing, metrics=metrics),
            Middleware(Receiving, options=options, uploads=uploads),
            Middleware(Guard, options=options, uploads=uploads),
            Middleware(Entrance, uploads=uploads),
        ],
    )
    app.state.failure = None
    app.state.options = options
    app.router.routes.append(agents.route)
    handle_faults(app)
    describe(app, options)
    _include_routes(app)
    return app


def _include_routes(app: FastAPI) -> None:
    # At the root, too, for Chunkenizer's clients.
    for router in (chunkenizer.router, documents.router, operations.health_router):
        app.include_router(router)
        app.include_router(router, prefix="/api")
    for router in (
        signing_in.router,
        retrieving.router,
        chat.router,
        sockets.router,
        conversations.router,
        documents.folders_router,
        progress.router,
        reading.router,
        viewing.router,
        operations.router,
        beside.router,
        openai.router,
        pages.router,
    ):
        app.include_router(router)


async def _opened(opening: Engine | Callable[[], Awaitable[Engine]], options: Options) -> Engine:
    engine = await opening() if callable(opening) else opening
    try:
        await check_keys(engine, options)
    except BaseException:
        if callable(opening):
            await engine.close()
        raise
    return engine

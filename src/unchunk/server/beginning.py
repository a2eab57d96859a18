"""What a server does first, while it answers already."""

from unchunk.errors import UnchunkError
from unchunk.server import samples
from unchunk.server.access import House
from unchunk.telemetry import log


async def begin(house: House) -> None:
    """Go on with what was on its way in when the last server ended, and greet a new library.

    What another process that has the library open may be at is left to it.
    """
    engine, options = house.engine, house.options
    if not engine.is_alone:
        return
    try:
        coming = await engine.coming()
        for document in coming:
            house.jobs.begin("upload", document)
        if coming:
            log("%d documents were on their way in: that goes on", len(coming))
        if options.sample and not options.keys_in_force:
            await samples.bring(engine, house.jobs, options.owner)
        # Of libraries from before tokens were kept.
        while await engine.count_tokens():
            pass
    except UnchunkError as error:
        log("not all could be begun: %s", error)

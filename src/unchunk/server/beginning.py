"""What a server does first, while it answers already, and what it puts in order ever after."""

from unchunk.errors import UnchunkError
from unchunk.library.tidying import UNCLAIMED, keep_tidy
from unchunk.server import samples
from unchunk.server.access import House
from unchunk.telemetry import log


async def begin(house: House) -> None:
    """Go on with what was on its way in when the last server ended, and greet a new library.

    What another process that has the library open may be at is left to it.
    """
    engine, options = house.engine, house.options
    try:
        can_adopt = engine.is_alone or engine.sees_all_work
        since = 0.0 if engine.is_alone else UNCLAIMED
        if can_adopt and (adopted := await house.jobs.adopt(since)):
            log("%d documents were on their way in: that goes on", adopted)
        if not engine.is_alone:
            return
        if options.sample and not options.keys_in_force:
            await samples.bring(engine, house.jobs, options.owner)
        # Of libraries from before tokens were kept.
        while await engine.count_tokens():
            pass
    except UnchunkError as error:
        log("not all could be begun: %s", error)


async def tidy(house: House) -> None:
    await keep_tidy(house.engine, house.engine.sharing.queue)

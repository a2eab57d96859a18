"""The `Extractor` of the product: each file is parsed in a process that it may ruin."""

from pathlib import Path

from unchunk.adapters.extract.crew import Crew
from unchunk.adapters.extract.frames import answer, request
from unchunk.adapters.extract.limits import Limits
from unchunk.domain import Extracted

_LONGEST_NAME = 1000  # only its ending matters


class IsolatedExtractor:
    """Reads up to `workers` files at once; more wait. Not bound to an event loop.

    A message of its `ExtractionError`s speaks of the file as "it": who asked knows the name.
    Time spent waiting for a worker does not count against a file.
    """

    def __init__(self, limits: Limits | None = None, workers: int = 2) -> None:
        self._crew = Crew(limits or Limits(), workers, "extract")

    async def extract(self, path: Path, name: str) -> Extracted:
        """Cancelling it kills the worker that is reading the file."""
        return await self._crew.ask(path, _asked(path, name), answer)

    async def close(self) -> None:
        """End all workers, those at work too: whoever waits for them sees a cancellation.

        It is no error of the file, which can be read another time.
        """
        await self._crew.close()

    def pids(self) -> list[int]:
        """The processes of the workers that wait for a file, for whoever watches them."""
        return self._crew.pids()


def _asked(path: Path, name: str) -> bytes:
    return request(str(path.absolute()), name[-_LONGEST_NAME:])

"""A server as a process of its own: prints its address, then what became of it."""

import sys

from server.scripted import Scripted
from unchunk.engine import Engine
from unchunk.server.app import create_app
from unchunk.server.serving import serve


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Closing(Scripted):
    """An engine that tells when it is closed."""

    async def close(self) -> None:
        tell(f"closed open={self.open} stopped={self.stopped}")


def main() -> None:
    engine = Closing(pause_at=3)

    async def opening() -> Engine:
        return engine.engine

    serve(create_app(opening), port=0, ready=tell, grace=1.0)
    tell("ended")


if __name__ == "__main__":
    main()

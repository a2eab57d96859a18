"""A server as a process of its own that shares a database, and stops in the midst of its answers.

Prints its address.
"""

import asyncio
import sys

from server.scripted import Scripted, answer
from server.towers import sharing
from unchunk.adapters.catalog import open_database
from unchunk.server.app import create_app
from unchunk.server.serving import serve


def main() -> None:
    database = asyncio.run(open_database(sys.argv[1]))
    engine = Scripted(answer("a", "b", "c"), pause_at=4)
    sharing(engine, database)

    def ready(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()

    serve(create_app(engine.engine), port=0, ready=ready)


if __name__ == "__main__":
    main()

"""Moves a library, and is killed before the step of a number: NUMBER SOURCE TARGET."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from library.test_moving_trouble import STEPS
from moves import moved, settings_in
from unchunk.wiring.moving import target_of


def main(last: int, source: Path, target: Path) -> None:
    done = 0

    def counted(real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*arguments: object, **options: object) -> Any:  # noqa: ANN401 - theirs
            nonlocal done
            done += 1
            if done == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return await real(*arguments, **options)

        return step

    for owner, names in STEPS:
        for name in names:
            setattr(owner, name, counted(getattr(owner, name)))
    settings = settings_in(source)
    moved(settings, target_of(settings, str(target), {}, None))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

"""`unchunk`, but for options of its server that no setting is for: JSON, before the arguments."""

import json
import sys
from dataclasses import replace
from typing import Any

# Whoever needs the class itself has it before it is changed.
import unchunk.server.app  # noqa: F401 - for what it imports
from unchunk.cli import main
from unchunk.server import options


def tune(changes: dict[str, Any]) -> None:
    usual = options.Options

    def tuned(*arguments: Any, **others: Any) -> options.Options:  # noqa: ANN401 - its own
        return replace(usual(*arguments, **others), **changes)

    options.Options = tuned  # type: ignore[assignment,misc]  # for `serve`, which takes it from here


if __name__ == "__main__":
    tune(json.loads(sys.argv.pop(1)))
    main()

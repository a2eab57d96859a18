"""Azure's paths for the same API: `/openai/...`, with or without a model in them.

Around everything else, so that nothing behind it knows of them.
"""

import re

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from unchunk.server.openai.faults import PREFIX

_AZURE = "/openai/"
# A model's name may hold slashes: what follows it is told by its end.
_WITH_MODEL = re.compile(
    r"deployments/(?:(.+?)/(chat/completions|embeddings|responses)|([^/]+)/(.+))", re.DOTALL
)


class Azure:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_AZURE):
            rest, model = _parts(scope["path"].removeprefix(_AZURE))
            state = {**scope.get("state", {}), "deployment": model}
            scope = {**scope, "path": f"{PREFIX}/{rest}", "state": state}
        await self._app(scope, receive, send)


def deployment_of(connection: HTTPConnection) -> str:
    """The model that the path names; empty where it names none."""
    return str(getattr(connection.state, "deployment", ""))


def _parts(path: str) -> tuple[str, str]:
    if found := _WITH_MODEL.fullmatch(path):
        return found[2] or found[4], found[1] or found[3]
    return path.removeprefix("v1/"), ""

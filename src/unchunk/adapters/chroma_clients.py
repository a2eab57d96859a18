"""Clients of Chroma, for our own index and for the collections of others."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from unchunk.errors import IndexUnavailableError, MissingPartError

try:
    import chromadb
    import httpx
    from chromadb import errors
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings
except ImportError as missing:
    raise MissingPartError("Chroma is not installed: pip install 'unchunk[chroma]'") from missing

HTTPError = httpx.HTTPError
__all__ = ["HTTPError", "connected", "disconnect", "errors", "folder_of"]


def folder_of(where: str | Path) -> Path | None:
    """The folder, unless it is the address of a server."""
    return None if str(where).startswith(("http:", "https:")) else Path(where)


def connected(where: str | Path, api_key: str | None, seconds: float) -> Any:  # noqa: ANN401 theirs
    """A client for a folder, which is made, or a server, which has `seconds` for an answer."""
    if (folder := folder_of(where)) is not None:
        return _in_folder(folder)
    parts = urlsplit(str(where))
    secure = parts.scheme == "https"
    try:
        client = chromadb.HttpClient(
            host=parts.hostname or "",
            port=parts.port or (443 if secure else 8000),
            ssl=secure,
            headers={"x-chroma-token": api_key} if api_key else None,
            settings=Settings(anonymized_telemetry=False),
        )
    except ValueError as error:
        raise IndexUnavailableError(f"no Chroma server answers at {where}: {error}") from error
    for session in _sessions(client):
        session.timeout = httpx.Timeout(seconds)
    return client


def disconnect(client: Any) -> None:  # noqa: ANN401 theirs
    client.close()
    for session in _sessions(client):
        session.close()


def _in_folder(folder: Path) -> Any:  # noqa: ANN401 theirs
    """Shares what this process has open there: Chroma refuses a second client with other settings,
    and does not notice one that spells the folder otherwise, which then reads what is outdated.
    """
    # The usual settings, so that a client that is opened later can share ours. They send nothing:
    # the oldest version that is supported has no telemetry left.
    path, settings = str(folder), Settings()
    systems = SharedSystemClient._identifier_to_system  # noqa: SLF001 there is no other way
    for name, system in [*systems.items()]:
        if system.settings.is_persistent and Path(name).resolve() == folder.resolve():
            path, settings = name, system.settings
    try:
        return chromadb.PersistentClient(path, settings)
    except ValueError as error:
        raise IndexUnavailableError(
            f"the Chroma folder {folder} cannot be opened: {error}. If this process has a client "
            "open there, close it or open it with Chroma's usual settings"
        ) from error


def _sessions(client: Any) -> list[Any]:  # noqa: ANN401 theirs
    """Its connections to a server, which it never times out and never closes."""
    both = (client._server, client._admin_client._server)  # noqa: SLF001 there is no other way
    return [each._session for each in both if hasattr(each, "_session")]  # noqa: SLF001

"""Addresses of stores' servers as people give them, which may hold a password. Does no I/O."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from unchunk.errors import InvalidSettingError


def check_address(url: str, option: str) -> None:
    """Refuse what is no address of a server. `option` is where it was given; it is not repeated."""
    try:
        url.encode()
        parts = urlsplit(url)
        # Neither is looked at before it is asked for.
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or any(not one.isprintable() or one.isspace() for one in url):
        raise InvalidSettingError(
            f"{option} is not a server URL: it must begin with http:// or https://, as in"
            " http://HOST:PORT"
        )


def shown_address(url: str) -> str:
    """It, without a password that may stand in it, or a slash at its end."""
    parts = urlsplit(url)
    return SplitResult(
        parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""
    ).geturl()


def is_here(url: str) -> bool:
    """Whether it is this very machine, which no proxy can reach."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

"""What an address tells: whether it is this machine's own, and who shares it."""

import ipaddress
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Whether nobody else can reach it; a name other than `localhost` may lead anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_wildcard(host: str) -> bool:
    """Whether it stands for all addresses, and is none that anybody could ask for."""
    return is_address(host) and ipaddress.ip_address(host).is_unspecified


def leads_to(url: str, address: str) -> bool:
    """Whether a URL leads to the server that listens at `address`, as far as the two tell it."""
    try:
        there, here = urlsplit(url), urlsplit(address)
        port = there.port or (443 if there.scheme == "https" else 80)
    except ValueError:
        return False
    host, own = there.hostname or "", here.hostname or ""
    return port == here.port and (host == own or (_is_usual(host) and _is_usual(own)))


def _is_usual(host: str) -> bool:
    """Whether it is one of the names of this machine that stand for each other."""
    return host in LOOPBACK or is_wildcard(host)


def neighbourhood(address: str) -> str:
    """Whom a limit is for: of the newer kind everybody has a whole network of addresses."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is not None:
            return str(known.ipv4_mapped)
        return str(ipaddress.ip_network((known, 64), strict=False))
    return str(known)

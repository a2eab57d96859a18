"""What an address tells: whether it is this machine's own, and who shares it."""

import ipaddress

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

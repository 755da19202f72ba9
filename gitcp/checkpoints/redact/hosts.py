"""Find addresses of hosts in a text: private ones wherever they stand, public ones only where the
text is about networks, since `1.2.3.4` is as often the version of a package."""

from __future__ import annotations

import ipaddress

from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.checkpoints.redact.json_values import Span

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_V4 = load_pattern(rb"(?<![0-9A-Za-z_.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z_]|\.[0-9])")
_V6 = load_pattern(
    rb"(?<![0-9A-Za-z_:.])(?:[0-9A-Fa-f]{1,4}:){1,7}(?:[0-9A-Fa-f]{1,4}|:|(?::[0-9A-Fa-f]{1,4}){1,6})"
    rb"(?![0-9A-Za-z_:])"
)
_PRIVATE = [
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # shared by the customers of a provider
        "169.254.0.0/16",  # of one link
        "fc00::/7",
        "fe80::/10",
    )
]
_PUBLIC_V6 = ipaddress.ip_network(
    "2000::/3"
)  # others stand for nobody, as 'dead::beef' in a program
_LINE = 80  # bytes before an address, in its line, that tell what the text is about
# What ends before a version: v1.2.3.4, version: 1.2.3.4, x==1.2.3.4, "x": "^1.2.3.4", x-1.2.3.4
_OF_VERSION = load_pattern(
    rb"(?i)(?:\bv|\b(?:version|release|build|tag)s?\\?[\"']?\s*[:=]?\s*(?:\\?[\"'])?|[=<>~!]=\s*|[~^]"
    rb"|[0-9a-z][-/])$"
)
_OF_NETWORK = load_pattern(
    rb"(?i)(?:\b(?:ip|ipv4|ipv6|ips|ipaddr|inet6?|addr(?:ess)?(?:es)?|hosts?|hostname|server"
    rb"|gateway|subnet|cidr|dns|nameserver|proxy|firewall|allow|deny|listen|listening|bind|connect(?:ed|ing)?"
    rb"|peer|client|remote|ping|ssh|scp|rsync|curl|wget|telnet|nc|traceroute|nslookup|dig)\b"
    rb"|://|@)"
)
_PORT_OR_MASK = load_pattern(rb"(?::[1-9][0-9]{1,4}|/(?:3[0-2]|[12][0-9]|[89]))(?![0-9A-Za-z_.])")


def find_hosts(flat: bytes) -> Iterator[Span]:
    """Yield (start, end) of each address of a host of somebody's; not those that everybody has
    (loopback, documentation, broadcast)."""
    for pattern in (_V4, _V6):
        for match in pattern.finditer(flat):
            start, end = match.span()
            address = _parse(match[0])
            if address is not None and _tells_of_a_host(flat, start, end, address):
                yield start, end


def _parse(text: bytes) -> Address | None:
    try:
        return ipaddress.ip_address(text.decode())
    except ValueError:
        return None


def _tells_of_a_host(flat: bytes, start: int, end: int, address: Address) -> bool:
    before = flat[max(0, start - _LINE) : start].rpartition(b"\n")[2]
    is_version = bool(_OF_VERSION.search(before)) and b"://" not in before
    if any(address in network for network in _PRIVATE):
        return not is_version
    if not address.is_global or address.is_multicast:
        return False
    if address.version == 6:
        return address in _PUBLIC_V6
    if is_version:
        return False
    return bool(_OF_NETWORK.search(before) or _PORT_OR_MASK.match(flat, end))

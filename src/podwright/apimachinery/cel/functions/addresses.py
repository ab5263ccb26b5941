"""IP addresses, networks and URLs as values.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/ip.go, cidr.go, urls.go; Go net/netip,
net/url (texts); Go net/netip/netip.go, `ParseAddr`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import ClassVar, Final, TypeAlias

import msgspec

from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import ErrorValue, OpaqueValue, Value
from podwright.apimachinery.objects import go_quoted

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class AddressError(ValueError):
    """The text is not an address, network or URL; the message is upstream's."""


class IPValue(OpaqueValue):
    """An address."""

    type_name: ClassVar[str] = "net.IP"
    __slots__ = ("address",)

    def __init__(self, address: _Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IPValue) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.address.max_prefixlen // 8


class CIDRValue(OpaqueValue):
    """A network: an address, whose bits past the prefix may be set, and the prefix."""

    type_name: ClassVar[str] = "net.CIDR"
    __slots__ = ("address", "prefix")

    def __init__(self, address: _Address, prefix: int) -> None:
        self.address = address
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDRValue) and (self.address, self.prefix) == (
            other.address,
            other.prefix,
        )

    def __hash__(self) -> int:
        return hash((self.address, self.prefix))

    @property
    def size(self) -> int:
        """The number of bytes that the prefix covers."""
        return -(-self.prefix // 8)

    @property
    def network(self) -> _Network:
        """The network without the bits past the prefix."""
        return ipaddress.ip_network((self.address, self.prefix), strict=False)


def parse_address(text: str) -> IPValue:
    """Return the address of a text; neither a zone nor an IPv4 address in IPv6 is allowed.

    Raises
    ------
    AddressError
        The text is not an address.
    """
    base, percent, zone = text.partition("%")
    try:
        address = ipaddress.ip_address(base)
    except ValueError:
        raise AddressError(_unparsed(text)) from None
    if percent:
        if address.version == 4 or not zone:
            raise AddressError(_unparsed(text))
        raise AddressError(f"IP address {go_quoted(text)} with zone value is not allowed")
    _check_not_mapped(address, text)
    return IPValue(address)


def _check_not_mapped(address: _Address, text: str) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise AddressError(f"IPv4-mapped IPv6 address {go_quoted(text)} is not allowed")


def _unparsed(text: str) -> str:
    context = "parse error during conversion from string"
    return f"IP Address {go_quoted(text)} {context}: {address_error(text)}"


def parse_network(text: str) -> CIDRValue:
    """Return the network of a text.

    Raises
    ------
    AddressError
        The text is not a network.
    """
    context = "network address parse error during conversion from string"
    base, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError(f"{context}: netip.ParsePrefix({go_quoted(text)}): no '/'")
    prefix_error = f"{context}: netip.ParsePrefix({go_quoted(text)})"
    try:
        address = ipaddress.ip_address(base)
    except ValueError:
        raise AddressError(f"{prefix_error}: {address_error(base)}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise AddressError(f"{prefix_error}: IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise AddressError(f"{prefix_error}: bad bits after slash: {go_quoted(bits)}")
    if int(bits) > address.max_prefixlen:
        raise AddressError(f"{prefix_error}: prefix length out of range")
    _check_not_mapped(address, text)
    return CIDRValue(address, int(bits))


def _is(parse: Callable[[str], object]) -> Callable[[Value], Value]:
    def test(text: Value) -> Value:
        try:
            parse(text)
        except AddressError:
            return False
        return True

    return test


def _ip(text: Value) -> Value:
    try:
        return parse_address(text)
    except AddressError as error:
        return ErrorValue(str(error))


def _cidr(text: Value) -> Value:
    try:
        return parse_network(text)
    except AddressError as error:
        return ErrorValue(f"network address parse error during conversion from string: {error}")


def _is_canonical(text: Value) -> Value:
    value = _ip(text)
    return value if isinstance(value, ErrorValue) else str(value.address) == text


def _contains_ip(network: Value, address: Value) -> Value:
    if isinstance(address, str):
        address = _ip(address)
    if not isinstance(address, IPValue):
        return ErrorValue("no such overload")
    return address.address in network.network


def _contains_cidr(network: Value, other: Value) -> Value:
    if isinstance(other, str):
        other = _cidr(other)
    if not isinstance(other, CIDRValue):
        return other if isinstance(other, ErrorValue) else ErrorValue("no such overload")
    if network.address.version != other.address.version:
        return False
    return network.prefix <= other.prefix and network.network.overlaps(other.network)


def _is_link_local_multicast(value: Value) -> Value:
    address = value.address
    if address.version == 4:
        return str(address).startswith("224.0.0.")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _is_global_unicast(value: Value) -> Value:
    address = value.address
    if address.version == 4 and (address.is_unspecified or str(address) == "255.255.255.255"):
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


ADDRESS_LIBRARY: Final = library_of(
    {
        "string_to_ip": _ip, "cidr_ip": lambda value: IPValue(value.address),
        "isIP": _is(parse_address), "ip.isCanonical": _is_canonical,
        "family": lambda value: value.address.version,
        "isUnspecified": lambda value: value.address.is_unspecified,
        "isLoopback": lambda value: value.address.is_loopback,
        "isLinkLocalMulticast": _is_link_local_multicast,
        "isLinkLocalUnicast": lambda value: value.address.is_link_local,
        "isGlobalUnicast": _is_global_unicast,
        "cidr": _cidr, "isCIDR": _is(parse_network),
        "containsIP": _contains_ip, "containsCIDR": _contains_cidr,
        "prefixLength": lambda value: value.prefix,
        "masked": lambda value: CIDRValue(value.network.network_address, value.prefix),
        "ip_to_string": lambda value: str(value.address),
        "cidr_to_string": lambda value: f"{value.address}/{value.prefix}",
    },
    """
    string_to_ip: ip(string) -> net.IP
    is_ip: isIP(string) -> bool
    ip_is_canonical: ::ip.isCanonical(string) -> bool
    ip_family: net.IP.family() -> int
    ip_is_unspecified: net.IP.isUnspecified() -> bool
    ip_is_loopback: net.IP.isLoopback() -> bool
    ip_is_link_local_multicast: net.IP.isLinkLocalMulticast() -> bool
    ip_is_link_local_unicast: net.IP.isLinkLocalUnicast() -> bool
    ip_is_global_unicast: net.IP.isGlobalUnicast() -> bool
    string_to_cidr: cidr(string) -> net.CIDR
    is_cidr: isCIDR(string) -> bool
    cidr_contains_ip_string: net.CIDR.containsIP(string) -> bool
    cidr_contains_ip_ip: net.CIDR.containsIP(net.IP) -> bool
    cidr_contains_cidr_string: net.CIDR.containsCIDR(string) -> bool
    cidr_contains_cidr: net.CIDR.containsCIDR(net.CIDR) -> bool
    cidr_ip: net.CIDR.ip() -> net.IP
    cidr_prefix_length: net.CIDR.prefixLength() -> int
    cidr_masked: net.CIDR.masked() -> net.CIDR
    ip_to_string: string(net.IP) -> string
    cidr_to_string: string(net.CIDR) -> string
    """,
)  # fmt: skip
"""Kubernetes' functions on addresses and networks."""


# --------------------------------------------------------------------------- URLs

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):", re.ASCII)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)
_PATH_SAFE = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]]", re.ASCII)
_HOST_SAFE = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"]", re.ASCII)
_HOST_PART = re.compile(r"%([0-9A-Fa-f]{2})?|.", re.DOTALL)
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)


class ParsedURL(msgspec.Struct, frozen=True):
    """The parts of a URL that its functions read."""

    scheme: str
    host: str
    path: str
    query: str


class URLValue(OpaqueValue):
    """A URL; equal by its text."""

    type_name: ClassVar[str] = "kubernetes.URL"
    __slots__ = ("parts", "text")

    def __init__(self, text: str, parts: ParsedURL) -> None:
        self.text = text
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URLValue) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse_url(text: str) -> ParsedURL:
    """Return the parts of an absolute URL or path without a fragment.

    Raises
    ------
    AddressError
        With Go's text: `parse "x": invalid URI for request`.
    """
    try:
        return _split(text, is_request=True)
    except AddressError as error:
        raise AddressError(f"parse {go_quoted(text)}: {error}") from None


def _split(text: str, *, is_request: bool) -> ParsedURL:
    if any(character < " " or character == "\x7f" for character in text):
        raise AddressError("net/url: invalid control character in URL")
    if not text:
        raise AddressError("empty url")
    if text == "*":
        return ParsedURL("", "", text, "")
    if text[:1] == ":":
        raise AddressError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    rest, _, query = (text[match.end() :] if match else text).partition("?")
    if not rest.startswith("/"):
        if scheme:
            return ParsedURL(scheme, "", "", query)
        raise AddressError("invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or not (is_request or rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, _, host = authority.rpartition("@")
        host = _checked_host(scheme, host)
        if not _USER.fullmatch(user):
            raise AddressError("net/url: invalid userinfo")
        _check_escapes(user)
    _check_escapes(rest)
    return ParsedURL(scheme, host, rest, query)


def _wrong_escape(text: str) -> str:
    """Return the first escape that is not one; empty if there is none."""
    wrong = (each.start() for each in _ESCAPE.finditer(text) if each[1] is None)
    return next((text[start : start + 3] for start in wrong), "")


def _check_escapes(text: str) -> None:
    wrong = _wrong_escape(text)
    if wrong:
        raise AddressError(f'invalid URL escape "{wrong}"')


def _checked_host(scheme: str, host: str) -> str:
    opening = host.rfind("[")
    if opening > 0:
        raise AddressError("invalid IP-literal")
    if opening == 0:
        end = host.rfind("]")
        if end < 0:
            raise AddressError("missing ']' in host")
        port = _checked_port(host[end + 1 :])
        before, percent, after = host[1:end].partition("%25")
        name = _unescaped_host(before) + _unescaped_host(percent + after, is_zone=True)
        _check_literal(name)
        return f"[{name}]{port}"
    # Hosts of databases may be lists.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _checked_port(host[colon:])
    return _unescaped_host(host)


def _checked_port(port: str) -> str:
    if not _PORT.fullmatch(port):
        raise AddressError(f'invalid port "{port}" after host')
    return port


def _check_literal(name: str) -> None:
    base, percent, zone = name.partition("%")
    try:
        address = ipaddress.ip_address(base)
    except ValueError:
        raise AddressError(f"invalid host: {address_error(name)}") from None
    if percent and not zone:
        raise AddressError(f"invalid host: {address_error(name)}")
    if address.version == 4:
        raise AddressError("invalid IP-literal")


def _unescaped_host(text: str, *, is_zone: bool = False) -> str:
    """Return a host without escapes, which only stand for what is not ASCII; see `unescape`."""
    for part in _HOST_PART.finditer(text):
        if part[1] is not None:
            character = chr(int(part[1], 16))
            is_literal = character == " " or _HOST_SAFE.match(character)
            is_allowed = character == "%" or (is_literal if is_zone else character > "\x7f")
        else:
            is_allowed = part[0] > "\x7f" or _HOST_SAFE.match(part[0])
        if not is_allowed and part[0].startswith("%"):
            raise AddressError(f'invalid URL escape "{text[part.start() : part.start() + 3]}"')
        if not is_allowed:
            raise AddressError(f'invalid character "{part[0]}" in host name')
    return _unescaped(text, plus=False)


def _url(text: Value) -> Value:
    base, _, fragment = text.partition("#")
    try:
        # As upstream, which checks the text as one without a fragment first.
        parse_url(text)
    except AddressError as error:
        return ErrorValue(f"URL parse error during conversion from string: {error}")
    wrong = _wrong_escape(fragment)
    if wrong:
        reason = f'parse {go_quoted(text)}: invalid URL escape "{wrong}"'
        return ErrorValue(f"URL parse error during conversion from string: {reason}")
    return URLValue(text, _split(base, is_request=False))


def _host_and_port(value: Value) -> tuple[str, str]:
    host: str = value.parts.host
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, ""
    return name.removeprefix("[").removesuffix("]"), port


def _escaped_path(value: Value) -> Value:
    path: str = value.parts.path
    if all(_PATH_SAFE.match(character) or character == "%" for character in path):
        return path
    return "".join(
        character
        if _PATH_SAFE.match(character)
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in _unescaped(path, plus=False)
    )


def _unescaped(text: str, *, plus: bool) -> str:
    if plus:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode())
    return raw.decode("utf-8", "replace")


def _query(value: Value) -> Value:
    result: dict[str, list[str]] = {}
    for part in value.parts.query.split("&"):
        if not part or ";" in part or _wrong_escape(part):
            continue
        key, _, item = part.partition("=")
        result.setdefault(_unescaped(key, plus=True), []).append(_unescaped(item, plus=True))
    return result


URL_LIBRARY: Final = library_of(
    {
        "url": _url, "isURL": _is(parse_url), "getScheme": lambda value: value.parts.scheme,
        "getHost": lambda value: value.parts.host,
        "getHostname": lambda value: _host_and_port(value)[0],
        "getPort": lambda value: _host_and_port(value)[1],
        "getEscapedPath": _escaped_path, "getQuery": _query,
    },
    """
    string_to_url: url(string) -> kubernetes.URL
    url_get_scheme: kubernetes.URL.getScheme() -> string
    url_get_host: kubernetes.URL.getHost() -> string
    url_get_hostname: kubernetes.URL.getHostname() -> string
    url_get_port: kubernetes.URL.getPort() -> string
    url_get_escaped_path: kubernetes.URL.getEscapedPath() -> string
    url_get_query: kubernetes.URL.getQuery() -> map(string, list(string))
    is_url_string: isURL(string) -> bool
    """,
)  # fmt: skip
"""Kubernetes' functions on URLs."""


# Why Go refuses a text as an address.

_GROUP: Final = re.compile("[0-9a-fA-F]*")

_TOO_SHORT: Final = "IPv4 address too short"
_NO_ZEROS: Final = "the :: must expand to at least one field of zeros"


def address_error(text: str) -> str:
    """Return the error of `ParseAddr` for a text that is not an address."""
    message, rest = _problem(text)
    at = f" (at {go_quoted(rest)})" if rest else ""
    return f"ParseAddr({go_quoted(text)}): {message}{at}"


def _problem(text: str) -> tuple[str, str]:
    """Return the message, and the rest of the text at which it is found; "" if that is not said."""
    for character in text:
        match character:
            case ".":
                return _problem_of_ipv4(text)
            case ":":
                return _problem_of_ipv6(text)
            case "%":
                return "missing IPv6 address", ""
            case _:
                pass
    return "unable to parse IP", ""


def _problem_of_ipv4(text: str) -> tuple[str, str]:
    """Return what is wrong; of an address without a problem that it is too short."""
    value = digit_count = field_count = 0
    for place, character in enumerate(text):
        if "0" <= character <= "9":
            if digit_count == 1 and value == 0:
                return "IPv4 field has octet with leading zero", ""
            value = value * 10 + int(character)
            digit_count += 1
            if value > 255:
                return "IPv4 field has value >255", ""
        elif character == ".":
            if place in (0, len(text) - 1) or text[place - 1] == ".":
                return "IPv4 field must have at least one digit", text[place:]
            if field_count == 3:
                return "IPv4 address too long", ""
            field_count += 1
            value = digit_count = 0
        else:
            return "unexpected character", text[place:]
    return _TOO_SHORT, ""


def _problem_of_ipv6(text: str) -> tuple[str, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string", ""
    byte_count = 0
    has_ellipsis = rest.startswith("::")
    if has_ellipsis:
        rest = rest[2:]
    while byte_count < 16 and rest:
        found = _GROUP.match(rest)
        group = "" if found is None else found.group()
        problem = _problem_of_group(rest, group, byte_count, has_ellipsis=has_ellipsis)
        if problem is not None:
            return problem
        byte_count += 2
        # A colon follows, unless the text ends.
        rest = rest[len(group) + 1 :]
        if rest.startswith(":"):
            if has_ellipsis:
                return "multiple :: in address", rest
            has_ellipsis = True
            rest = rest[1:]
    if rest:
        return "trailing garbage after address", rest
    if byte_count < 16:
        return "address string too short", ""
    return _NO_ZEROS, ""


def _problem_of_group(
    rest: str, group: str, byte_count: int, *, has_ellipsis: bool
) -> tuple[str, str] | None:
    """Return what is wrong with the digits at the start of `rest`, or with what follows them."""
    if len(group) > 4:
        return "each group must have 4 or less digits", rest
    if not group:
        return "each colon-separated field must have at least one digit", rest
    after = rest[len(group) :]
    if after.startswith("."):
        return _problem_of_embedded(rest, byte_count, has_ellipsis=has_ellipsis)
    if after and not after.startswith(":"):
        return "unexpected character, want colon", after
    if after == ":":
        return "colon must be followed by more characters", after
    return None


def _problem_of_embedded(rest: str, byte_count: int, *, has_ellipsis: bool) -> tuple[str, str]:
    """Return what is wrong with an IPv4 address at the end, or with what precedes it."""
    if not has_ellipsis and byte_count != 12:
        return "embedded IPv4 address must replace the final 2 fields of the address", rest
    if byte_count + 4 > 16:
        return "too many hex fields to fit an embedded IPv4 at the end of the address", rest
    message, at = _problem_of_ipv4(rest)
    if rest.count(".") == 3 and message == _TOO_SHORT:
        return _NO_ZEROS, ""
    return message, at

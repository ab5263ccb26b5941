"""The syntax of names, keys, values, ports and paths.

Each function returns the errors of a text; an empty list means that it is valid.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go;
staging/src/k8s.io/apimachinery/pkg/api/validate/content
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final, TypeAlias

from podwright.apimachinery.objects import label_key_errors, label_value_errors, parse_uint64
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

Details: TypeAlias = list[str]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"

# The same languages without backtracking.
_FAST_LABEL: Final = "[a-z0-9]++(?:-++[a-z0-9]++)*+"
_LABEL_RE: Final = re.compile(_FAST_LABEL)
_SUBDOMAIN_RE: Final = re.compile(rf"{_FAST_LABEL}(?:\.{_FAST_LABEL})*+")
_WILDCARD_RE: Final = re.compile(rf"\*\.{_SUBDOMAIN}")
_LABEL_1035_RE: Final = re.compile(_LABEL_1035)
_UNDERSCORED_RE: Final = re.compile(rf"{_UNDERSCORED}(\.{_UNDERSCORED})*")
_IDENTIFIER_RE: Final = re.compile(_IDENTIFIER)
_CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY)
_HTTP_PATH_RE: Final = re.compile(_HTTP_PATH)
_HEADER_RE: Final = re.compile("[-A-Za-z0-9]+")
_PORT_RE: Final = re.compile("[-a-z0-9]+")
_LETTER_RE: Final = re.compile("[a-z]")
_ENV_RE: Final = re.compile("[ -<>-~]*")
_PERCENT_RE: Final = re.compile("[0-9]+%")
_INTEGER_RE: Final = re.compile("0|-?[1-9][0-9]*")


def _regex_text(message: str, regex: str, *examples: str) -> str:
    listed = " or ".join(f"'{each}', " for each in examples)
    return f"{message} (e.g. {listed}regex used for validation is '{regex}')"


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


@lru_cache(maxsize=65_536)
def _cached_key(key: str) -> tuple[str, ...]:
    return tuple(label_key_errors(key))


@lru_cache(maxsize=65_536)
def _cached_value(value: str) -> tuple[str, ...]:
    return tuple(label_value_errors(value))


def qualified_name(key: str) -> tuple[str, ...]:
    """Return the errors of a label key or another name with an optional domain."""
    return _cached_key(key)


def label_value(value: str) -> tuple[str, ...]:
    """Return the errors of a label value."""
    return _cached_value(value)


def dns_label(name: str) -> Details:
    """Return the errors of an RFC 1123 label."""
    if len(name) <= 63 and _LABEL_RE.fullmatch(name):
        return []
    errors = [_too_long(63)] if len(name.encode()) > 63 else []
    if not _LABEL_RE.fullmatch(name):
        if _SUBDOMAIN_RE.fullmatch(name):
            errors.append("must not contain dots")
        else:
            text = (
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters"
                " or '-', and must start and end with an alphanumeric character"
            )
            errors.append(_regex_text(text, _LABEL, "my-name", "123-abc"))
    return errors


def dns_subdomain(name: str) -> Details:
    """Return the errors of an RFC 1123 subdomain."""
    if len(name) <= 253 and _SUBDOMAIN_RE.fullmatch(name):
        return []
    errors = [_too_long(253)] if len(name.encode()) > 253 else []
    if not _SUBDOMAIN_RE.fullmatch(name):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
            " '-' or '.', and must start and end with an alphanumeric character"
        )
        errors.append(_regex_text(text, _SUBDOMAIN, "example.com"))
    return errors


def wildcard_subdomain(name: str) -> Details:
    """Return the errors of a subdomain whose first label is `*`."""
    if _WILDCARD_RE.fullmatch(name):
        return []
    text = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain,"
        " which must consist of lower case alphanumeric characters, '-' or '.' and end with an"
        " alphanumeric character"
    )
    return [_regex_text(text, rf"\*\.{_SUBDOMAIN}", "*.example.com")]


def dns_search_path(name: str) -> Details:
    """Return the errors of a search path of a resolver, where underscores are valid."""
    errors = [_too_long(253)] if len(name.encode()) > 253 else []
    if not _UNDERSCORED_RE.fullmatch(name):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
            " '_', '-' or '.', and must start and end with an alphanumeric character"
        )
        regex = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
        errors.append(_regex_text(text, regex, "example.com"))
    return errors


def dns_1035_label(name: str) -> Details:
    """Return the errors of an RFC 1035 label, which starts with a letter."""
    errors = [_too_long(63)] if len(name.encode()) > 63 else []
    if not _LABEL_1035_RE.fullmatch(name):
        text = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-',"
            " start with an alphabetic character, and end with an alphanumeric character"
        )
        errors.append(_regex_text(text, _LABEL_1035, "my-name", "abc-123"))
    return errors


def path_segment(name: str) -> Details:
    """Return the errors of a name that is a segment of a URL path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in name]


def config_key(key: str) -> Details:
    """Return the errors of a key of a ConfigMap or Secret."""
    errors = [_too_long(253)] if len(key.encode()) > 253 else []
    if not _CONFIG_KEY_RE.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(_regex_text(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if key in (".", ".."):
        errors.append(f"must not be '{key}'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def env_name(name: str) -> Details:
    """Return the errors of the name of an environment variable."""
    errors = [] if name else ["environment variable name must be non-empty"]
    if not _ENV_RE.fullmatch(name):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters"
            " other than '='"
        )
    return errors


def c_identifier(name: str) -> Details:
    """Return the errors of a name of letters, digits and underscores."""
    if _IDENTIFIER_RE.fullmatch(name):
        return []
    text = (
        "a valid C identifier must start with alphabetic character or '_', followed by a string of"
        " alphanumeric characters or '_'"
    )
    return [_regex_text(text, _IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def http_header(name: str) -> Details:
    """Return the errors of the name of an HTTP header."""
    if _HEADER_RE.fullmatch(name):
        return []
    text = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [_regex_text(text, "[-A-Za-z0-9]+", "X-Header-Name")]


def in_range(number: int, low: int, high: int) -> Details:
    """Return the error of a number outside an interval."""
    return [] if low <= number <= high else [f"must be between {low} and {high}, inclusive"]


def port_number(port: int) -> Details:
    """Return the errors of a port number."""
    return in_range(port, 1, 65535)


def port_name(name: str) -> Details:
    """Return the errors of the name of a port."""
    errors = [_too_long(15)] if len(name) > 15 else []
    if not _PORT_RE.fullmatch(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER_RE.search(name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name and "-" in (name[0], name[-1]):
        errors.append("must not begin or end with a hyphen")
    return errors


def percent(text: str) -> Details:
    """Return the errors of a percentage."""
    if _PERCENT_RE.fullmatch(text):
        return []
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return [_regex_text(message, "[0-9]+%", "1%", "93%")]


def user_id(number: int) -> Details:
    """Return the errors of a user or group id."""
    return in_range(number, 0, 2**31 - 1)


def decimal_integer(text: str) -> Details:
    """Return the errors of an integer in canonical form."""
    if not text:
        return ["must be non-empty"]
    return (
        [] if _INTEGER_RE.fullmatch(text) else ["must be a valid decimal integer in canonical form"]
    )


def long_name(text: str) -> Details:
    """Return the errors of a DNS subdomain, whose length declarative validation gives in bytes.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/validate/strfmt.go, LongName
    """
    too_long = _too_long(253)
    in_bytes = too_long.replace("characters", "bytes")
    return [in_bytes if each == too_long else each for each in dns_subdomain(text)]


def ip_address(text: str) -> Details:
    """Return the errors of an IP address."""
    try:
        address = ipaddress.ip_address(text if "%" not in text else "")
    except ValueError:
        parts = [parse_uint64(part) for part in text.split(".")]
        if len(parts) == 4 and all(part is not None and part < 256 for part in parts):
            return ["must not have leading 0s"]
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_ip(text: str) -> Details:
    """Return the errors of an IP address in canonical form.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go, IsValidIP
    """
    if errors := ip_address(text):
        return errors
    canonical = str(ipaddress.ip_address(text))
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


_LEADING_ZEROS: Final = re.compile(r"(^|[./])0+(?=[0-9]+(?:[./]|$))")
"""Zeros before a decimal number of an IPv4 address, or before a prefix length."""
_MAPPED_BITS: Final = 96
"""The bits of an IPv6 address before the IPv4 address that it stands for."""


def without_leading_zeros(text: str) -> str:
    """Return an address or a network without leading zeros in its decimal numbers."""
    return _LEADING_ZEROS.sub(r"\1", text)


def cidr(text: str) -> Details:
    """Return the errors of an IP network."""
    invalid = ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if "/" not in text:
        return invalid
    try:
        network(text)
    except ValueError:
        return invalid
    return []


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the network of a text; numbers may have leading zeros, as older servers accept.

    Raises
    ------
    ValueError
        The text is not one of a network.
    """
    return ipaddress.ip_network(without_leading_zeros(text), strict=False)


def strict_cidr(text: str) -> Details:
    """Return the errors of an IP network without what parsers read differently."""
    if errors := cidr(text):
        return errors
    if _LEADING_ZEROS.search(text):
        return ["must not have leading 0s in IP or prefix length"]
    interface = ipaddress.ip_interface(text)
    if isinstance(interface, ipaddress.IPv6Interface) and interface.ip.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if interface.ip != interface.network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def canonical_cidr(text: str) -> Details:
    """Return the errors of an IP network in canonical form.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go, IsValidCIDR
    """
    if errors := strict_cidr(text):
        return errors
    canonical = str(network(text))
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


def interface_address(text: str) -> Details:
    """Return the errors of an address with the length of its network's prefix.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go, IsValidInterfaceAddress
    """
    if cidr(text):
        return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]
    address = ipaddress.ip_interface(without_leading_zeros(text))
    canonical = str(address)
    mapped = address.ip.ipv4_mapped if isinstance(address, ipaddress.IPv6Interface) else None
    if mapped is not None and (length := address.network.prefixlen) >= _MAPPED_BITS:
        canonical = f"{mapped}/{length - _MAPPED_BITS}"
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


def domain_prefixed_path(errors: FieldErrors, path: str, text: str) -> None:
    """Check a name such as `acme.io/foo`."""
    if not text:
        errors.required(path)
        return
    host, _, rest = text.partition("/")
    if not host or not rest:
        errors.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    errors.each(path, host, dns_subdomain(host))
    if not _HTTP_PATH_RE.fullmatch(rest):
        text = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
        errors.invalid(path, rest, text)


def path_without_backsteps(errors: FieldErrors, path: str, text: str) -> None:
    """Check that a path does not lead out of its directory."""
    if ".." in text.split("/"):
        errors.invalid(path, text, "must not contain '..'")


def relative_path(errors: FieldErrors, path: str, text: str) -> None:
    """Check a path below a directory."""
    if text.startswith("/"):
        errors.invalid(path, text, "must be a relative path")
    path_without_backsteps(errors, path, text)


def file_path(errors: FieldErrors, path: str, text: str) -> None:
    """Check the path of a file in a volume."""
    relative_path(errors, path, text)
    if text.startswith("..") and not text.startswith("../"):
        errors.invalid(path, text, "must not start with '..'")


def port_number_or_name(errors: FieldErrors, path: str, port: int | str | None) -> None:
    """Check a port that is a number or the name of a container port."""
    if isinstance(port, str):
        errors.each(path, port, port_name(port))
    else:
        number = port or 0
        errors.each(path, number, port_number(number))

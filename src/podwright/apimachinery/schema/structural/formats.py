"""String formats of schemas: whether a text has one.

Names are compared without dashes: `date-time` is `datetime`. Formats that are not listed are not
checked.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go;
k8s.io/kube-openapi/pkg/validation/strfmt
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from email.errors import MessageError, NonASCIILocalPartDefect, ObsoleteHeaderDefect
from email.headerregistry import Address
from email.policy import default as email_policy
from typing import Final

from podwright.apimachinery import cel
from podwright.apimachinery.schema.validation.names import dns_label, dns_subdomain

_HOSTNAME: Final = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}]"
    r"(([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_HEX: Final = "[0-9a-fA-F]"
_VARIANT: Final = f"[89abAB]{_HEX}{{3}}"
_COLOR: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_BASE64: Final = "[A-Za-z0-9+/]"
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_CARD: Final = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
)
_AMOUNT: Final = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_INT64_MAX: Final = 2**63 - 1
_UNITS: Final = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"),
    ("h", "hr", "hour"), ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip
_ALLOWED_DEFECTS: Final = (NonASCIILocalPartDefect, ObsoleteHeaderDefect)
_ISBN13_DIGITS: Final = 13
_HOSTNAME_MAX: Final = 255
_LABEL_MAX: Final = 63
_MAC_BYTES: Final = (6, 8, 20)

NUMBER_FORMATS: Final = {
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
"""The formats of numbers that are checked, by type."""


def known_format(name: str, type_: str) -> str:
    """Return a format if it is one that is checked for a type, else ""."""
    if type_ in ("", "string"):
        return name if name.replace("-", "") in _CHECKS else ""
    return name if name in NUMBER_FORMATS.get(type_, ()) else ""


def has_format(text: str, name: str) -> bool:
    """Whether a text has a format of `known_format`."""
    return _CHECKS[name.replace("-", "")](text)


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    try:
        cel.parse_url(text)
    except cel.AddressError:
        return False
    return True


def _is_email(text: str) -> bool:
    if "\n" in text or "\r" in text:
        return False
    try:
        header = email_policy.header_factory("to", text)
    except (MessageError, ValueError, IndexError):
        return False
    addresses: tuple[Address, ...] = getattr(header, "addresses", ())
    # Go allows a display name with dots, and a local part that is not ASCII.
    is_wrong = any(type(each) not in _ALLOWED_DEFECTS for each in header.defects)
    if is_wrong or len(addresses) != 1:
        return False
    domain = addresses[0].domain
    is_literal = domain.startswith("[")
    return bool(addresses[0].username and domain) and (
        not is_literal or _is_address(domain[1:-1], is_strict=True)
    )


def _is_hostname(text: str) -> bool:
    if cel.compile_pattern(_HOSTNAME).search(text) is None or len(text.encode()) > _HOSTNAME_MAX:
        return False
    return all(len(part.encode()) <= _LABEL_MAX for part in text.split("."))


def _is_address(text: str, *, is_strict: bool = False) -> bool:
    """Whether a text is an IP address; by default, IPv4 parts may have leading zeros."""
    if not is_strict and "." in text:
        start, colon, end = text.rpartition(":")
        text = start + colon + re.sub(r"(?<![0-9])0+(?=[0-9])", "", end)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or not _is_address(address):
        return False
    return int(bits) <= (128 if ":" in address else 32)


def _is_mac(text: str) -> bool:
    for separator, digits in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(separator)
        if len(parts) * digits // 2 in _MAC_BYTES and all(
            len(part) == digits and re.fullmatch(f"{_HEX}+", part) for part in parts
        ):
            return True
    return False


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    total = sum((index + 1) * int(digit) for index, digit in enumerate(digits[:9]))
    return (total + 10 * (10 if digits[9] == "X" else int(digits[9]))) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(f"[0-9]{{{_ISBN13_DIGITS}}}", digits):
        return False
    total = sum(int(digit) * (3 if index % 2 else 1) for index, digit in enumerate(digits[:12]))
    return (10 - total % 10) % 10 == int(digits[12])


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    total = 0
    for index, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if index % 2 else 1)
        total += number % 10 + 1 if number >= 10 else number
    return total % 10 == 0


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
        return False
    try:
        # Go has a year 0, a leap year.
        date.fromisoformat(f"2000{text[4:]}" if text.startswith("0000") else text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, *rest = text.lower().split("t")
    if not rest or not _is_date(day):
        return False
    found = _TIME.fullmatch(rest[0])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if cel.parse_duration(text) is not None:
        return True
    amounts = _AMOUNT.findall(text)
    if any(int(amount) > _INT64_MAX for amount, _ in amounts):
        return False
    units = {unit.lower() for _, unit in amounts}
    return any(unit in names or unit.startswith(names[-1]) for unit in units for names in _UNITS)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _is_address(text),
    "ipv6": lambda text: ":" in text and _is_address(text, is_strict=True),
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matches(f"{_HEX}{{8}}-?({_HEX}{{4}}-?){{3}}{_HEX}{{12}}"),
    "uuid3": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?{_VARIANT}-?{_HEX}{{12}}"),
    "uuid5": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?{_VARIANT}-?{_HEX}{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _matches(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matches(rf"rgb\({_COLOR},{_COLOR},{_COLOR}\)"),
    "byte": _matches(f"({_BASE64}{{4}})*({_BASE64}{{2}}==|{_BASE64}{{3}}=|{_BASE64}{{4}})"),
    "password": lambda _text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not dns_label(text),
    "k8slongname": lambda text: not dns_subdomain(text),
}

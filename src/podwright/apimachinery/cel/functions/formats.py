"""Named formats: `format.dns1123Label().validate(text)`.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/format.go;
staging/src/k8s.io/apimachinery/pkg/util/validation (texts)
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date
from typing import ClassVar, Final

from podwright.apimachinery.cel.declarations import library_of
from podwright.apimachinery.cel.functions.addresses import AddressError, parse_url
from podwright.apimachinery.cel.functions.time_text import parse_timestamp
from podwright.apimachinery.cel.values import NONE, OpaqueValue, Value, present

MAX_PATTERN_SIZE: Final = 128
"""The size of a pattern that estimates assume."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_UUID = re.compile(
    r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NAME_TEXT: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)


class FormatValue(OpaqueValue):
    """A format.

    Attributes
    ----------
    pattern_size : int
        The size of its pattern, as costs count it.
    problems : callable
        Returns why a text does not have the format; nothing if it does.
    """

    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    __slots__ = ("pattern_size", "problems")

    def __init__(self, pattern_size: int, problems: Callable[[str], list[str]]) -> None:
        self.pattern_size = pattern_size
        self.problems = problems


def _matching(
    pattern: str, limit: int, text: str, examples: tuple[str, ...], *, is_prefix: bool = False
) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern, re.ASCII)
    shown = ", or ".join(f"'{example}'" for example in examples)
    message = f"{text} (e.g. {shown}, regex used for validation is '{pattern}')"

    def problems(value: str) -> list[str]:
        # A prefix may end in a dash, because something follows it.
        if is_prefix and len(value) > 1 and value.endswith("-"):
            value = f"{value[:-2]}a"
        found = [f"must be no more than {limit} characters"] if len(value) > limit else []
        return found if compiled.fullmatch(value) else [*found, message]

    return problems


def _qualified_name(value: str) -> list[str]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        example = "(e.g. 'MyName', or 'my.name', or '123-abc', regex used for validation is"
        return [
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
            f"start and end with an alphanumeric character {example} '{_NAME}') with an optional "
            "DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found: list[str] = []
    if slash:
        check = _matching(_SUBDOMAIN, 253, _SUBDOMAIN_TEXT, ("example.com",))
        found += (
            [f"prefix part {problem}" for problem in check(prefix)]
            if prefix
            else ["prefix part must be non-empty"]
        )
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 characters")
    examples = ("MyName", "my.name", "123-abc")
    return found + _matching(_NAME, len(name), _NAME_TEXT, examples)(name)


def _uri(value: str) -> list[str]:
    try:
        parse_url(value)
    except AddressError as error:
        return [str(error)]
    return []


def _byte(value: str) -> list[str]:
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return ["invalid base64"]
    return [] if value else ["invalid base64"]


def _date(value: str) -> list[str]:
    try:
        date.fromisoformat(value)
    except ValueError:
        return ["invalid date"]
    return [] if len(value) == 10 else ["invalid date"]


_DNS_LABEL = (_LABEL, 63, _LABEL_TEXT, ("my-name", "123-abc"))
_DNS_SUBDOMAIN = (_SUBDOMAIN, 253, _SUBDOMAIN_TEXT, ("example.com",))
_DNS_1035_LABEL = (_LABEL_1035, 63, _LABEL_1035_TEXT, ("my-name", "abc-123"))
_FORMATS: Final[dict[str, FormatValue]] = {
    "dns1123Label": FormatValue(30, _matching(*_DNS_LABEL)),
    "dns1123Subdomain": FormatValue(60, _matching(*_DNS_SUBDOMAIN)),
    "dns1035Label": FormatValue(30, _matching(*_DNS_1035_LABEL)),
    "qualifiedName": FormatValue(60, _qualified_name),
    "dns1123LabelPrefix": FormatValue(30, _matching(*_DNS_LABEL, is_prefix=True)),
    "dns1123SubdomainPrefix": FormatValue(60, _matching(*_DNS_SUBDOMAIN, is_prefix=True)),
    "dns1035LabelPrefix": FormatValue(30, _matching(*_DNS_1035_LABEL, is_prefix=True)),
    "labelValue": FormatValue(
        40, _matching(_LABEL_VALUE, 63, _LABEL_VALUE_TEXT, ("MyValue", "my_value", "12345"))
    ),
    "uri": FormatValue(1103, _uri),
    "uuid": FormatValue(
        70, lambda value: [] if _UUID.fullmatch(value) else ["does not match the UUID format"]
    ),
    "byte": FormatValue(84, _byte),
    "date": FormatValue(71, _date),
    "datetime": FormatValue(
        71, lambda value: [] if parse_timestamp(value) else ["invalid datetime"]
    ),
}


def _validate(format_: Value, text: Value) -> Value:
    problems = format_.problems(text)
    return present(problems) if problems else NONE


def _named(name: Value) -> Value:
    found = _FORMATS.get(name)
    return NONE if found is None else present(found)


def _constant(name: str) -> Callable[[], Value]:
    return lambda: _FORMATS[name]


FORMAT_LIBRARY: Final = library_of(
    {
        "validate": _validate,
        "format.named": _named,
        **{f"format.{name}": _constant(name) for name in _FORMATS},
    },
    "\n".join(
        [
            "format-validate: kubernetes.NamedFormat.validate(string) -> optional(list(string))",
            "format-named: ::format.named(string) -> optional(kubernetes.NamedFormat)",
            *(f"format.{name}: ::format.{name}() -> kubernetes.NamedFormat" for name in _FORMATS),
        ]
    ),
)
"""Kubernetes' named formats."""

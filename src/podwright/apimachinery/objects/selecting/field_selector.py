"""Field selectors, parsed from text.

Upstream: staging/src/k8s.io/apimachinery/pkg/fields/selector.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from podwright.apimachinery.objects.selecting.selector import SelectorError
from podwright.apimachinery.objects.texts.short_texts import cache_short


class FieldRequirement(msgspec.Struct, frozen=True, gc=False):
    """One field that must, or must not, have one value; an absent field is empty."""

    field: str
    value: str
    is_negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields satisfy the condition."""
        return (fields.get(self.field, "") == self.value) != self.is_negated


class FieldSelector(msgspec.Struct, frozen=True, gc=False):
    """Conditions on fields that must all hold."""

    requirements: tuple[FieldRequirement, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields satisfy all conditions."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    @property
    def is_empty(self) -> bool:
        """Whether it restricts nothing."""
        return not self.requirements


_FIELD_TERM = re.compile(r"(?:[^\\,]|\\.|\\$)+", re.DOTALL)
_FIELD_OPERATOR = re.compile(r"!=|==|=")
_ESCAPE = re.compile(r"\\(.?)|([,=])", re.DOTALL)


@cache_short(maxsize=1_024)
def parse_field_selector(text: str) -> FieldSelector:
    r"""Read a field selector: `spec.nodeName=n1,status.phase!=Running`.

    A backslash escapes `,`, `=` and itself in a value.

    Raises
    ------
    SelectorError
        With upstream's text.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/fields/selector.go, ParseSelector
    """
    requirements = []
    for term in _FIELD_TERM.findall(text):
        operator = _FIELD_OPERATOR.search(term)
        if operator is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        name = term[: operator.start()]
        value = _ESCAPE.sub(_unescape, term[operator.end() :])
        if name or value:  # Upstream: Transform selects everything by a term without both.
            requirements.append(FieldRequirement(name, value, operator[0] == "!="))
    return FieldSelector(tuple(requirements))


def _unescape(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    if escaped is None:
        raise SelectorError(
            f"invalid field selector: unescaped character in value: {ord(match[2])}"
        )
    if escaped not in {"\\", ",", "="}:
        raise SelectorError(f"invalid field selector: invalid escape sequence: {match[0]}")
    return escaped

"""Node selectors and preferred node selector terms, compiled.

Upstream:
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go

Notes
-----
Upstream: staging/src/k8s.io/apimachinery/pkg/fields/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from podwright.apimachinery.objects.pods.pod import PreferredSchedulingTerm
from podwright.apimachinery.objects.selecting.node_selector import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from podwright.apimachinery.objects.selecting.selector import (
    EVERYTHING,
    Labels,
    Selector,
    SelectorError,
    checked_requirement,
    raise_errors,
    selector_of,
    shown,
)
from podwright.apimachinery.objects.texts.short_texts import cache_short

NODE_NAME_FIELD = "metadata.name"
"""The only field that `matchFields` of a node selector supports."""


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One compiled term of a node selector.

    Attributes
    ----------
    labels : Selector
        Conditions on the node's labels.
    fields : tuple of FieldRequirement
        Conditions on the node's name.
    errors : tuple of str
        The errors of the term; a term with errors matches nothing.
    """

    labels: Selector = EVERYTHING
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether a node of that name with those labels satisfies the term."""
        if self.errors or not self.labels.matches(labels):
            return False
        # Upstream checks no fields of a node without a name (nodeaffinity.go, match).
        if not self.fields or not name:
            return True
        fields = {NODE_NAME_FIELD: name}
        return all(requirement.matches(fields) for requirement in self.fields)


class NodeTerms(msgspec.Struct, frozen=True, gc=False):
    """Compiled terms of which one must hold; empty terms match nothing and are omitted."""

    terms: tuple[NodeTerm, ...] = ()

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether a node of that name with those labels satisfies a term."""
        return any(term.matches(name, labels) for term in self.terms)

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of all terms."""
        return tuple(error for term in self.terms for error in term.errors)


def node_selector(selector: NodeSelector) -> NodeTerms:
    """Compile a node selector; invalid terms match nothing and have `errors`.

    Notes
    -----
    Upstream: nodeaffinity.go, NewLazyErrorNodeSelector
    """
    return NodeTerms(
        tuple(
            _node_term(term, f"nodeSelectorTerms[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


def preferred_node_terms(
    terms: Sequence[PreferredSchedulingTerm],
) -> tuple[tuple[int, NodeTerm], ...]:
    """Compile preferred terms to (weight, term); terms that are empty or have weight 0 are omitted.

    Raises
    ------
    SelectorError
        A term is invalid, with upstream's text.

    Notes
    -----
    Upstream: nodeaffinity.go, NewPreferredSchedulingTerms
    """
    compiled = tuple(
        (term.weight, _node_term(term.preference, f"[{index}]"))
        for index, term in enumerate(terms)
        if term.weight and not _is_empty(term.preference)
    )
    raise_errors([error for _, term in compiled for error in term.errors])
    return compiled


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _node_term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    errors: list[str] = []
    expressions = f"{path}.matchExpressions"
    labels = selector_of(
        [
            checked_requirement(e.key, e.operator, e.values, f"{expressions}[{index}]", errors)
            for index, e in enumerate(term.match_expressions)
        ]
    )
    fields = tuple(
        _field_requirement(expression, f"{path}.matchFields[{index}]", errors)
        for index, expression in enumerate(term.match_fields)
    )
    return NodeTerm(labels, fields, tuple(errors))


def _field_requirement(
    expression: NodeSelectorRequirement, path: str, errors: list[str]
) -> FieldRequirement:
    if expression.operator not in {"In", "NotIn"}:
        errors.append(
            f'{path}.operator: Unsupported value: "{expression.operator}": '
            'supported values: "In", "NotIn"'
        )
    elif len(expression.values) != 1:
        text = shown(expression.values)
        errors.append(f"{path}.values: Invalid value: {text}: must have one element")
    value = expression.values[0] if expression.values else ""
    return FieldRequirement(expression.key, value, expression.operator == "NotIn")


# Field selectors, parsed from text.


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

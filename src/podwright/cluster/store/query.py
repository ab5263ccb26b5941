"""The compiled conditions of a list or a watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    EVERYTHING,
    FieldSelector,
    KubernetesObject,
    Labels,
    Requirement,
    Selector,
)
from podwright.cluster.store.encodings import FieldTest, field_tests
from podwright.cluster.store.errors import GroupKind

NO_FIELDS = FieldSelector()

_FEW: Final = 8
"""Up to so many conditions and values on labels are tested one after the other."""


class Query(msgspec.Struct, frozen=True, gc=False):
    """Conditions that must all hold.

    Attributes
    ----------
    namespace : str or None
        The namespace; None for all.
    labels : Selector
        The conditions on labels.
    labels_match : callable
        The same conditions, compiled.
    fields : FieldSelector
        The conditions on fields of the kind.
    tests : tuple of FieldTest
        The same conditions on fields, compiled.
    owner_uid : str or None
        The uid of an owner.
    has_conditions : bool
        Whether there are conditions besides the namespace.
    """

    namespace: str | None
    labels: Selector
    labels_match: Callable[[Labels], bool]
    fields: FieldSelector
    tests: tuple[FieldTest, ...]
    owner_uid: str | None
    has_conditions: bool

    @property
    def is_empty(self) -> bool:
        """Whether there are no conditions at all."""
        return not self.has_conditions and self.namespace is None

    def matches(self, obj: KubernetesObject) -> bool:
        """Whether an object satisfies all conditions."""
        metadata = obj.metadata
        if self.namespace is not None and metadata.namespace != self.namespace:
            return False
        for getter, required, excluded in self.tests:
            value = getter(obj)
            if value in excluded or (required is not None and value not in required):
                return False
        if not self.labels.is_empty and not self.labels_match(metadata.labels):
            return False
        return self.owner_uid is None or any(
            owner.uid == self.owner_uid for owner in metadata.owner_references
        )


def query_for(
    kind: GroupKind | None,
    *,
    namespace: str | None = None,
    labels: Selector = EVERYTHING,
    fields: FieldSelector = NO_FIELDS,
    owner_uid: str | None = None,
) -> Query:
    """Compile conditions for a kind, or for all kinds (None).

    Raises
    ------
    SelectorError
        The kind does not support a field.
    """
    has_conditions = owner_uid is not None or not (labels.is_empty and fields.is_empty)
    return Query(
        namespace,
        labels,
        _compiled(labels),
        fields,
        field_tests(kind or ("", ""), fields),
        owner_uid,
        has_conditions,
    )


class _ValueTest(NamedTuple):
    """The conditions on a label that is there."""

    required: frozenset[str] | None
    excluded: frozenset[str]
    others: tuple[Requirement, ...]

    def passes(self, key: str, value: str) -> bool:
        """Whether a value satisfies the conditions."""
        if value in self.excluded or (self.required is not None and value not in self.required):
            return False
        return all(other.matches({key: value}) for other in self.others)


def _compiled(selector: Selector) -> Callable[[Labels], bool]:
    """Return a test of labels whose cost is that of the labels, however many the conditions are."""
    requirements = selector.requirements
    count = sum([1 + len(requirement.values) for requirement in requirements])
    if selector.is_nothing or count <= 2 * _FEW:
        return selector.matches
    of_key: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        of_key.setdefault(requirement.key, []).append(requirement)
    absent_passes = ("NotIn", "DoesNotExist")
    needed = {each.key for each in requirements if each.operator not in absent_passes}
    # Of the labels that objects have, which may be few of those with conditions.
    tests: dict[str, _ValueTest] = {}

    def matches(labels: Labels) -> bool:
        if len(needed) > len(labels) or not needed <= labels.keys():
            return False
        for key, value in labels.items():
            if key not in of_key:
                continue
            if key not in tests:
                tests[key] = _value_test(of_key[key])
            if not tests[key].passes(key, value):
                return False
        return True

    return matches


def _value_test(requirements: list[Requirement]) -> _ValueTest:
    required = [frozenset(each.values) for each in requirements if each.operator == "In"]
    excluded = [each.values for each in requirements if each.operator == "NotIn"]
    return _ValueTest(
        frozenset.intersection(*required) if required else None,
        frozenset().union(*excluded),
        tuple(each for each in requirements if each.operator not in ("In", "NotIn", "Exists")),
    )

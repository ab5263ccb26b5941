"""The compiled conditions of a list or a watch."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import EVERYTHING, FieldSelector, KubernetesObject, Selector
from podwright.cluster.store.fields import FieldTest, field_tests
from podwright.cluster.store.kinds import GroupKind

NO_FIELDS = FieldSelector()


class Query(msgspec.Struct, frozen=True, gc=False):
    """Conditions that must all hold.

    Attributes
    ----------
    namespace : str or None
        The namespace; None for all.
    labels : Selector
        The conditions on labels.
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
        for getter, value, is_negated in self.tests:
            if (getter(obj) == value) == is_negated:
                return False
        if not self.labels.is_empty and not self.labels.matches(metadata.labels):
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
        fields,
        field_tests(kind or ("", ""), fields),
        owner_uid,
        has_conditions,
    )

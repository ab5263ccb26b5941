"""The common parts of objects: metadata, conditions, label selectors, and the document.

The structs follow `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go`: the same field
names in snake_case, lists as tuples, maps as dictionaries that must not be changed. An absent
string is `""` where Go has a string and `None` where Go has a pointer.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import msgspec

NamespacedName: TypeAlias = str
"""`namespace/name`; only the name for cluster-scoped kinds."""

SOURCE_UID: Final = "podwright.dev/source-uid"
"""The annotation of an object that is mirrored from another cluster: its uid there."""

QuantityText: TypeAlias = str | int | float
"""A quantity as in a document; `quantity.parse_quantity` parses it."""

ResourceList: TypeAlias = dict[str, QuantityText]
"""Resource name to quantity."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""A number in the range of Go's `int32`."""

LabelSelectorOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]


class Struct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A part of an object: frozen, with Kubernetes' names, and never in a reference cycle."""


class OwnerReference(Struct, frozen=True, kw_only=True):
    """An owner of the object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, frozen=True, kw_only=True):
    """The `metadata` of an object; timestamps are RFC 3339 text."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def is_from_server(self) -> bool:
        """Whether an API server has stored the object; exports of kwokctl have no version."""
        return bool(self.uid and (self.resource_version or self.creation_timestamp))

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object (`metav1.GetControllerOf`)."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Condition(Struct, frozen=True, kw_only=True):
    """One entry of `status.conditions`, the same shape for every kind."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    observed_generation: int | None = None


class LabelSelectorRequirement(Struct, frozen=True):
    """One expression over labels."""

    key: str
    operator: LabelSelectorOperator
    values: tuple[str, ...] = ()


class LabelSelector(Struct, frozen=True):
    """Labels and expressions that must all hold; `selector.label_selector` compiles it."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class KubernetesObject(Struct, frozen=True, kw_only=True):
    """The base class of all objects.

    Attributes
    ----------
    metadata : ObjectMeta
        Names, labels, owners.
    raw : dict
        The whole document, including fields that podwright does not read; empty for an object
        that was built from structs. It must not be changed, because changed copies share its
        unchanged parts. Equality compares the typed fields and `raw`.
    """

    api_version: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    namespaced: ClassVar[bool] = True

    metadata: ObjectMeta = ObjectMeta()
    raw: dict[str, Any] = msgspec.field(default_factory=dict, name="$raw")

    def __repr__(self) -> str:
        return f"<{self.kind} {self.key}>"

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`; empty for cluster-scoped kinds."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.metadata.uid

    @property
    def key(self) -> NamespacedName:
        """`namespace/name`, or only the name for cluster-scoped kinds."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name

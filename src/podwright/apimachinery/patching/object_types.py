"""The kinds of objects whose fields have managers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright.apimachinery.objects import Document, api_group, facts_of
from podwright.apimachinery.patching.field_sets import LEAF, SELF, FieldSet, union, without
from podwright.apimachinery.patching.typed_values import difference_of, field_set, type_errors
from podwright.apimachinery.patching.value_types import (
    DEDUCED,
    ValueType,
    struct_type,
    structural_type,
    zero_struct,
)
from podwright.apimachinery.schema import Kind

T = TypeVar("T")

_MOST_SETS: Final = 256
_MOST_TEXT_BYTES: Final = 4 << 20
"""The most bytes of the contents whose sets are kept; a set takes some three times as many."""

_UNOWNED_NAMES: Final = frozenset({"apiVersion", "kind"})
_UNOWNED: Final = frozenset(f"f:{name}" for name in _UNOWNED_NAMES)
_UNOWNED_METADATA: Final = frozenset(
    {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
     "managedFields", "resourceVersion"}
)  # fmt: skip
"""The fields of the metadata without managers. Upstream:
staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go"""

_STATUS_RESETS: Final[Mapping[tuple[str, str], FieldSet]] = {
    ("", "Pod"): {"f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF}},
    ("apps", "Deployment"): {"f:metadata": {"f:labels": LEAF}},
    **{
        kind: {"f:metadata": LEAF}
        for kind in (
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
            ("apiregistration.k8s.io", "APIService"),
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
            ("internal.apiserver.k8s.io", "StorageVersion"),
            ("networking.k8s.io", "ServiceCIDR"),
            ("resource.k8s.io", "DeviceTaintRule"),
            ("resource.k8s.io", "ResourceClaim"),
            ("resource.k8s.io", "ResourcePoolStatusRequest"),
            ("scheduling.k8s.io", "PodGroup"),
            ("storage.k8s.io", "VolumeAttachment"),
            ("storagemigration.k8s.io", "StorageVersionMigration"),
        )
    },
}
"""What writes to `status` reset besides the spec. Upstream: pkg/registry/*/*/strategy.go,
GetResetFields"""

_RESETS: Final[Mapping[tuple[str, str], FieldSet]] = {
    ("CertificateSigningRequest", ""): {"f:spec": LEAF, "f:status": LEAF},
    ("CertificateSigningRequest", "approval"): {
        "f:spec": LEAF, "f:status": {"f:certificate": LEAF},
    },
    ("CertificateSigningRequest", "status"): {
        "f:spec": LEAF, "f:status": {"f:conditions": LEAF},
    },
}  # fmt: skip
"""What writes to other kinds and subresources reset, where it is not the spec or the status."""

_RESETS_NOTHING: Final = frozenset(
    {("Pod", "ephemeralcontainers"), ("Pod", "resize"), ("PodCertificateRequest", "")}
)
"""The kinds and subresources whose storage names no fields that it resets.

Upstream: pkg/registry/core/pod/storage/storage.go, EphemeralContainersREST and ResizeREST, whose
strategies do; pkg/registry/certificates/podcertificaterequest/storage/storage.go
"""


class _Results(dict[tuple[str, bytes], T]):
    """The results for contents, by a name and the JSON of the content."""

    _text_bytes = 0

    def keep(self, key: tuple[str, bytes], result: T) -> T:
        """Keep a result, and return it."""
        self._text_bytes += len(key[1])
        if len(self) >= _MOST_SETS or self._text_bytes > _MOST_TEXT_BYTES:
            self.clear()
            self._text_bytes = len(key[1])
        self[key] = result
        return result


class ObjectType:
    """The type of the objects of one kind in one version.

    Parameters
    ----------
    api_version, kind : str
    root : ValueType
        The type of the whole object.
    empty : dict
        An object without values, as Go writes it.
    is_custom : bool
        Whether it is a custom resource.
    has_status : bool
        Whether `status` is a subresource.
    """

    def __init__(
        self,
        api_version: str,
        kind: str,
        root: ValueType,
        *,
        empty: Document | None = None,
        is_custom: bool = False,
        has_status: bool = False,
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self.root = root
        self.empty: Document = empty or {}
        self.is_custom = is_custom
        self.has_status = has_status
        self._applied_sets: _Results[tuple[FieldSet, list[str]]] = _Results()

    @property
    def gvk(self) -> str:
        """The kind as messages name it: `apps/v1, Kind=Deployment`."""
        return gvk_text(self.api_version, self.kind)

    def completed(self, document: Document) -> Document:
        """Return a document with the top-level fields that Go always writes."""
        if self.empty.keys() <= document.keys():
            return document
        return {**self.empty, **document}

    # ------------------------------------------------------------------------ resets

    def tracked(self, found: FieldSet, subresource: str) -> FieldSet:
        """Return the fields of a set that a write to a subresource does not reset."""
        return without(found, self._resets(subresource))

    def _resets(self, subresource: str) -> FieldSet:
        if (self.kind, subresource) in _RESETS_NOTHING and not self.is_custom:
            return LEAF
        if not self.is_custom and (own := _RESETS.get((self.kind, subresource))):
            return own
        if subresource != "status":
            return {"f:status": LEAF} if self.has_status else LEAF
        if self.is_custom:
            # Upstream: apiextensions-apiserver, status_strategy.go
            return {"f:metadata": LEAF, "f:spec": LEAF}
        extra = _STATUS_RESETS.get((api_group(self.api_version), self.kind), LEAF)
        return {"f:spec": LEAF, **extra}

    # ------------------------------------------------------------------------ field sets

    def applied_fields(self, configuration: Document) -> tuple[FieldSet, list[str]]:
        """Return the fields that a configuration sets, and its type errors.

        Specs of equal content share the result.
        """
        found: FieldSet = {}
        errors: list[str] = []
        for name in sorted(configuration):
            value = configuration[name]
            child = self._top_level(name)
            if child is None:
                errors.append(f".{name}: field not declared in schema")
                continue
            if name != "spec" or not isinstance(value, dict):
                inside, wrong = self._applied(value, child, name)
            else:
                key = (name, msgspec.json.encode(value))
                known = self._applied_sets.get(key)
                if known is None:
                    known = self._applied_sets.keep(key, self._applied(value, child, name))
                inside, wrong = known
            found |= inside
            errors += wrong
        return found, errors

    def created_fields(self, document: Document, subresource: str = "") -> FieldSet:
        """Return the fields that the creation of an object sets.

        These are the differences from an object without values. Objects with one spec share those
        of the spec.
        """
        resets = self._resets(subresource)
        content = {
            name: value
            for name, value in self.completed(document).items()
            if name not in _UNOWNED_NAMES and resets.get(f"f:{name}") is not LEAF
        }
        metadata = document.get("metadata")
        if isinstance(metadata, dict):
            content["metadata"] = {
                key: value for key, value in metadata.items() if key not in _UNOWNED_METADATA
            }
        facts, of_spec = facts_of(content.get("spec")), LEAF
        if facts is not None:
            spec = content.pop("spec")
            if self not in facts:
                facts[self] = difference_of(self.empty, {"spec": spec}, self.root).changed
            of_spec = facts[self]
        found = union(difference_of(self.empty, content, self.root).changed, of_spec)
        return owned(self.tracked(found, subresource))

    def _applied(self, value: object, of: ValueType, name: str) -> tuple[FieldSet, list[str]]:
        errors = type_errors(value, of, f".{name}")
        return (LEAF if errors else field_set({name: value}, self.root)), errors

    def _top_level(self, name: str) -> ValueType | None:
        if self.root.form == "deduced":
            return self.root
        return self.root.fields.get(name) or self.root.element


def owned(found: FieldSet) -> FieldSet:
    """Return the fields of a set that can have managers."""
    metadata = found.get("f:metadata")
    if metadata is None and not any(name in found for name in _UNOWNED):
        return found
    kept = {key: node for key, node in found.items() if key not in _UNOWNED}
    if metadata is not None:
        inside = {
            key: node
            for key, node in metadata.items()
            if key != SELF and (node or key[2:] not in _UNOWNED_METADATA)
        }
        if inside:
            kept["f:metadata"] = inside
        else:
            del kept["f:metadata"]
    return kept


def gvk_text(api_version: str, kind: str) -> str:
    """Return a group, version and kind as Go prints them."""
    group, slash, version = api_version.rpartition("/")
    return f"{group if slash else ''}/{version}, Kind={kind}"


@cache
def object_type(kind: Kind) -> ObjectType:
    """Return the type of the objects of a built-in kind."""
    return ObjectType(
        kind.api_version,
        kind.row.kind,
        struct_type(kind.row.type),
        empty=zero_struct(kind.row.type),
        has_status=kind.has_status,
    )


def custom_object_type(
    api_version: str, kind: str, schema: Mapping[str, Any] | None, *, has_status: bool = False
) -> ObjectType:
    """Return the type of the objects of a custom resource.

    Parameters
    ----------
    api_version, kind : str
    schema : mapping or None
        `openAPIV3Schema` of the version. Without one, lists are atomic and maps are not.
    has_status : bool
        Whether the resource has the subresource `status`.
    """
    root = DEDUCED if schema is None else structural_type(schema)
    return ObjectType(api_version, kind, root, is_custom=True, has_status=has_status)


Convert: TypeAlias = Callable[[Document, str], "tuple[Document, ObjectType] | None"]
"""Converts an object to another version of its kind; None if there is no such version."""

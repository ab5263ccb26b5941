"""The resources that a server has: how a path finds the kind, and how its objects are stored.

A kind that several versions serve is stored once: the objects of the other versions are converted.
Custom resources are added and removed while the server runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final, Protocol

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching import ObjectType, object_type
from podwright.apimachinery.schema import Kind, KindRow, Problem, built_in
from podwright.apimachinery.schema.structural import CustomKind, ScalePaths, with_go_numbers
from podwright.cluster.api.versions.conversions import (
    EMPTY,
    ROUND_TRIPS,
    conversion_of,
    conversion_problem,
)
from podwright.cluster.store import GroupKind

DEFAULT_GROUP_VERSIONS: Final = (
    "v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "events.k8s.io/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v2",
    "autoscaling/v1",
    "batch/v1",
    "certificates.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "storage.k8s.io/v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "coordination.k8s.io/v1",
    "node.k8s.io/v1",
    "discovery.k8s.io/v1",
    "resource.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
)
"""The group versions that kube-apiserver 1.36 serves by default, in the order of discovery."""

GATED_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterTrustBundle": (
        "certificates.k8s.io/v1beta1/clustertrustbundles",
        "certificates.k8s.io/v1alpha1/clustertrustbundles",
    ),
    "CoordinatedLeaderElection": (
        "coordination.k8s.io/v1beta1/leasecandidates",
        "coordination.k8s.io/v1alpha2/leasecandidates",
    ),
    "DRADeviceTaintRules": (
        "resource.k8s.io/v1beta2/devicetaintrules",
        "resource.k8s.io/v1alpha3/devicetaintrules",
    ),
    "DRAResourcePoolStatus": ("resource.k8s.io/v1alpha3/resourcepoolstatusrequests",),
    "GenericWorkload": (
        "scheduling.k8s.io/v1alpha2/podgroups",
        "scheduling.k8s.io/v1alpha2/workloads",
    ),
    "PodCertificateRequest": ("certificates.k8s.io/v1beta1/podcertificaterequests",),
    "StorageVersionAPI": ("internal.apiserver.k8s.io/v1alpha1/storageversions",),
    "StorageVersionMigrator": ("storagemigration.k8s.io/v1beta1/storageversionmigrations",),
}
"""By feature gate, off by default, the resources that are served if it is on.

kube-apiserver also requires their versions in `--runtime-config`.

Upstream: pkg/registry/{apiserverinternal,certificates,coordination,resource,scheduling,
storagemigration}/rest/storage_*.go
"""

METRICS_VERSIONS: Final = ("metrics.k8s.io/v1beta1",)
"""What a metrics server serves beside kube-apiserver."""


class ObjectKind(Protocol):
    """What a server needs to know about a kind; `schema.Kind` has it for the built-in ones."""

    @property
    def row(self) -> KindRow:
        """The facts of the kind."""

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""

    def decoding_problems(self, document: Document) -> list[Problem]:
        """Return every unknown field and every value of a wrong type."""

    def go_form(self, document: Document, like: Document | None = None) -> Document:
        """Return the document as it is stored; the other one may have parts in that form."""

    def with_defaults(self, document: Document) -> Document:
        """Return the document with defaults."""

    def validation_problems(self, document: Document) -> list[Problem]:
        """Return what is wrong with a new object, except its metadata."""

    def update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with a changed object."""

    def status_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with a changed status, metadata included."""

    def cells(self, document: Document, now_ns: int) -> list[Any]:
        """Return the cells of an object in its table."""

    def metadata_update_problems(self, new: Document, old: Document) -> list[Problem]:
        """Return what is wrong with an object whose metadata changed."""


Conversion = Callable[[Document], Document]


class Resource(msgspec.Struct, frozen=True, kw_only=True, dict=True, eq=False):
    """A resource of one group version.

    Attributes
    ----------
    kind : ObjectKind
        The kind of its objects in this version.
    storage : GroupKind
        The kind under which the store keeps them.
    storage_kind : ObjectKind
        The kind in the stored version.
    to_storage, from_storage : callable, optional
        The conversions between the two; None if they are the same.
    is_custom : bool
        Whether a CustomResourceDefinition defines it.
    custom_type : ObjectType, optional
        The type of the objects of a custom resource for server-side apply.
    is_terminating : bool
        Whether its definition is being deleted, so that nothing can be created.
    warnings : tuple of str
        The warnings of every request, such as that the version is deprecated.
    scale_paths : ScalePaths, optional
        Where a custom resource with the subresource `scale` has its replicas.
    scale_replicas : mapping
        By `apiVersion`, the names of the fields down to the replicas in each version.
    """

    kind: ObjectKind
    storage: GroupKind
    storage_kind: ObjectKind
    to_storage: Conversion | None = None
    from_storage: Conversion | None = None
    is_custom: bool = False
    custom_type: ObjectType | None = None
    is_terminating: bool = False
    warnings: tuple[str, ...] = ()
    scale_paths: ScalePaths | None = None
    scale_replicas: Mapping[str, tuple[str, ...]] = {}

    @cached_property
    def group(self) -> str:
        """The API group."""
        return self.kind.row.group

    @cached_property
    def error_group(self) -> str:
        """The group that errors of validation name: that of the stored version."""
        return self.storage_kind.row.group

    @cached_property
    def version(self) -> str:
        """The version."""
        return self.kind.row.version

    @cached_property
    def plural(self) -> str:
        """The name in URLs."""
        return self.kind.row.resource

    @cached_property
    def name(self) -> str:
        """The kind, such as `Pod`."""
        return self.kind.row.kind

    @cached_property
    def namespaced(self) -> bool:
        """Whether the objects are in namespaces."""
        return self.kind.row.namespaced

    @property
    def list_kind(self) -> str:
        """The kind of a list."""
        return self.kind.list_kind if isinstance(self.kind, CustomKind) else f"{self.name}List"

    @cached_property
    def object_type(self) -> ObjectType:
        """The type of the objects for server-side apply."""
        if self.custom_type is not None:
            return self.custom_type
        assert isinstance(self.kind, Kind), f"{self.name} has no type for apply"
        return object_type(self.kind)

    def conversion_problem(self, document: Document) -> str:
        """Return why a document whose types are right cannot be converted; "" if it can."""
        return conversion_problem((self.group, self.name), document)

    def completed(self, document: Document) -> Document:
        """Return a document whose types are right in Go's form and with defaults."""
        kind = self.kind
        document = document if self.is_custom else with_reset_owners(document)
        fix = ROUND_TRIPS.get((self.group, self.name))
        facts = kind.facts_of(document) if isinstance(kind, Kind) else None
        known = None if facts is None else facts.get("completed")
        if known is not None:
            made = kind.go_form(document if known is True else document | {"spec": known})
            return made if fix is None else fix(made)
        formed = kind.go_form(document)
        made = kind.with_defaults(formed)
        made = made if made is formed else kind.go_form(made)
        made = made if fix is None else fix(made)
        if facts is not None and isinstance(kind, Kind):
            made = kind.with_shared_spec(made)
            spec = made.get("spec")
            # A spec does not keep itself.
            facts["completed"] = spec is document["spec"] or spec or {}
        return made

    def bookmark(self, metadata: Document) -> Document:
        """Return the object of a bookmark, which is empty but for its metadata."""
        kind = self.kind
        empty = {"kind": kind.row.kind, "apiVersion": kind.api_version, "metadata": metadata}
        made = kind.go_form(empty)
        fix = EMPTY.get((self.group, self.name))
        return made if fix is None else fix(made)

    def as_stored(self, document: Document) -> Document:
        """Return a valid document as upstream's storage gives it back."""
        return self.kind.as_stored(document) if isinstance(self.kind, Kind) else document

    def served(self, document: Document) -> Document:
        """Return a stored document in this version."""
        return document if self.from_storage is None else self.from_storage(document)

    def stored(self, document: Document) -> Document:
        """Return a document of this version in the stored version."""
        if self.to_storage is not None:
            document = self.to_storage(document)
        return with_go_numbers(document) if self.is_custom else document


class Resources:
    """All resources of a server.

    Parameters
    ----------
    group_versions : iterable of str
        The served group versions, in the order of discovery; or single resources of them, such as
        ``resource.k8s.io/v1beta2/devicetaintrules``, as in `--runtime-config` of kube-apiserver.

    Attributes
    ----------
    revision : int
        Counts the changes, for documents that are made from the resources.
    """

    def __init__(self, group_versions: Iterable[str] = DEFAULT_GROUP_VERSIONS) -> None:
        names = list(group_versions)
        of_one = {name for name in names if name.count("/") == 2}
        of_versions = (name.rpartition("/")[0] if name in of_one else name for name in names)
        self.group_versions = list(dict.fromkeys(of_versions))
        self.revision = 0
        self._found: dict[tuple[str, str, str], Resource] = {}
        for kind in built_in():
            plural = kind.row.resource
            if plural and (kind.api_version in names or f"{kind.api_version}/{plural}" in of_one):
                self.add(built_in_resource(kind))

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._found.values())

    def add(self, resource: Resource) -> None:
        """Serve a resource."""
        row = resource.kind.row
        self._found[row.group, row.version, row.resource] = resource
        self.revision += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        """Stop serving a resource."""
        self._found.pop((group, version, plural), None)
        self.revision += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return a resource; None if the version does not serve it."""
        return self._found.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        """Whether any version of a group is served."""
        return any(key[0] == group for key in self._found)

    def is_built_in(self, group: str) -> bool:
        """Whether a group has resources that no definition defines."""
        return any(key[0] == group and not each.is_custom for key, each in self._found.items())

    def has_version(self, group: str, version: str) -> bool:
        """Whether a version of a group is served."""
        return any(key[:2] == (group, version) for key in self._found)

    def of_storage(self, storage: GroupKind) -> Resource | None:
        """Return a resource by the kind under which its objects are stored."""
        return next((each for each in self._found.values() if each.storage == storage), None)


def built_in_resource(kind: Kind) -> Resource:
    """Return the resource of a built-in kind."""
    found = conversion_of(kind)
    row = kind.row
    warnings: tuple[str, ...] = ()
    if row.deprecation:
        warnings = (f"{kind.api_version} {row.kind} is {row.deprecation}",)
    if found is None:
        return Resource(kind=kind, storage=kind.group_kind, storage_kind=kind, warnings=warnings)
    return Resource(
        kind=kind,
        warnings=warnings,
        storage=found.storage_kind.group_kind,
        storage_kind=found.storage_kind,
        to_storage=found.to_storage,
        from_storage=found.from_storage,
    )


def plural_of(kind: GroupKind) -> str:
    """Return the name of a kind in URLs; a custom kind has one by the rule that most follow."""
    known = built_in().of(*kind)
    return known.row.resource if known is not None else f"{kind[1].lower()}s"


@cache
def built_in_resources() -> Mapping[tuple[str, str], Resource]:
    """Return the resources of all built-in kinds, by `apiVersion` and kind."""
    return {
        (kind.api_version, kind.row.kind): built_in_resource(kind)
        for kind in built_in()
        if kind.row.resource
    }


def with_reset_owners(document: Document) -> Document:
    """Return an object in which empty `managedFields`, which Go's form omits, are one empty entry.

    Both remove the managed fields, except that a custom resource keeps them with an empty list.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go,
    isResetManagedFields
    """
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("managedFields") != []:
        return document
    return document | {"metadata": metadata | {"managedFields": [{}]}}

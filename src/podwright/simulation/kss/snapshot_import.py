"""The import of a snapshot into a served cluster, as requests to its API.

Every object is applied (server-side, with force). A new one keeps the status that it has in the
snapshot: pods that ran continue running, with their addresses and times. (The API server of
upstream drops the status of a pod, and no kubelet writes one there.)

Objects of a wave may be created in any order: namespaces first, then classes, without which a pod
or a claim is refused; volumes last, because a bound volume refers to the uid of its claim.

Upstream: kube-scheduler-simulator simulator/snapshot/snapshot.go, `Load`; kube-scheduler-simulator
simulator/snapshot/snapshot.go, simulator/resourcewatcher/resourcewatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    UNDECODABLE,
    Document,
    NamespacedName,
    PodwrightError,
    api_group,
)
from podwright.apimachinery.schema import Kind, built_in
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import GroupKind
from podwright.simulation.files import is_in_every_cluster, readable_configuration

# The kinds that kube-scheduler-simulator exports, imports and streams, and their requests.
#
# The simulator is a client of the Kubernetes API: what it reads and writes are requests to the API
# server of the cluster.

FIELD_MANAGER: Final = "simulator"


class SnapshotKind(msgspec.Struct, frozen=True):
    """One kind of object in a snapshot.

    Attributes
    ----------
    key : str
        Its list in a snapshot, such as `pvcs`.
    api_version, kind, resource : str
    is_namespaced : bool
    """

    key: str
    api_version: str
    kind: str
    resource: str
    is_namespaced: bool

    @property
    def collection(self) -> str:
        """The path of all objects of the kind."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        return f"{root}{self.api_version}/{self.resource}"

    @property
    def group_kind(self) -> GroupKind:
        """The kind in a store."""
        return api_group(self.api_version), self.kind

    def key_of(self, namespace: str, name: str) -> NamespacedName:
        """Return the key of an object."""
        return f"{namespace or 'default'}/{name}" if self.is_namespaced else name

    def path(self, namespace: str, name: str) -> str:
        """Return the path of an object."""
        if not self.is_namespaced:
            return f"{self.collection}/{name}"
        prefix = self.collection.removesuffix(self.resource)
        return f"{prefix}namespaces/{namespace or 'default'}/{self.resource}/{name}"


def snapshot_kinds() -> Mapping[str, SnapshotKind]:
    """Return the kinds by their keys, in the order in which they are created."""
    return {key: _kind(key, kind) for key, kind in built_in().snapshot_keys.items()}


def _kind(key: str, kind: Kind) -> SnapshotKind:
    row = kind.row
    return SnapshotKind(key, kind.api_version, row.kind, row.resource, row.namespaced)


def list_request(kind: SnapshotKind) -> HttpRequest:
    """Return the request for all objects of a kind."""
    return HttpRequest("GET", kind.collection)


def watch_request(kind: SnapshotKind, resource_version: str) -> HttpRequest:
    """Return the request for the changes of a kind since a version."""
    return HttpRequest("GET", kind.collection, f"watch=true&resourceVersion={resource_version}")


_APPLY: Final = (("fieldManager", FIELD_MANAGER), ("force", "true"))
_TRIED: Final = (("dryRun", "All"),)
PREPARING_WAVES: Final = 2
"""The first waves: nothing happens because of namespaces and classes alone."""
_NAMESPACES, _VOLUMES, _CLAIMS = "namespaces", "pvs", "pvcs"
_CLASSES = ("priorityClasses", "storageClasses")

_SET_BY_SERVER: Final = ("uid", "resourceVersion", "managedFields", "selfLink")
"""Fields of metadata that an imported object gets again."""


class UndecodableSnapshot(PodwrightError):  # noqa: N818 - named for what it is
    """A body that is not a snapshot."""


class SnapshotImport:
    """A snapshot that is imported.

    Parameters
    ----------
    body : bytes
        JSON. Keys may be missing or null.

    Raises
    ------
    UndecodableSnapshot

    Attributes
    ----------
    configuration : dict or None
        The KubeSchedulerConfiguration in its present version; None if the snapshot has none.
    warnings : tuple of str
        How it differs from the configuration in the snapshot, which may be older.
    unknown_keys : tuple of str
        Keys that a snapshot does not have, which are ignored.
    """

    def __init__(self, body: bytes) -> None:
        document = _mapping(_decoded(body), "the snapshot")
        kinds = snapshot_kinds()
        self.configuration: Document | None = None
        self.warnings: tuple[str, ...] = ()
        written = document.get("schedulerConfig")
        if written is not None:
            written = _mapping(written, "schedulerConfig")
            self.configuration, self.warnings = readable_configuration(written)
        self.unknown_keys = tuple(k for k in document if k not in kinds and k != "schedulerConfig")
        self._objects = {key: _objects(key, document.get(key)) for key in kinds}

    def waves(self) -> Iterator[Sequence[tuple[SnapshotKind, Document]]]:
        """Yield the objects that may be created side by side."""
        for keys in _waves():
            yield [
                (kind, _importable(kind, obj))
                for key, kind in keys.items()
                for obj in self._objects[key]
                if key == _NAMESPACES or not is_in_every_cluster(kind.kind, _name(obj))
            ]


def _waves() -> Sequence[Mapping[str, SnapshotKind]]:
    kinds = snapshot_kinds()
    early = (_NAMESPACES, *_CLASSES)
    rest = [key for key in kinds if key not in (*early, _VOLUMES)]
    return [
        {key: kinds[key] for key in keys} for keys in ((_NAMESPACES,), _CLASSES, rest, (_VOLUMES,))
    ]


def apply_request(
    kind: SnapshotKind, document: Document, *, is_dry_run: bool = False
) -> HttpRequest:
    """Return the request that creates or changes an object, or only tries to."""
    metadata = document["metadata"]
    path = kind.path(metadata.get("namespace") or "", _name(document))
    return HttpRequest(
        "PATCH",
        path,
        "&".join(f"{name}={value}" for name, value in (*_APPLY, *(_TRIED if is_dry_run else ()))),
        {"content-type": "application/apply-patch+yaml", "accept": "application/json"},
        msgspec.json.encode(document),
        is_restored=True,
    )


def claim_request(volume: Document) -> HttpRequest | None:
    """Return the request for the claim to which a volume is bound; None if it is not bound."""
    reference = _reference(volume)
    if reference is None or (volume.get("status") or {}).get("phase") != "Bound":
        return None
    kind = snapshot_kinds()[_CLAIMS]
    return HttpRequest("GET", kind.path(reference.get("namespace") or "", reference["name"]))


def with_claim(volume: Document, claim: Document | None) -> Document:
    """Return a bound volume that refers to the current claim; None if the claim is missing."""
    reference = dict(_reference(volume) or {})
    reference.pop("uid", None)
    if claim is not None:
        reference["uid"] = claim["metadata"]["uid"]
    return {**volume, "spec": {**volume["spec"], "claimRef": reference}}


def owners_of(document: Document) -> Sequence[Document]:
    """Return the owner references of an object."""
    references = document["metadata"].get("ownerReferences")
    if not isinstance(references, list):
        return ()  # The API server reports it.
    return [each for each in references if isinstance(each, dict)]


def without_owners(document: Document, removed: Sequence[Document]) -> Document:
    """Return an object without some of its owner references."""
    metadata = dict(document["metadata"])
    kept = [each for each in metadata.pop("ownerReferences") if each not in removed]
    if kept:
        metadata["ownerReferences"] = kept
    return {**document, "metadata": metadata}


def _reference(volume: Document) -> Document | None:
    spec = volume.get("spec")
    reference = spec.get("claimRef") if isinstance(spec, dict) else None
    return reference if isinstance(reference, dict) and reference.get("name") else None


def _importable(kind: SnapshotKind, obj: Document) -> Document:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _SET_BY_SERVER}
    return {**obj, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except UNDECODABLE as error:
        raise UndecodableSnapshot(f"the snapshot is not JSON: {error}") from error


def _mapping(value: Any, what: str) -> Document:
    if not isinstance(value, dict):
        raise UndecodableSnapshot(f"{what} is not an object")
    return value


def _objects(key: str, value: Any) -> list[Document]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UndecodableSnapshot(f"{key} is not a list")
    for index, obj in enumerate(value):
        metadata = _mapping(obj, f"{key}[{index}]").get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise UndecodableSnapshot(f"{key}[{index}].metadata.name is missing")
    return value


def _name(obj: Document) -> str:
    return str(obj["metadata"]["name"])

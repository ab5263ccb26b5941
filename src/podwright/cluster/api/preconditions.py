"""Preconditions of a write: the uid and the resourceVersion of the stored object.

The messages of some verbs have the key under which upstream stores the object in etcd.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete;
pkg/registry/core/namespace/storage/storage.go, Delete;
pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.rejections import Rejection, conflict
from podwright.cluster.api.versions.resources import Resource, plural_of
from podwright.cluster.store import Conflict, GroupKind, version_number


def check_body(
    kind: GroupKind, current: KubernetesObject, body: KubernetesObject, expected: int | None
) -> None:
    """Check the uid and the resourceVersion in the body of an update.

    An empty uid and a missing version always hold.

    Raises
    ------
    Conflict
        A precondition does not hold.
    """
    sent, stored = body.metadata, current.metadata
    if sent.uid and sent.uid != stored.uid:
        raise Conflict(kind, current.key, field="uid", expected=sent.uid, found=stored.uid)
    # The common case, a body made from the stored version, needs no parsing of the version.
    found, version = stored.resource_version, sent.resource_version
    if expected is not None:
        version = str(expected)
    elif version and version != found:
        version = str(version_number(version))
    if version and version != found:
        field = "resourceVersion"
        raise Conflict(kind, current.key, field=field, expected=version, found=found)


_WITH_PLAIN_TEXTS: Final = frozenset(
    {("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")}
)


def deletion_conflict(
    kind: GroupKind, current: KubernetesObject, options: DeleteOptions
) -> Rejection | None:
    """Return why an object may not be deleted by its uid and its version; None if it may."""
    if options.uid is None and options.resource_version is None:
        return None
    is_plain = kind in _WITH_PLAIN_TEXTS
    for field, sent, stored in (
        ("UID", options.uid, current.uid),
        ("ResourceVersion", options.resource_version, current.metadata.resource_version),
    ):
        if sent is None or sent == stored:
            continue
        if is_plain:
            text = (
                f"Precondition failed: {field} in precondition: {sent}, {field} in object meta:"
                f" {stored}"
            )
            return conflict(kind[0], plural_of(kind), current.name, text)
        changed = "deleted and then recreated" if field == "UID" else "modified"
        text = (
            f"the {field} in the precondition ({sent}) does not match the {field} in record"
            f" ({stored}). The object might have been {changed}"
        )
        return conflict(*kind, current.name, text)
    return None


_SPECIAL: Final = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("networking.k8s.io", "networkpolicies"): "networkpolicies",
}
_QUALIFIED: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})


def registry_key(resource: Resource, key: str) -> str:
    """Return the key of an object in etcd."""
    plural = _SPECIAL.get((resource.group, resource.plural), resource.plural)
    if resource.is_custom or resource.group in _QUALIFIED:
        plural = f"{resource.group}/{plural}"
    return f"/registry/{plural}/{key}"


def precondition_failed(
    resource: Resource, key: str, field: str, sent: str, stored: str, *, is_dry_run: bool = False
) -> str:
    """Return the message of a precondition that the stored object does not meet.

    A dry run does not reach etcd, whose keys start with `/registry`.
    """
    shown = registry_key(resource, key)
    if is_dry_run:
        shown = shown.removeprefix("/registry")
    return (
        f"StorageError: invalid object, Code: 4, Key: {shown},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {field} in precondition:"
        f" {sent}, {field} in object meta: {stored}"
    )

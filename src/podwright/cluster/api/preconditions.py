"""Preconditions of a write: the uid and the resourceVersion of the stored object.

The messages of some verbs have the key under which upstream stores the object in etcd.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete;
pkg/registry/core/namespace/storage/storage.go, Delete;
pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject, go_quoted, integer_error, parse_uint64
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.rejections import (
    MODIFIED,
    Rejection,
    bad_request,
    conflict,
    unclassified_error,
)
from podwright.cluster.api.versions.resources import Resource, plural_of
from podwright.cluster.store import GroupKind


def check_version(group: str, plural: str, name: str, sent: str, stored: str) -> None:
    """Check the `resourceVersion` in the body of an update; an empty one always holds.

    Raises
    ------
    Rejection
        It is not a number, or the object has another.
    """
    if not sent or sent == stored:
        return
    check_is_version(sent)
    if int(sent) not in (0, int(stored)):
        raise conflict(group, plural, name, MODIFIED)


def check_is_version(text: str) -> None:
    """Reject a `resourceVersion` that is not a number.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Update
    """
    if text and parse_uint64(text) is None:
        raise unclassified_error(integer_error("ParseUint", text))


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


def other_value(
    resource: Resource | GroupKind,
    key: str,
    field: str,
    sent: str,
    stored: str,
    *,
    is_dry_run: bool = False,
) -> Rejection:
    """Return the error of a precondition that the stored object does not meet.

    Parameters
    ----------
    resource : Resource or GroupKind
        The kind of a typed object is enough.
    key : str
        The object.
    field : str
        `UID` or `ResourceVersion`.
    sent, stored : str
        The value in the precondition and that of the object.
    is_dry_run : bool
        Whether the write does not reach etcd, whose keys start with `/registry`.
    """
    if isinstance(resource, tuple):
        group, plural, is_custom = (
            resource[0],
            plural_of(resource),
            built_in().of(*resource) is None,
        )
    else:
        group, plural, is_custom = resource.group, resource.plural, resource.is_custom
    place = _SPECIAL.get((group, plural), plural)
    if is_custom or group in _QUALIFIED:
        place = f"{group}/{place}"
    shown = f"/{place}/{key}" if is_dry_run else f"/registry/{place}/{key}"
    text = (
        f"StorageError: invalid object, Code: 4, Key: {shown},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {field} in precondition:"
        f" {sent}, {field} in object meta: {stored}"
    )
    return conflict(group, plural, key.rpartition("/")[2], text)


def check_path_segment(name: str) -> None:
    """Reject a name that no object can have, since its key would be another path.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/validation/path/name.go,
    IsValidPathSegmentName

    Raises
    ------
    Rejection
        The name is not valid.
    """
    problems = [f"may not be '{name}'"] if name in (".", "..") else []
    problems = problems or [f"may not contain '{each}'" for each in "/%" if each in name]
    if problems:
        raise bad_request(f"Name parameter invalid: {go_quoted(name)}: {';'.join(problems)}")

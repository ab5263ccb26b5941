"""The keys under which upstream stores objects in etcd; they occur in error messages.

Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes
"""

from __future__ import annotations

from typing import Final

from podwright.cluster.api.versions.resources import Resource

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

"""The documents of discovery, as data.

Groups and versions have the order of the server's set-up, then custom ones by name.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go;
staging/src/k8s.io/apiserver/pkg/endpoints/discovery;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go;
staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go,
SortedByGroupAndVersion; staging/src/k8s.io/apimachinery/pkg/version/helpers.go,
CompareKubeAwareVersionStrings
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cmp_to_key
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.cluster.api.versions.resources import Resource, Resources

_PROXY: Final = ("create", "delete", "get", "patch", "update")
_STREAM: Final = ("create", "get")
_CHANGE: Final = ("get", "patch", "update")
_SUBRESOURCE_VERBS: Final = {
    "approval": _CHANGE,
    "attach": _STREAM,
    "binding": ("create",),
    "ephemeralcontainers": _CHANGE,
    "eviction": ("create",),
    "exec": _STREAM,
    "finalize": ("update",),
    "log": ("get",),
    "portforward": _STREAM,
    "proxy": _PROXY,
    "resize": _CHANGE,
    "scale": _CHANGE,
    "status": _CHANGE,
    "token": ("create",),
}
_CUSTOM_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
"""The verbs of custom resources, in the order that upstream writes."""

_HASH_BYTES: Final = 8


def api_versions(server_address: str) -> Document:
    """Return the document at `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
        ],
    }


def api_group_list(groups: Groups) -> Document:
    """Return the document at `/apis`: every group but the core one."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, versions) for name, versions in groups.items() if name],
    }


def api_group(name: str, versions: Iterable[str]) -> Document:
    """Return the document at `/apis/GROUP`."""
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions)


def _group(name: str, versions: Iterable[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def api_resource_list(resources: Resources, group: str, version: str) -> Document:
    """Return the document at `/apis/GROUP/VERSION` or `/api/v1`."""
    listed = [
        part for each in resources_of(resources, group, version) for part in _with_parts(each)
    ]
    if not _is_custom(resources, group, version):
        listed.sort(key=lambda part: str(part["name"]))
    api_version = f"{group}/{version}" if group else version
    # The core group keeps a form of the first release, which has no version of its own.
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": api_version, "resources": listed}


def resources_of(resources: Resources, group: str, version: str) -> list[Resource]:
    """Return the resources of a version, by name."""
    found = [each for each in resources if (each.group, each.version) == (group, version)]
    return sorted(found, key=lambda each: each.plural)


def _is_custom(resources: Resources, group: str, version: str) -> bool:
    return any(each.is_custom for each in resources_of(resources, group, version))


def _with_parts(resource: Resource) -> Iterator[Document]:
    """Yield the entry of a resource, and those of its subresources."""
    row = resource.kind.row
    found: dict[str, Any] = {
        "name": row.resource,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": _verbs(resource),
    }
    if row.short_names:
        found["shortNames"] = list(row.short_names)
    if row.categories:
        found["categories"] = list(row.categories)
    if resource.is_custom or ("create" in row.verbs and "get" in row.verbs):
        found["storageVersionHash"] = storage_version_hash(resource)
    yield found
    for name, (group, version, kind) in _subresources(resource):
        where = {"group": group, "version": version} if version else {}
        yield {
            "name": f"{row.resource}/{name}",
            "singularName": "",
            "namespaced": row.namespaced,
            **where,
            "kind": kind,
            "verbs": list(_SUBRESOURCE_VERBS[name]),
        }


def _verbs(resource: Resource) -> list[str]:
    verbs = resource.kind.row.verbs
    if not resource.is_custom:
        return list(verbs)
    # Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
    # customresource_discovery_controller.go, sync
    dropped = ("patch", "create", "update") if resource.is_terminating else ()
    return [each for each in _CUSTOM_VERBS if each in verbs and each not in dropped]


def _subresources(resource: Resource) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the name of each subresource, and group, version and kind of its objects.

    Group and version are "" if they are those of the resource.
    """
    row = resource.kind.row
    # Upstream lists the subresources of a custom resource as status, scale.
    for name, where in sorted(row.subresources.items(), reverse=resource.is_custom):
        api_version, _, kind = where.rpartition("/")
        group, _, version = api_version.rpartition("/")
        yield name, (group, version, kind or row.kind)


_STORED_IN_BETA: Final = {
    "admissionregistration.k8s.io": "MutatingAdmission",
    "apiextensions.k8s.io": "",
}
"""By group, how the kinds begin that upstream stores in v1beta1."""


def storage_version_hash(resource: Resource) -> str:
    """Return a hash of the version in which the objects are stored."""
    row = resource.storage_kind.row
    start = _STORED_IN_BETA.get(row.group)
    version = row.version if start is None or not row.kind.startswith(start) else "v1beta1"
    text = f"{row.group}/{version}/{row.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES]).decode()


# ------------------------------------------------------------------------- aggregated


def aggregated(resources: Resources, groups: Groups, *, is_core: bool) -> Document:
    """Return all groups with their resources: the core group, or the others."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [_version(resources, name, version) for version in versions],
            }
            for name, versions in groups.items()
            if is_core != bool(name)
        ],
    }


def _version(resources: Resources, group: str, version: str) -> Document:
    return {
        "version": version,
        "resources": [_entry(each) for each in resources_of(resources, group, version)],
        "freshness": "Current",
    }


def _entry(resource: Resource) -> Document:
    row = resource.kind.row
    own = (row.group, row.version) if resource.is_custom else ("", "")
    found: dict[str, Any] = {
        "resource": row.resource,
        "responseKind": _kind(*own, row.kind),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": _verbs(resource),
    }
    if row.short_names:
        found["shortNames"] = list(row.short_names)
    if row.categories:
        found["categories"] = list(row.categories)
    parts = [
        {
            "subresource": name,
            "responseKind": _kind(*(where if where[1] else (*own, where[2]))),
            "verbs": list(_SUBRESOURCE_VERBS[name]),
        }
        for name, where in _subresources(resource)
    ]
    if parts:
        found["subresources"] = parts
    return found


def _kind(group: str, version: str, kind: str) -> Document:
    return {"group": group, "version": version, "kind": kind}


# --------------------------------------------------------------------- order of groups and versions

Groups: TypeAlias = dict[str, list[str]]
"""The versions of each group, the preferred one first."""

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {None: 2, "beta": 1, "alpha": 0}


def groups_of(resources: Resources, *, is_aggregated: bool = False) -> Groups:
    """Return the groups that have resources, in the order of discovery.

    Parameters
    ----------
    resources : Resources
        The served resources.
    is_aggregated : bool
        Whether custom groups are in the order of the aggregated documents: by name. The others
        order them by their first API service, such as `v1.example.com`.
    """
    served = {(each.group, each.version) for each in resources}
    found: Groups = {}
    for api_version in resources.group_versions:
        group, _, version = api_version.rpartition("/")
        if (group, version) in served:
            found.setdefault(group, []).append(version)
            served.discard((group, version))
    custom: Groups = {}
    for group, version in sorted(served):
        (found if group in found else custom).setdefault(group, []).append(version)
    for versions in custom.values():
        versions.sort(key=version_order)

    def place(group: str) -> str:
        return group if is_aggregated else min(f"{each}.{group}" for each in custom[group])

    return found | {group: custom[group] for group in sorted(custom, key=place)}


def _compare(one: str, other: str) -> int:
    """Return a negative number if a version comes first: v2, v1, v1beta1, v1alpha1, then others."""
    left, right = _VERSION.fullmatch(one), _VERSION.fullmatch(other)
    if left is None or right is None:
        if left is None and right is None:
            return (one > other) - (one < other)
        return 1 if left is None else -1
    first, second = _rank(left), _rank(right)
    return (first < second) - (first > second)


def _rank(found: re.Match[str]) -> tuple[int, int, int]:
    return _STABILITY[found[2]], int(found[1]), int(found[3] or 0)


version_order = cmp_to_key(_compare)
"""The sort key of versions, the preferred one first."""

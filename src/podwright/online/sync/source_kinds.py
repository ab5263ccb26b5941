"""The kinds that a source serves, those of them that are read, and their order.

Upstream: kube-scheduler-simulator simulator/oneshotimporter/importer.go, `DefaultGVRs`;
staging/src/k8s.io/client-go/discovery/discovery_client.go, `ServerPreferredResources`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    CoschedulingPodGroup,
    FieldError,
    InputError,
    KubernetesObject,
    PodGroup,
    api_group,
    nearest,
    quoted,
)
from podwright.apimachinery.schema import Kind, built_in
from podwright.cluster.api import conversion_of
from podwright.online.client.cluster import ReadConnection, RejectedRequest

_REQUIRED: Final = (
    "namespaces", "priorityclasses", "storageclasses", "persistentvolumeclaims", "nodes",
    "persistentvolumes", "pods",
)  # fmt: skip
"""What kube-scheduler-simulator imports, in its order: an object follows what it refers to."""

_MOST_LISTED: Final = 30
_LISTED_ELSEWHERE: Final = "kubectl api-resources lists those of the cluster"

_OPTIONAL: Final = (
    "runtimeclasses", "csidrivers", "csinodes", "csistoragecapacities", "poddisruptionbudgets",
    "deviceclasses", "resourceslices", "resourceclaimtemplates", "resourceclaims",
)  # fmt: skip
"""What decisions depend on besides. A cluster that does not serve one of them is complete."""

_WORKLOADS: Final = ("services", "replicationcontrollers", "replicasets", "statefulsets")
"""What the default spreading of pods depends on. Records have them; a sync only reads them."""

_TOP_OWNERS: Final = ("deployments", "daemonsets", "cronjobs", "jobs")
"""The other owners of pods. No decision depends on them: a person changes their templates."""


class SourceKind(msgspec.Struct, frozen=True):
    """A kind of object that is read.

    Attributes
    ----------
    api_version, kind, resource : str
    is_namespaced : bool
    is_required : bool
        Whether a server that does not serve it is an error.
    names : sequence of str
        Of the objects that are read; none for all.
    """

    api_version: str
    kind: str
    resource: str
    is_namespaced: bool
    is_required: bool
    names: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The resource, with its group if it is defined by a CustomResourceDefinition."""
        return self.definition or self.resource

    @property
    def definition(self) -> str:
        """The name of the CustomResourceDefinition; "" for a kind that servers know."""
        if built_in().find(self.api_version, self.kind) is not None:
            return ""
        return f"{self.resource}.{self.api_version.partition('/')[0]}"

    @property
    def is_group(self) -> bool:
        """Whether it is a group of pods, which few servers have."""
        return self.resource == "podgroups"

    @property
    def is_workload(self) -> bool:
        """Whether it is a Service, or an owner of pods."""
        return self.resource in _WORKLOADS

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of a collection, or of an object."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        within = f"namespaces/{namespace}/" if namespace and self.is_namespaced else ""
        path = f"{root}{self.api_version}/{within}{self.resource}"
        return f"{path}/{name}" if name else path


DEFINITIONS: Final = "customresourcedefinitions"


def source_kinds(names: Sequence[str] = (), *, has_workloads: bool = False) -> Sequence[SourceKind]:
    """Return the kinds in the order in which they are read and created; pods are last.

    Parameters
    ----------
    names : sequence of str
        Resources or their short names, in any order; none for all.
    has_workloads : bool
        Whether Services and the owners of pods are among them.

    Raises
    ------
    InputError
        With the names that are not kinds of these.
    """
    workloads = _WORKLOADS if has_workloads else ()
    ordered = (*_REQUIRED[:-1], *_OPTIONAL, *workloads, _REQUIRED[-1])
    return _chosen({name: _source_kind(name) for name in ordered}, names)


def mirrored_kinds(names: Sequence[str], served: Sequence[SourceKind]) -> Sequence[SourceKind]:
    """Return the kinds that a sync mirrors or reads, in the order in which they are created.

    Custom kinds follow their definitions, and precede the pods, whose groups they may be.

    Parameters
    ----------
    names : sequence of str
        Resources, with their group if several have them, or short names of built-in kinds. None
        for those that decisions depend on, and the groups of pods that the source has.
    served : sequence of SourceKind
        All kinds of the source.

    Raises
    ------
    InputError
        With the names that are not kinds of these.
    """
    *others, pods = source_kinds(has_workloads=True)
    known = {kind.resource: kind for kind in (*others, pods)}
    groups = {
        _name_of_group(kind): _optional(kind)
        for kind in _GROUPS.values()
        if any(kind.api_version == each.api_version for each in served)
    }
    others_served = {
        name: kind
        for kind in served
        if (kind.api_version, kind.kind) not in {(k.api_version, k.kind) for k in known.values()}
        for name in (kind.resource, f"{kind.resource}.{kind.api_version.partition('/')[0]}")
    }
    chosen = _chosen({**others_served, **known, **groups}, names) if names else (
        *others, *groups.values(), pods
    )  # fmt: skip
    # Each once, pods last.
    kinds = {(kind.api_version, kind.kind): kind for kind in chosen}
    last = (pods.api_version, pods.kind)
    ordered = sorted(kinds.values(), key=lambda kind: (kind.api_version, kind.kind) == last)
    definitions = [name for kind in ordered if (name := kind.definition)]
    if not definitions:
        return ordered
    return (_definitions(definitions), *ordered)


def later_kinds(names: Sequence[str], served: Sequence[SourceKind]) -> Sequence[SourceKind]:
    """Return the groups of pods that a source does not have yet; parameters as `mirrored_kinds`."""
    versions = {each.api_version for each in served}
    groups = [] if names else _GROUPS.values()
    return [_optional(kind) for kind in groups if kind.api_version not in versions]


def definition_of(kind: SourceKind) -> SourceKind:
    """Return the kind of the definition of a custom kind, of which only that one is read."""
    return _definitions([kind.definition])


def _definitions(names: Sequence[str]) -> SourceKind:
    return msgspec.structs.replace(_optional(_source_kind(DEFINITIONS)), names=sorted(names))


def imported_kinds(
    names: Sequence[str] = (), *, has_workloads: bool = False
) -> Sequence[SourceKind]:
    """Return the kinds that an import reads, in the order in which they are read and created.

    They include what limits the volumes of nodes, and the groups of pods that the server has.

    Parameters
    ----------
    names : sequence of str
        As of `source_kinds`; also Services and the owners of pods.
    has_workloads : bool
        Whether Services and all owners of pods are read without names.

    Raises
    ------
    InputError
        With the names that are not kinds of these.
    """
    has_workloads = has_workloads or bool(names)
    others = source_kinds(has_workloads=has_workloads)[:-1]
    more = ("volumeattachments", *(_TOP_OWNERS if has_workloads else ()))
    return _chosen(_with_groups(*others, *map(_source_kind, more)), names)


def recorded_kinds(names: Sequence[str] = ()) -> Sequence[SourceKind]:
    """Return the kinds of a record: with Services, the owners of pods, and groups of pods.

    Parameters and errors as of `source_kinds`.
    """
    return _chosen(_with_groups(*source_kinds(has_workloads=True)[:-1]), names)


def _with_groups(*kinds: SourceKind) -> Mapping[str, SourceKind]:
    """Return kinds, the groups of pods that a server may have, and pods, by their names."""
    groups = {_name_of_group(kind): _optional(kind) for kind in _GROUPS.values()}
    return {kind.resource: kind for kind in kinds} | groups | {"pods": _source_kind("pods")}


def scheduler_kinds(
    plugins: Collection[str], custom: Iterable[SourceKind] = ()
) -> Sequence[SourceKind]:
    """Return the kinds that a scheduler follows, in the order in which they are listed.

    Parameters
    ----------
    plugins : collection of str
        The names of its plugins. Those that schedule groups require PodGroups.
    custom : iterable of SourceKind
        The custom resources that its plugins read.
    """
    *others, pods = source_kinds(has_workloads=True)
    groups = [kind for plugin, kind in _GROUPS.items() if plugin in plugins]
    kinds = (*others, _source_kind("volumeattachments"), *groups, pods)
    known = {(api_group(kind.api_version), kind.kind) for kind in kinds}
    added = [kind for kind in custom if (api_group(kind.api_version), kind.kind) not in known]
    return (*kinds[:-1], *added, pods)


def _chosen(kinds: Mapping[str, SourceKind], names: Sequence[str]) -> Sequence[SourceKind]:
    """Return the kinds of these names, or of their short names; no names stand for all."""
    if not names:
        return tuple(kinds.values())
    chosen, errors = set(), []
    for name in names:
        found = built_in().resource(name)
        resource = name if found is None else found.row.resource
        if resource not in kinds:
            near = nearest(name, kinds)
            all_names = ", ".join(kinds) if len(kinds) <= _MOST_LISTED else _LISTED_ELSEWHERE
            hint = f"; did you mean {quoted(near)}?" if near else f": {all_names}"
            message = f"{quoted(name)} is none of the kinds that can be read{hint}"
            errors.append(FieldError(source="options", path="--kinds", message=message))
        else:
            chosen.add(resource)
    if errors:
        raise InputError(errors)
    return tuple(
        msgspec.structs.replace(kind, is_required=True)
        for name, kind in kinds.items()
        if name in chosen
    )


def _optional(kind: SourceKind) -> SourceKind:
    return msgspec.structs.replace(kind, is_required=False)


def _name_of_group(kind: SourceKind) -> str:
    """Return the name of a kind of groups, of which two have the same resource."""
    group = kind.api_version.partition("/")[0]
    return kind.resource if group == "scheduling.k8s.io" else f"{kind.resource}.{group}"


def older_versions(kind: SourceKind) -> Sequence[SourceKind]:
    """Return a kind in the other versions, which older servers have, newest first."""
    group, _, _ = kind.api_version.rpartition("/")
    versions = [
        found.api_version
        for found in built_in()
        if found.group_kind == (group, kind.kind)
        and (conversion := conversion_of(found)) is not None
        and conversion.storage_kind.api_version == kind.api_version
    ]
    ordered = sorted(versions, reverse=True)
    return [msgspec.structs.replace(kind, api_version=version) for version in ordered]


def _source_kind(name: str) -> SourceKind:
    found: Kind | None = built_in().resource(name)
    assert found is not None, name
    row = found.row
    return SourceKind(found.api_version, row.kind, row.resource, row.namespaced, name in _REQUIRED)


def _group_kind(kind: type[KubernetesObject]) -> SourceKind:
    return SourceKind(
        kind.api_version, kind.kind, "podgroups", is_namespaced=True, is_required=True
    )


_GROUPS: Final = {
    "GangScheduling": _group_kind(PodGroup),
    "Coscheduling": _group_kind(CoschedulingPodGroup),
}
"""The kinds of groups, by the plugin that schedules them."""


# Which kinds a server has, by its discovery documents.

_VERBS: Final = frozenset({"get", "list", "watch", "create", "update", "delete"})
_ABSENT: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE})


class _Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    preferred_version: _Version
    versions: Sequence[_Version] = ()


class _Groups(msgspec.Struct, frozen=True, kw_only=True):
    groups: Sequence[_Group] = ()


class _Resource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    namespaced: bool
    verbs: Sequence[str]


class _Resources(msgspec.Struct, frozen=True, kw_only=True):
    resources: Sequence[_Resource] = ()


async def served_kinds(connection: ReadConnection) -> Sequence[SourceKind]:
    """Return all kinds of a server that can be mirrored, each in one version.

    That is the preferred one of its group, or the first one that has the kind. An aggregated API
    whose server does not answer has none.

    Raises
    ------
    RejectedRequest, UnreachableCluster
    """
    groups = msgspec.json.decode(await connection.get("/apis"), type=_Groups).groups
    versions = dict.fromkeys(["v1"])
    for group in groups:
        for version in (group.preferred_version, *group.versions):
            versions[version.group_version] = None
    found: dict[tuple[str, str], SourceKind] = {}
    for name in versions:
        group_name = name.partition("/")[0] if "/" in name else ""
        for each in await _resources(connection, name):
            if "/" not in each.name and set(each.verbs) >= _VERBS:
                kind = SourceKind(name, each.kind, each.name, each.namespaced, is_required=False)
                found.setdefault((group_name, each.name), kind)
    return list(found.values())


async def _resources(connection: ReadConnection, version: str) -> Sequence[_Resource]:
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    try:
        return msgspec.json.decode(await connection.get(path), type=_Resources).resources
    except RejectedRequest as error:
        if error.status in _ABSENT:
            return ()
        raise


def left_out_texts(rejected: Iterable[tuple[str, RejectedRequest]], verb: str) -> list[str]:
    """Return which kinds are left out, and why: a text for all that have a status.

    Parameters
    ----------
    rejected : iterable of (str, RejectedRequest)
        The name of a kind, and the answer to its list.
    verb : str
        What is not done with them, such as ``read``.
    """
    by_status: dict[int, dict[str, RejectedRequest]] = {}
    for name, error in rejected:
        by_status.setdefault(error.status, {}).setdefault(name, error)
    texts = []
    for errors in by_status.values():
        *names, last = errors
        several = f"{', '.join(names)} and {last}" if names else last
        texts.append(f"no {several} are {verb}: {next(iter(errors.values()))}")
    return texts

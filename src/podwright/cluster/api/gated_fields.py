"""The fields whose feature gate can be off: a server with the gate off drops them from writes.

A field is dropped on a create, and on an update unless the stored object has a field of the same
gates, so that objects of a time when the gate was on can still be changed.

Upstream: pkg/api/pod/util.go, pkg/registry/core/node/strategy.go,
pkg/registry/resource/{deviceclass,resourceclaim,resourceslice}/strategy.go and
pkg/api/resourceclaimspec, `DropDisabledFields`; pkg/api/persistentvolumeclaim/util.go;
pkg/registry/{apps/deployment,autoscaling/horizontalpodautoscaler,scheduling/podgroup,
scheduling/workload,storage/csidriver}/strategy.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem


class GatedField(NamedTuple):
    """A field, as a path in which `*` is each element of a list or each value of a map.

    Attributes
    ----------
    gates : tuple of str
        The gates that must all be on.
    path : tuple of str
    inner : str
        The field inside without which this field is kept; "" for none.
    """

    gates: tuple[str, ...]
    path: tuple[str, ...]
    inner: str = ""


DisabledFields: TypeAlias = Mapping[tuple[str, str], Sequence[Sequence[GatedField]]]
"""By group and kind, the fields to drop: those of the same gates together."""

_CAPACITY: Final = ("DRAConsumableCapacity",)
_PARTITIONS: Final = ("DRAPartitionableDevices",)
_BINDING: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
_TAINTS: Final = ("DRADeviceTaints",)
_LISTS: Final = ("DRAListTypeAttributes",)

_OF_CLAIM: Final = (
    (("DRAPrioritizedList",), "devices.requests.*.firstAvailable"),
    (_TAINTS, "devices.requests.*.exactly.tolerations"),
    (_TAINTS, "devices.requests.*.firstAvailable.*.tolerations"),
    (_CAPACITY, "devices.requests.*.exactly.capacity"),
    (_CAPACITY, "devices.requests.*.firstAvailable.*.capacity"),
    (_CAPACITY, "devices.constraints.*.distinctAttribute"),
)
_OF_CLAIM_STATUS: Final = (
    (("DRAResourceClaimDeviceStatus",), "devices"),
    (_CAPACITY, "allocation.devices.results.*.shareID"),
    (_CAPACITY, "allocation.devices.results.*.consumedCapacity"),
    (_CAPACITY, "devices.*.shareID"),
    (("DRADeviceBindingConditions",), "allocation.devices.results.*.bindingConditions"),
    (("DRADeviceBindingConditions",), "allocation.devices.results.*.bindingFailureConditions"),
)
_GROUP_CLAIMS: Final = ("DRAWorkloadResourceClaims",)
_OF_GROUP: Final = (
    (("TopologyAwareWorkloadScheduling",), "schedulingConstraints"),
    (_GROUP_CLAIMS, "resourceClaims"),
    (("WorkloadAwarePreemption",), "disruptionMode"),
    (("WorkloadAwarePreemption",), "priorityClassName"),
    (("WorkloadAwarePreemption",), "priority"),
)
_TERMINATING: Final = ((("DeploymentReplicaSetTerminatingReplicas",), "terminatingReplicas"),)
_OF_POD: Final = (
    (("GenericWorkload",), "schedulingGroup"),
    (("MatchLabelKeysInPodTopologySpread",), "topologySpreadConstraints.*.matchLabelKeys"),
    (("PodLevelResources",), "resources"),
    (("ClusterTrustBundleProjection",), "volumes.*.projected.sources.*.clusterTrustBundle"),
    (("PodCertificateRequest",), "volumes.*.projected.sources.*.podCertificate"),
)
_RESOURCE: Final = "resource.k8s.io"
_TEMPLATE: Final = "spec.template.spec."


def _fields(
    fields: Iterable[tuple[tuple[str, ...], str]], prefix: str = "spec."
) -> tuple[GatedField, ...]:
    return tuple(GatedField(gates, tuple(f"{prefix}{path}".split("."))) for gates, path in fields)


GATED_FIELDS: Final[Mapping[tuple[str, str], tuple[GatedField, ...]]] = {
    ("", "Node"): _fields([(("NodeDeclaredFeatures",), "declaredFeatures")], "status."),
    ("", "PersistentVolumeClaim"): (
        GatedField(("CrossNamespaceVolumeDataSource",), ("spec", "dataSourceRef"), "namespace"),
    ),
    ("", "Pod"): _fields(_OF_POD),
    ("", "PodTemplate"): _fields(_OF_POD, "template.spec."),
    ("", "ReplicationController"): _fields(_OF_POD, _TEMPLATE),
    ("apps", "DaemonSet"): _fields(_OF_POD, _TEMPLATE),
    ("apps", "Deployment"): _fields(_OF_POD, _TEMPLATE) + _fields(_TERMINATING, "status."),
    ("apps", "ReplicaSet"): _fields(_OF_POD, _TEMPLATE) + _fields(_TERMINATING, "status."),
    ("apps", "StatefulSet"): _fields(_OF_POD, _TEMPLATE),
    ("autoscaling", "HorizontalPodAutoscaler"): _fields(
        (("HPAConfigurableTolerance",), f"behavior.{direction}.tolerance")
        for direction in ("scaleDown", "scaleUp")
    ),
    ("batch", "CronJob"): _fields(_OF_POD, f"spec.jobTemplate.{_TEMPLATE}"),
    ("batch", "Job"): _fields(_OF_POD, _TEMPLATE),
    (_RESOURCE, "DeviceClass"): _fields([(("DRAExtendedResource",), "extendedResourceName")]),
    (_RESOURCE, "ResourceClaim"): _fields(_OF_CLAIM) + _fields(_OF_CLAIM_STATUS, "status."),
    (_RESOURCE, "ResourceClaimTemplate"): _fields(_OF_CLAIM, "spec.spec."),
    (_RESOURCE, "ResourceSlice"): _fields(
        [
            (_TAINTS, "devices.*.taints"),
            (_PARTITIONS, "sharedCounters"),
            (_PARTITIONS, "perDeviceNodeSelection"),
            (_PARTITIONS, "devices.*.consumesCounters"),
            (_PARTITIONS, "devices.*.nodeName"),
            (_PARTITIONS, "devices.*.nodeSelector"),
            (_PARTITIONS, "devices.*.allNodes"),
            (_BINDING, "devices.*.bindsToNode"),
            (_BINDING, "devices.*.bindingConditions"),
            (_BINDING, "devices.*.bindingFailureConditions"),
            (_CAPACITY, "devices.*.allowMultipleAllocations"),
            (_CAPACITY, "devices.*.capacity.*.requestPolicy"),
            (("DRANodeAllocatableResources",), "devices.*.nodeAllocatableResourceMappings"),
            (_LISTS, "devices.*.attributes.*.bools"),
            (_LISTS, "devices.*.attributes.*.ints"),
            (_LISTS, "devices.*.attributes.*.strings"),
            (_LISTS, "devices.*.attributes.*.versions"),
        ]
    ),
    ("scheduling.k8s.io", "PodGroup"): (
        *_fields(_OF_GROUP),
        GatedField(_GROUP_CLAIMS, ("status", "resourceClaimStatuses")),
    ),
    ("scheduling.k8s.io", "Workload"): _fields(_OF_GROUP, "spec.podGroupTemplates.*."),
    ("storage.k8s.io", "CSIDriver"): _fields(
        [(("VolumeLimitScaling",), "preventPodSchedulingIfMissing")]
    ),
}
"""By group and kind."""

COMPARISONS: Final = "TaintTolerationComparisonOperators"
"""The gate of the operators `Lt` and `Gt` of tolerations."""

SELINUX_MOUNT: Final = "SELinuxMount"
"""The gate of the policy `MountOption` for SELinux labels of volumes."""

_TOLERATIONS: Final[Mapping[tuple[str, str], str]] = {
    kind: f"{'.'.join(fields[0].path[:-1])}.tolerations"
    for kind, fields in GATED_FIELDS.items()
    if fields[0].gates == _OF_POD[0][0]
} | {("node.k8s.io", "RuntimeClass"): "scheduling.tolerations"}


def disabled_fields(disabled: frozenset[str]) -> DisabledFields:
    """Return the fields that a server drops.

    Parameters
    ----------
    disabled : frozenset of str
        The gates that are off.
    """
    found: dict[tuple[str, str], list[list[GatedField]]] = {}
    for kind, fields in GATED_FIELDS.items():
        off = sorted(each for each in fields if not disabled.isdisjoint(each.gates))
        groups = [list(group) for _, group in groupby(off, key=attrgetter("gates"))]
        if groups:
            found[kind] = groups
    return found


def without_disabled(
    groups: Sequence[Sequence[GatedField]], new: Document, old: Document | None
) -> Document:
    """Return an object without the fields of gates that are off.

    Parameters
    ----------
    groups : sequence of sequence of GatedField
        The fields of the object's kind in `disabled_fields`.
    old : dict, optional
        The stored object; None for a create.
    """
    for fields in groups:
        if old is not None and any(has_field(old, each.path) for each in fields):
            continue
        for each in fields:
            if not each.inner or has_field(new, (*each.path, each.inner)):
                new = _without(new, each.path)
    return new


def without_comparisons(
    kind: tuple[str, str], new: Document, old: Document | None, problems: list[Problem]
) -> list[Problem]:
    """Return the problems of an object of a server whose gate for comparisons is off.

    An object that has them already keeps them.

    Upstream: pkg/apis/core/validation/validation.go, ValidateTolerations
    """
    path = _TOLERATIONS.get(kind)
    if path is None or (old is not None and any(_comparisons(old, path))):
        return problems
    for index, operator in _comparisons(new, path):
        here = f"{path}[{index}]"
        text = f'Unsupported value: "{operator}": supported values: "Equal", "Exists", "Lt", "Gt"'
        problem = (f"{here}.operator", text, operator)
        # Upstream does not examine the value then; the effect comes after the operator.
        later = (f"{here}.value", f"{path}[{index + 1}].")
        at = next(
            (i for i, each in enumerate(problems) if each[0].startswith(later)), len(problems)
        )
        left = [each for each in problems[at:] if each[0] != f"{here}.value"]
        problems = [*problems[:at], problem, *left]
    return problems


def with_mount_option(problems: list[Problem]) -> list[Problem]:
    """Return the problems of an object of a server whose gate for labels of mounts is on.

    Upstream: pkg/apis/core/validation/validation.go, validateSELinuxChangePolicy
    """
    return [
        (path, text, value)
        for path, text, value in problems
        if value != "MountOption" or not path.endswith(".seLinuxChangePolicy")
    ]


def _comparisons(document: Document, path: str) -> Iterator[tuple[int, str]]:
    """Yield the index and the operator of each toleration that compares."""
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    for index, each in enumerate(value or ()):
        if each.get("operator") in ("Lt", "Gt"):
            yield index, each["operator"]


def has_field(value: Any, path: Sequence[str]) -> bool:
    """Return whether a field is set; an empty list or map is not."""
    if not path:
        return value is not None and value not in ([], {})
    name, *rest = path
    if name == "*":
        values = value.values() if isinstance(value, dict) else value or ()
        return any(has_field(each, rest) for each in values)
    return isinstance(value, dict) and has_field(value.get(name), rest)


def _without(value: Any, path: Sequence[str]) -> Any:
    """Return a value without a field; the same value if it does not have it."""
    name, *rest = path
    if name == "*":
        if isinstance(value, dict):
            changed = {key: _without(each, rest) for key, each in value.items()}
            return changed if any(changed[key] is not value[key] for key in value) else value
        if isinstance(value, list):
            kept = [_without(each, rest) for each in value]
            return kept if any(a is not b for a, b in zip(kept, value, strict=True)) else value
        return value
    if not isinstance(value, dict) or name not in value:
        return value
    if not rest:
        return {key: each for key, each in value.items() if key != name}
    inner = _without(value[name], rest)
    return value if inner is value[name] else value | {name: inner}

"""The types of the table: fields with their facts, parsed when a kind first needs them.

Notes
-----
Upstream: staging/src/k8s.io/api/*/v1/types.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, Literal, TypeAlias

import msgspec

ListType: TypeAlias = Literal["", "atomic", "granular", "set", "map"]
"""How server-side apply merges a list: `x-kubernetes-list-type`."""

SCALARS: Final = frozenset(
    {"any", "object", "string", "bool", "int32", "int64", "double", "bytes", "quantity", "time",
     "micro-time", "int-or-string"}
)  # fmt: skip
"""The types that are not composed of others. `any` is any value, `object` one that
validation limits to objects."""


class TypeRef(msgspec.Struct, frozen=True, gc=False):
    """The type of a field: a scalar or a struct, or a list or a map of such.

    Attributes
    ----------
    container : str
        `list`, `map` (from strings), or "" for a single value.
    name : str
        A scalar or the name of a struct; "" for a container.
    element : TypeRef or None
        The type of the container's values.
    """

    container: Literal["", "list", "map"] = ""
    name: str = ""
    element: TypeRef | None = None

    @property
    def is_struct(self) -> bool:
        """Whether the values are structs of the table."""
        return not self.container and self.name not in SCALARS

    @property
    def innermost(self) -> str:
        """The name of the scalar or struct inside all containers."""
        return self.name if self.element is None else self.element.innermost


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a struct.

    Attributes
    ----------
    name : str
        The name in JSON.
    type : TypeRef
    number : tuple of int
        The protobuf field number; (2, 5) is field 5 of the embedded message in field 2.
    is_required : bool
        Whether OpenAPI requires the field. Decoding does not: validation reports absent fields.
    is_zero : bool
        Whether Go writes the field also if it has the zero value (no `omitempty`).
    is_null : bool
        Whether Go writes an absent list, map, bytes or pointer as null (no `omitempty`).
    default : Any
        The default of OpenAPI, which applies when the list or map that holds the struct is
        merged; None if there is none. Other defaults are functions, see `schema.defaults`.
    list_type : str
        `atomic`, `set` or `map`; a struct or map can also be `atomic`, or `granular` if its
        struct is atomic elsewhere.
    keys : tuple of str
        The fields that identify an entry of a list of type `map`.
    merge_key : str
        The field that identifies an entry in a strategic merge patch; "" if none does.
    is_merged : bool
        Whether a strategic merge patch merges the list instead of replacing it.
    retains_keys : bool
        Whether a strategic merge patch may clear the other fields (`retainKeys`).
    is_replaced : bool
        Whether a strategic merge patch replaces the struct instead of merging it.
    enum : tuple of str
        The valid values; empty if they are not limited.
    go_type : str
        Go's type if it does not follow from `type`: `v1.Protocol`, `types.UID`.
    embedded : str
        The embedded structs that have the field in Go: `VolumeSource`; "" if there is none.
    """

    name: str
    type: TypeRef
    number: tuple[int, ...] = ()
    is_required: bool = False
    is_zero: bool = False
    is_null: bool = False
    default: Any = None
    list_type: ListType = ""
    keys: tuple[str, ...] = ()
    merge_key: str = ""
    is_merged: bool = False
    retains_keys: bool = False
    is_replaced: bool = False
    enum: tuple[str, ...] = ()
    go_type: str = ""
    embedded: str = ""


class StructType:
    """One struct of the table.

    Parameters
    ----------
    name : str
        For example `core.v1.PodSpec`.
    row : mapping of str to str
        The fields as the table has them.
    """

    def __init__(self, name: str, row: Mapping[str, str]) -> None:
        self.name = name
        self.is_atomic = "$atomic" in row
        self.quantity_fields: list[tuple[str, TypeRef]] | None = None
        """The fields with quantities in them; computed by `schema.kind`."""
        self._row = row

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields by name, in alphabetical order; read-only."""
        return {
            name: parse_field(name, text) for name, text in self._row.items() if name != "$atomic"
        }


def parse_type(text: str) -> TypeRef:
    """Parse a type: `string`, `[core.v1.Container]`, `{quantity}`."""
    if text[0] == "[":
        return TypeRef("list", "", parse_type(text[1:-1]))
    if text[0] == "{":
        return TypeRef("map", "", parse_type(text[1:-1]))
    return TypeRef("", text)


def parse_field(name: str, text: str) -> Field:
    """Parse a field of the table: `[core.v1.Container] 2 required keys=name merge=name`."""
    text, _, enum = text.partition(" enum=")  # the last fact; its values may have spaces
    kind, *facts = text.split(" ")
    values: dict[str, Any] = {"enum": tuple(enum.split("|"))} if enum else {}
    for fact in facts:
        key, _, value = fact.partition("=")
        match key:
            case "required" | "zero" | "null":
                values[f"is_{key}"] = True
            case "retain-keys":
                values["retains_keys"] = True
            case "replace":
                values["is_replaced"] = True
            case "default":
                values["default"] = json.loads(value)
            case "atomic" | "granular" | "set":
                values["list_type"] = key
            case "keys":
                values |= {"list_type": "map", "keys": tuple(value.split(","))}
            case "go":
                values["go_type"] = value
            case "in":
                values["embedded"] = value
            case "merge":
                values |= {"is_merged": True, "merge_key": value}
            case _:
                values["number"] = tuple(map(int, key.split(".")))
    return Field(name=name, type=parse_type(kind), **values)


# Descriptions of structs and fields, in our own words: what `kubectl explain` prints.
#
# The files `descriptions/*.toml` have a table for each struct, with a sentence for each field. The
# key `""` describes the struct itself, and `"$like"` takes the sentences of another struct for
# what the table does not have. The table `"*"` is for the fields that all kinds have. The files
# are read when a description is first needed.

Tables: TypeAlias = Mapping[str, Mapping[str, str]]

COMMON: Final = "*"
LIKE: Final = "$like"


@cache
def read_descriptions() -> Tables:
    """Return the sentences by struct, such as `core.v1.PodSpec`, and field."""
    import tomllib  # only for descriptions

    found: dict[str, Mapping[str, str]] = {}
    folder = resources.files("podwright.apimachinery.schema").joinpath("descriptions")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        assert not tables.keys() & found.keys(), (file.name, tables.keys() & found.keys())
        found |= tables
    return found


def description(struct: str, field: str = "") -> str:
    """Return what a field of a struct is for, or the struct itself; "" if nothing is known.

    Fields that all kinds have are those of `COMMON`.

    Examples
    --------
    >>> description("core.v1.SleepAction", "seconds")
    'How many seconds it lasts.'
    """
    tables = read_descriptions()
    own = tables.get(struct, {})
    if field in own:
        return own[field]
    return tables.get(own.get(LIKE, ""), {}).get(field, "")


# Facts about upstream's Go structs that decide how an object is written as JSON.
#
# OpenAPI does not say whether an optional field is a pointer. Go omits an empty value that is not
# a pointer, and keeps a pointer to an empty value. The tables name the exceptions from these
# rules:
#
# - a number or boolean that is optional is a pointer, except in `VALUES`;
# - a string that is optional is a value, except in `STRING_POINTERS`;
# - a time that is optional is a pointer, except in `TIME_VALUES`, which are written as `null`;
# - a quantity that is optional is a pointer, except in `QUANTITY_VALUES`, which are written as "0";
# - a list or a map that is empty is omitted, or written as `null` where the table says so.

_READ_ONLY: Final = "readOnly"

VALUES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "admissionregistration.v1.ValidatingAdmissionPolicyStatus": "observedGeneration",
        "apiextensions.v1.CustomResourceColumnDefinition": "priority",
        "apiextensions.v1.CustomResourceDefinitionCondition": "observedGeneration",
        "apiextensions.v1.CustomResourceDefinitionSpec": "preserveUnknownFields",
        "apiextensions.v1.CustomResourceDefinitionStatus": "observedGeneration",
        "apiextensions.v1.CustomResourceDefinitionVersion": "deprecated",
        "apiextensions.v1.JSONSchemaProps": (
            "exclusiveMaximum exclusiveMinimum nullable uniqueItems"
            " x-kubernetes-embedded-resource x-kubernetes-int-or-string"
        ),
        "apiregistration.v1.APIServiceSpec": "insecureSkipTLSVerify",
        "apps.v1.DaemonSetSpec": "minReadySeconds",
        "apps.v1.DaemonSetStatus": (
            "numberAvailable numberUnavailable observedGeneration updatedNumberScheduled"
        ),
        "apps.v1.DeploymentSpec": "minReadySeconds paused",
        "apps.v1.DeploymentStatus": (
            "availableReplicas observedGeneration readyReplicas replicas unavailableReplicas"
            " updatedReplicas"
        ),
        "apps.v1.ReplicaSetSpec": "minReadySeconds",
        "apps.v1.ReplicaSetStatus": (
            "availableReplicas fullyLabeledReplicas observedGeneration readyReplicas"
        ),
        "apps.v1.StatefulSetSpec": "minReadySeconds",
        "apps.v1.StatefulSetStatus": (
            "currentReplicas observedGeneration readyReplicas updatedReplicas"
        ),
        "authentication.v1.TokenReviewStatus": "authenticated",
        "authorization.v1.SubjectAccessReviewStatus": "denied",
        "autoscaling.v1.ScaleSpec": "replicas",
        "autoscaling.v2.HorizontalPodAutoscalerStatus": "currentReplicas",
        "batch.v1.JobStatus": "active failed succeeded",
        "core.v1.AWSElasticBlockStoreVolumeSource": f"partition {_READ_ONLY}",
        "core.v1.AzureFilePersistentVolumeSource": _READ_ONLY,
        "core.v1.AzureFileVolumeSource": _READ_ONLY,
        "core.v1.CSIPersistentVolumeSource": _READ_ONLY,
        "core.v1.CephFSPersistentVolumeSource": _READ_ONLY,
        "core.v1.CephFSVolumeSource": _READ_ONLY,
        "core.v1.CinderPersistentVolumeSource": _READ_ONLY,
        "core.v1.CinderVolumeSource": _READ_ONLY,
        "core.v1.Container": "stdin stdinOnce tty",
        "core.v1.ContainerImage": "sizeBytes",
        "core.v1.ContainerPort": "hostPort",
        "core.v1.ContainerStateTerminated": "signal",
        "core.v1.EphemeralContainer": "stdin stdinOnce tty",
        "core.v1.Event": "count",
        "core.v1.EventSeries": "count",
        "core.v1.FCVolumeSource": _READ_ONLY,
        "core.v1.FlexPersistentVolumeSource": _READ_ONLY,
        "core.v1.FlexVolumeSource": _READ_ONLY,
        "core.v1.GCEPersistentDiskVolumeSource": f"partition {_READ_ONLY}",
        "core.v1.GlusterfsPersistentVolumeSource": _READ_ONLY,
        "core.v1.GlusterfsVolumeSource": _READ_ONLY,
        "core.v1.ISCSIPersistentVolumeSource": f"chapAuthDiscovery chapAuthSession {_READ_ONLY}",
        "core.v1.ISCSIVolumeSource": f"chapAuthDiscovery chapAuthSession {_READ_ONLY}",
        "core.v1.LocalObjectReference": "name",
        "core.v1.NFSVolumeSource": _READ_ONLY,
        "core.v1.NodeSpec": "unschedulable",
        "core.v1.PersistentVolumeClaimVolumeSource": _READ_ONLY,
        "core.v1.PodCondition": "observedGeneration",
        "core.v1.PodSpec": "hostIPC hostNetwork hostPID",
        "core.v1.PodStatus": "observedGeneration",
        "core.v1.PortworxVolumeSource": _READ_ONLY,
        "core.v1.Probe": (
            "failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds"
        ),
        "core.v1.QuobyteVolumeSource": _READ_ONLY,
        "core.v1.RBDPersistentVolumeSource": _READ_ONLY,
        "core.v1.RBDVolumeSource": _READ_ONLY,
        "core.v1.ReplicationControllerSpec": "minReadySeconds",
        "core.v1.ReplicationControllerStatus": (
            "availableReplicas fullyLabeledReplicas observedGeneration readyReplicas"
        ),
        "core.v1.ScaleIOPersistentVolumeSource": f"{_READ_ONLY} sslEnabled",
        "core.v1.ScaleIOVolumeSource": f"{_READ_ONLY} sslEnabled",
        "core.v1.ServicePort": "nodePort",
        "core.v1.ServiceSpec": "healthCheckNodePort publishNotReadyAddresses",
        "core.v1.StorageOSPersistentVolumeSource": _READ_ONLY,
        "core.v1.StorageOSVolumeSource": _READ_ONLY,
        "core.v1.VolumeMount": _READ_ONLY,
        "core.v1.VolumeMountStatus": _READ_ONLY,
        "events.v1.Event": "deprecatedCount",
        "flowcontrol.v1.ResourcePolicyRule": "clusterScope",
        "meta.v1.Condition": "observedGeneration",
        "meta.v1.ObjectMeta": "generation",
        "networking.v1.ServiceBackendPort": "number",
        "policy.v1.PodDisruptionBudgetStatus": "observedGeneration",
        "resource.v1.DeviceSubRequest": "count",
        "resource.v1.ExactDeviceRequest": "count",
        "scheduling.v1.PriorityClass": "globalDefault",
    }.items()
}
"""Optional numbers and booleans that are not pointers, by struct."""

DEFAULTED_IF_NULL: Final = frozenset({("autoscaling.v2.HPAScalingRules", "policies")})
"""Lists that defaults replace if they are absent, but not if they are empty, by struct.

Upstream: pkg/apis/autoscaling/v2/defaults.go, copyHPAScalingRules
"""

STRING_POINTERS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "admissionregistration.v1.MatchResources": "matchPolicy",
        "admissionregistration.v1.MutatingAdmissionPolicySpec": "failurePolicy",
        "admissionregistration.v1.MutatingWebhook": (
            "failurePolicy matchPolicy reinvocationPolicy sideEffects"
        ),
        "admissionregistration.v1.NamedRuleWithOperations": "scope",
        "admissionregistration.v1.ParamRef": "parameterNotFoundAction",
        "admissionregistration.v1.RuleWithOperations": "scope",
        "admissionregistration.v1.ServiceReference": "path",
        "admissionregistration.v1.ValidatingAdmissionPolicySpec": "failurePolicy",
        "admissionregistration.v1.ValidatingWebhook": "failurePolicy matchPolicy sideEffects",
        "admissionregistration.v1.Validation": "reason",
        "admissionregistration.v1.WebhookClientConfig": "url",
        "apiextensions.v1.CustomResourceDefinitionVersion": "deprecationWarning",
        "apiextensions.v1.CustomResourceSubresourceScale": "labelSelectorPath",
        "apiextensions.v1.JSONSchemaProps": ("$ref x-kubernetes-list-type x-kubernetes-map-type"),
        "apiextensions.v1.ServiceReference": "path",
        "apiextensions.v1.ValidationRule": "reason",
        "apiextensions.v1.WebhookClientConfig": "url",
        "autoscaling.v2.HPAScalingRules": "selectPolicy",
        "batch.v1.CronJobSpec": "timeZone",
        "batch.v1.JobSpec": "completionMode managedBy podReplacementPolicy",
        "batch.v1.JobStatus": "failedIndexes",
        "batch.v1.PodFailurePolicyOnExitCodesRequirement": "containerName",
        "batch.v1.SuccessPolicyRule": "succeededIndexes",
        "coordination.v1.LeaseSpec": "holderIdentity preferredHolder strategy",
        "core.v1.AppArmorProfile": "localhostProfile",
        "core.v1.AzureDiskVolumeSource": "cachingMode fsType kind",
        "core.v1.AzureFilePersistentVolumeSource": "secretNamespace",
        "core.v1.CSIVolumeSource": "fsType",
        "core.v1.ClusterTrustBundleProjection": "name signerName",
        "core.v1.Container": "restartPolicy",
        "core.v1.ContainerStatus": "stopSignal",
        "core.v1.EndpointAddress": "nodeName",
        "core.v1.EndpointPort": "appProtocol",
        "core.v1.EphemeralContainer": "restartPolicy",
        "core.v1.GRPCAction": "service",
        "core.v1.GlusterfsPersistentVolumeSource": "endpointsNamespace",
        "core.v1.HostPathVolumeSource": "type",
        "core.v1.ISCSIPersistentVolumeSource": "initiatorName",
        "core.v1.ISCSIVolumeSource": "initiatorName",
        "core.v1.Lifecycle": "stopSignal",
        "core.v1.LoadBalancerIngress": "ipMode",
        "core.v1.LocalVolumeSource": "fsType",
        "core.v1.PersistentVolumeClaimSpec": (
            "storageClassName volumeAttributesClassName volumeMode"
        ),
        "core.v1.PersistentVolumeClaimStatus": "currentVolumeAttributesClassName",
        "core.v1.PersistentVolumeSpec": "volumeAttributesClassName volumeMode",
        "core.v1.PodDNSConfigOption": "value",
        "core.v1.PodResourceClaim": "resourceClaimName resourceClaimTemplateName",
        "core.v1.PodResourceClaimStatus": "resourceClaimName",
        "core.v1.PodSchedulingGroup": "podGroupName",
        "core.v1.PodSecurityContext": (
            "fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy"
        ),
        "core.v1.PodSpec": "hostnameOverride preemptionPolicy runtimeClassName",
        "core.v1.PortStatus": "error",
        "core.v1.ResourceHealth": "message",
        "core.v1.SeccompProfile": "localhostProfile",
        "core.v1.SecurityContext": "procMount",
        "core.v1.ServicePort": "appProtocol",
        "core.v1.ServiceSpec": (
            "internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution"
        ),
        "core.v1.TopologySpreadConstraint": "nodeAffinityPolicy nodeTaintsPolicy",
        "core.v1.TypedLocalObjectReference": "apiGroup",
        "core.v1.TypedObjectReference": "apiGroup namespace",
        "core.v1.VolumeMount": "mountPropagation recursiveReadOnly",
        "core.v1.VolumeMountStatus": "recursiveReadOnly",
        "core.v1.WindowsSecurityContextOptions": (
            "gmsaCredentialSpec gmsaCredentialSpecName runAsUserName"
        ),
        "discovery.v1.Endpoint": "hostname nodeName zone",
        "discovery.v1.EndpointPort": "appProtocol name protocol",
        "meta.v1.DeleteOptions": "propagationPolicy",
        "meta.v1.Preconditions": "resourceVersion uid",
        "networking.v1.HTTPIngressPath": "pathType",
        "networking.v1.IngressClassParametersReference": "apiGroup namespace scope",
        "networking.v1.IngressPortStatus": "error",
        "networking.v1.IngressSpec": "ingressClassName",
        "networking.v1.NetworkPolicyPort": "protocol",
        "policy.v1.PodDisruptionBudgetSpec": "unhealthyPodEvictionPolicy",
        "resource.v1.AllocatedDeviceStatus": "shareID",
        "resource.v1.Device": "nodeName",
        "resource.v1.DeviceAttribute": "string version",
        "resource.v1.DeviceClassSpec": "extendedResourceName",
        "resource.v1.DeviceConstraint": "distinctAttribute matchAttribute",
        "resource.v1.DeviceRequestAllocationResult": "shareID",
        "resource.v1.NodeAllocatableResourceMapping": "capacityKey",
        "resource.v1.ResourceSliceSpec": "nodeName",
        "resource.v1alpha3.DeviceTaintSelector": "device driver pool",
        "scheduling.v1.PriorityClass": "preemptionPolicy",
        "scheduling.v1alpha2.PodGroupResourceClaim": "resourceClaimName resourceClaimTemplateName",
        "scheduling.v1alpha2.PodGroupResourceClaimStatus": "resourceClaimName",
        "scheduling.v1alpha2.PodGroupSpec": "disruptionMode",
        "scheduling.v1alpha2.PodGroupTemplate": "disruptionMode",
        "storage.v1.CSIDriverSpec": "fsGroupPolicy",
        "storage.v1.StorageClass": "reclaimPolicy volumeBindingMode",
        "storage.v1.VolumeAttachmentSource": "persistentVolumeName",
    }.items()
}
"""Optional strings that are pointers, by struct."""

TIME_VALUES: Final = frozenset(
    {"eventTime", "firstTimestamp", "lastTimestamp",
     "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "lastHeartbeatTime", "lastProbeTime",
     "lastTransitionTime", "lastUpdateTime", "startedAt", "finishedAt", "lastObservedTime",
     "expirationTimestamp"}
)  # fmt: skip
"""The names of times that are not pointers; Go writes `null` for the zero time."""

TIME_FIELDS: Final = frozenset({("storage.v1.VolumeError", "time")})
"""Further times that are not pointers, whose names are those of pointers in other structs."""

QUANTITY_VALUES: Final = frozenset(
    {("core.v1.ResourceFieldSelector", "divisor"), ("resource.v1.Counter", "value"),
     ("resource.v1.DeviceCapacity", "value")}
)  # fmt: skip
"""Quantities that are not pointers."""

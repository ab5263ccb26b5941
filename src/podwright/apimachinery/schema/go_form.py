"""The form in which upstream stores and returns an object: what Go's JSON encoder writes.

A document goes through Go structs on its way into the API server. Unknown fields and nulls are
lost, empty optional values are omitted, mandatory ones are written, and times, quantities and
base64 get their canonical form. `go_form` has the same effect on a document whose types are right.

Each struct is compiled once: its fields in the order of upstream's structs, each with a
conversion and the rule for an empty value.

Upstream: Go encoding/json/encode.go (`omitempty`);
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time.go;
staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go; staging/src/k8s.io/api/*/v1/types.go
and generated.proto, which has the same order.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, Final, NamedTuple, TypeAlias

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    format_quantity,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema.empty_lists import EmptyLists
from podwright.apimachinery.schema.types import (
    DEFAULTED_IF_NULL,
    QUANTITY_VALUES,
    STRING_POINTERS,
    TIME_FIELDS,
    TIME_VALUES,
    VALUES,
    Field,
    StructType,
    TypeRef,
)

TypeOf: TypeAlias = Callable[[str], StructType]
Convert: TypeAlias = Callable[[Any, Any], Any]

_MICRO_NS: Final = 1_000
ABSENT: Final = object()
_ORDERS_MAX: Final = 1_024
"""The most combinations of names of a struct whose order is kept."""
_NAMES_MAX: Final = 256
"""The most names of such a combination; a document of a client may have 200,000."""
_NUMBERS: Final = frozenset({"int32", "int64", "double", "bool"})
_NOTHING: Final[Mapping[str, Any]] = {}


class FieldForm(NamedTuple):
    """How one field is written: a tuple, which a loop takes apart faster than it reads attributes.

    Attributes
    ----------
    name : str
    convert : callable or None
        Returns the canonical value, given a value in Go's form that may have parts of it; None if
        every value is canonical.
    omits_empty : bool
        Whether an empty value is omitted.
    zero : Any
        What is written for an absent field; `ABSENT` for nothing.
    """

    name: str
    convert: Convert | None
    omits_empty: bool
    zero: Any


class StructForm:
    """How the fields of one struct are written.

    Parameters
    ----------
    fields : callable
        Returns the fields in the order of upstream's struct; structs contain each other.
    """

    __slots__ = ("_fields", "_orders")

    def __init__(self, fields: Callable[[], list[FieldForm]]) -> None:
        self._fields = fields
        self._orders: dict[tuple[str, ...], list[FieldForm]] = {}

    def convert(self, document: Document, like: Mapping[str, Any] | None = None) -> Document:
        """Return a document in Go's form; its types must be right.

        Parameters
        ----------
        document : dict
            The document; it is not changed.
        like : mapping, optional
            An earlier document in Go's form; parts of it are not converted again.
        """
        if document is like:
            return document
        if like is None:
            like = _NOTHING
        names = tuple(document)
        found: Document = {}
        for name, convert, omits_empty, zero in self._orders.get(names) or self._written(names):
            value = document.get(name)
            if value is None:
                if zero is not ABSENT:
                    found[name] = zero() if callable(zero) else zero
                continue
            if convert is not None:
                formed = like.get(name)
                if value is not formed:
                    value = convert(value, formed)
            if value or not omits_empty:
                found[name] = value
        return found

    def _written(self, names: tuple[str, ...]) -> list[FieldForm]:
        """Return the fields that may be written for a document with some names, in order."""
        found = [
            field for field in self._fields() if field.name in names or field.zero is not ABSENT
        ]
        if len(names) <= _NAMES_MAX:
            if len(self._orders) >= _ORDERS_MAX:
                self._orders.clear()
            self._orders[names] = found
        return found


class GoForms:
    """The compiled structs of a table.

    Parameters
    ----------
    type_of : callable
        Returns a struct type of the table by its name.
    """

    def __init__(self, type_of: TypeOf) -> None:
        self._type_of = type_of
        self.empty_lists: Final = EmptyLists(type_of)
        self._structs: dict[str, StructForm] = {}

    def of(self, struct: str) -> StructForm:
        """Return how a struct is written, by its name."""
        known = self._structs.get(struct)
        if known is None:

            @cache
            def compiled() -> list[FieldForm]:
                of = self._type_of(struct)
                return [self.field(of.name, field) for field in go_ordered(of)]

            known = self._structs[struct] = StructForm(compiled)
        return known

    def field(self, struct: str, field: Field) -> FieldForm:
        """Return how a field of a struct is written."""
        name, ref = field.name, field.type
        return FieldForm(
            name,
            self._conversion(ref),
            omits_empty=_omits_empty(struct, field),
            zero=self._zero(struct, field),
        )

    def _zero(self, struct: str, field: Field) -> Any:
        name, ref = field.name, field.type
        if ref.container or field.is_null:
            return None if field.is_null else ABSENT
        if ref.is_struct:
            return (lambda: self.of(ref.name).convert({})) if field.is_zero else ABSENT
        if ref.name in ("time", "micro-time"):
            is_value = name in TIME_VALUES or (struct, name) in TIME_FIELDS
            return None if is_value else ABSENT
        if ref.name == "quantity":
            return "0" if (struct, name) in QUANTITY_VALUES else ABSENT
        if ref.name == "int-or-string":
            return 0 if field.is_required else ABSENT
        if not field.is_zero or name in VALUES.get(struct, ()):
            return ABSENT
        return {"string": "", "bool": False}.get(ref.name, 0 if ref.name in _NUMBERS else None)

    def _conversion(self, ref: TypeRef) -> Convert | None:
        if ref.element is not None:
            return self._of_container(ref, ref.element)
        if ref.is_struct:
            return self.of(ref.name).convert
        return _SCALARS.get(ref.name)

    def _of_container(self, ref: TypeRef, element: TypeRef) -> Convert | None:
        inner = self._conversion(element)
        zero = self._zero_element(element)
        if ref.container == "list":
            if inner is None:
                return lambda value, _: (
                    [zero() if each is None else each for each in value] if None in value else value
                )

            def converted_list(value: list[Any], like: list[Any] | None) -> list[Any]:
                return [
                    zero() if each is None else each if each is formed else inner(each, formed)
                    for each, formed in zip_longest(value, (like or ())[: len(value)])
                ]

            return converted_list
        # Go writes maps in the order of their keys.
        if inner is None:
            return lambda value, _: {
                key: zero() if one is None else one for key, one in sorted(value.items())
            }
        return lambda value, like: {
            key: zero() if value[key] is None else inner(value[key], (like or {}).get(key))
            for key in sorted(value)
        }

    def _zero_element(self, element: TypeRef) -> Callable[[], Any]:
        if element.container:
            return lambda: None
        if element.is_struct:
            return lambda: self.of(element.name).convert({})
        values: dict[str, Any] = {"string": "", "bool": False, "quantity": "0", "bytes": ""}
        zero = values.get(element.name, 0 if element.name in _NUMBERS else None)
        return lambda: zero


def _omits_empty(struct: str, field: Field) -> bool:
    ref, name = field.type, field.name
    if ref.container:
        return not field.is_null and (struct, name) not in DEFAULTED_IF_NULL
    if ref.is_struct or ref.name in ("any", "object"):
        return False
    if name in VALUES.get(struct, ()):
        return True
    if ref.name == "string":
        return not field.is_zero and name not in STRING_POINTERS.get(struct, ())
    return ref.name == "bytes" and not field.is_null


def canonical_time(text: str) -> str:
    """Return a time as upstream writes it: in UTC, to the second.

    Examples
    --------
    >>> canonical_time("2020-01-01T02:00:00.5+02:00")
    '2020-01-01T00:00:00Z'
    """
    if len(text) == len("2020-01-01T00:00:00Z") and text.endswith("Z"):
        return text
    moment = timestamp_ns(text)
    return text if moment is None else timestamp_text(moment)


def canonical_micro_time(text: str) -> str:
    """Return a time as upstream writes it with microseconds.

    Examples
    --------
    >>> canonical_micro_time("2020-01-01T02:00:00.5+02:00")
    '2020-01-01T00:00:00.500000Z'
    """
    moment = timestamp_ns(text)
    if moment is None:
        return text
    seconds, rest = divmod(moment, SECOND_NS)
    return f"{timestamp_text(seconds * SECOND_NS)[:-1]}.{rest // _MICRO_NS:06d}Z"


def _canonical_base64(text: str) -> str:
    plain = text.replace("\n", "").replace("\r", "")
    return base64.b64encode(base64.b64decode(plain)).decode()


_SCALARS: Final[dict[str, Convert]] = {
    "quantity": lambda text, _: format_quantity(text),
    "time": lambda text, _: canonical_time(text),
    "micro-time": lambda text, _: canonical_micro_time(text),
    "bytes": lambda text, _: _canonical_base64(text),
}


# The order of the fields of upstream's Go structs where it is not that of their protobuf numbers.

GO_ORDER: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(fields.split())
    for name, fields in {
        "admissionregistration.v1.MutatingWebhook": (
            "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector"
            " sideEffects timeoutSeconds admissionReviewVersions reinvocationPolicy"
            " matchConditions"
        ),
        "admissionregistration.v1.ValidatingWebhook": (
            "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector"
            " sideEffects timeoutSeconds admissionReviewVersions matchConditions"
        ),
        "admissionregistration.v1.WebhookClientConfig": "url service caBundle",
        "apiextensions.v1.CustomResourceDefinitionVersion": (
            "name served storage deprecated deprecationWarning schema subresources"
            " additionalPrinterColumns selectableFields"
        ),
        "apiextensions.v1.WebhookClientConfig": "url service caBundle",
        "apps.v1.DeploymentCondition": (
            "type status lastUpdateTime lastTransitionTime reason message"
        ),
        "apps.v1.DeploymentStatus": (
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas"
            " unavailableReplicas terminatingReplicas conditions collisionCount"
        ),
        "apps.v1.ReplicaSetSpec": "replicas minReadySeconds selector template",
        "apps.v1.ReplicaSetStatus": (
            "replicas fullyLabeledReplicas readyReplicas availableReplicas terminatingReplicas"
            " observedGeneration conditions"
        ),
        "authentication.v1.TokenRequestSpec": "audiences expirationSeconds boundObjectRef",
        "authentication.v1.TokenReviewStatus": "authenticated user audiences error",
        "authorization.v1.SubjectAccessReviewStatus": "allowed denied reason evaluationError",
        "autoscaling.v2.HPAScalingRules": (
            "stabilizationWindowSeconds selectPolicy policies tolerance"
        ),
        "autoscaling.v2.MetricSpec": "type object pods resource containerResource external",
        "autoscaling.v2.MetricStatus": "type object pods resource containerResource external",
        "batch.v1.CronJobSpec": (
            "schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend jobTemplate"
            " successfulJobsHistoryLimit failedJobsHistoryLimit"
        ),
        "batch.v1.JobSpec": (
            "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy"
            " backoffLimit backoffLimitPerIndex maxFailedIndexes selector manualSelector template"
            " ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy"
        ),
        "batch.v1.JobStatus": (
            "conditions startTime completionTime active succeeded failed terminating"
            " completedIndexes failedIndexes uncountedTerminatedPods ready"
        ),
        "certificates.v1.CertificateSigningRequestCondition": (
            "type status reason message lastUpdateTime lastTransitionTime"
        ),
        "certificates.v1.CertificateSigningRequestSpec": (
            "request signerName expirationSeconds usages username uid groups extra"
        ),
        "core.v1.ClusterTrustBundleProjection": "name signerName labelSelector optional path",
        "core.v1.ConfigMap": "metadata immutable data binaryData",
        "core.v1.Container": (
            "name image command args workingDir ports envFrom env resources resizePolicy"
            " restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe"
            " readinessProbe startupProbe lifecycle terminationMessagePath"
            " terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"
        ),
        "core.v1.EndpointAddress": "ip hostname nodeName targetRef",
        "core.v1.EphemeralContainer": (
            "name image command args workingDir ports envFrom env resources resizePolicy"
            " restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe"
            " readinessProbe startupProbe lifecycle terminationMessagePath"
            " terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"
            " targetContainerName"
        ),
        "core.v1.ISCSIPersistentVolumeSource": (
            "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery"
            " chapAuthSession secretRef initiatorName"
        ),
        "core.v1.ISCSIVolumeSource": (
            "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery"
            " chapAuthSession secretRef initiatorName"
        ),
        "core.v1.NodeSpec": (
            "podCIDR podCIDRs providerID unschedulable taints configSource externalID"
        ),
        "core.v1.PersistentVolumeClaimSpec": (
            "accessModes selector resources volumeName storageClassName volumeMode dataSource"
            " dataSourceRef volumeAttributesClassName"
        ),
        "core.v1.PodCondition": (
            "type observedGeneration status lastProbeTime lastTransitionTime reason message"
        ),
        "core.v1.PodSecurityContext": (
            "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups"
            " supplementalGroupsPolicy fsGroup sysctls fsGroupChangePolicy seccompProfile"
            " appArmorProfile seLinuxChangePolicy"
        ),
        "core.v1.PodSpec": (
            "volumes initContainers containers ephemeralContainers restartPolicy"
            " terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector"
            " serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork"
            " hostPID hostIPC shareProcessNamespace securityContext imagePullSecrets hostname"
            " subdomain affinity schedulerName tolerations hostAliases priorityClassName priority"
            " dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy"
            " overhead topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates"
            " resourceClaims resources hostnameOverride schedulingGroup"
        ),
        "core.v1.PodStatus": (
            "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs"
            " podIP podIPs startTime initContainerStatuses containerStatuses qosClass"
            " ephemeralContainerStatuses resize resourceClaimStatuses extendedResourceClaimStatus"
            " allocatedResources resources nodeAllocatableResourceClaimStatuses"
        ),
        "core.v1.ReplicationControllerSpec": "replicas minReadySeconds selector template",
        "core.v1.ReplicationControllerStatus": (
            "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
            " conditions"
        ),
        "core.v1.Secret": "metadata immutable data stringData type",
        "core.v1.SecurityContext": (
            "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup"
            " runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount"
            " seccompProfile appArmorProfile"
        ),
        "core.v1.ServicePort": "name protocol appProtocol port targetPort nodePort",
        "core.v1.ServiceSpec": (
            "ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP"
            " loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort"
            " publishNotReadyAddresses sessionAffinityConfig ipFamilies ipFamilyPolicy"
            " allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy"
            " trafficDistribution"
        ),
        "core.v1.Volume": (
            "name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs"
            " iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker"
            " downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk"
            " photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image"
        ),
        "core.v1.VolumeMount": (
            "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"
        ),
        "discovery.v1.EndpointSlice": "metadata addressType endpoints ports",
        "meta.v1.OwnerReference": "apiVersion kind name uid controller blockOwnerDeletion",
        "meta.v1.StatusDetails": "name group kind uid causes retryAfterSeconds",
        "networking.v1.HTTPIngressPath": "path pathType backend",
        "networking.v1.IngressBackend": "service resource",
        "networking.v1.IngressSpec": "ingressClassName defaultBackend tls rules",
        "resource.v1.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
        "resource.v1alpha3.PoolStatus": (
            "driver poolName generation resourceSliceCount totalDevices allocatedDevices"
            " availableDevices unavailableDevices nodeName validationError"
        ),
        "resource.v1alpha3.ResourcePoolStatusRequestStatus": "poolCount pools conditions",
        "resource.v1beta1.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
        "resource.v1beta2.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
    }.items()
}
"""By struct. Fields that are not named come last."""

_FIRST: Final = {"kind": -2, "apiVersion": -1}


def go_ordered(struct: StructType) -> list[Field]:
    """Return the fields of a struct in the order in which Go's encoder writes them."""
    places = {name: index for index, name in enumerate(GO_ORDER.get(struct.name, ()))}
    return sorted(struct.fields.values(), key=lambda field: _place(field, places))


def _place(field: Field, places: Mapping[str, int]) -> tuple[float, ...]:
    if not field.number and field.name in _FIRST:
        return (_FIRST[field.name],)
    if places:
        return (places.get(field.name, len(places)), *field.number)
    return field.number or (1000,)

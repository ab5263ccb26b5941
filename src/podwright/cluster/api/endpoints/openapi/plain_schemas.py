"""Schemas that are not in the schema table: scalars, opaque values, discovery, lists of versions.

Upstream: staging/src/k8s.io/apimachinery/pkg/{api/resource,apis/meta/v1,runtime,util/intstr};
staging/src/k8s.io/apimachinery/pkg/version/types.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.openapi.names import META

_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
VERSION: Final = "io.k8s.apimachinery.pkg.version.Info"
PATCH: Final = f"{META}.Patch"

SCALARS: Final = {
    "quantity": QUANTITY,
    "int-or-string": INT_OR_STRING,
    "time": f"{META}.Time",
    "micro-time": f"{META}.MicroTime",
}
"""The schemas of scalars of the table that have one."""

PLAIN: Final[dict[str, Document]] = {
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    RAW_EXTENSION: {"type": "object"},
    PATCH: {"type": "object"},
    f"{META}.FieldsV1": {"type": "object"},
    f"{META}.Time": {"type": "string", "format": "date-time"},
    f"{META}.MicroTime": {"type": "string", "format": "date-time"},
    "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionSpec": {"type": "object"},
    "io.k8s.api.scheduling.v1alpha2.BasicSchedulingPolicy": {"type": "object"},
    f"{_EXTENSIONS}.CustomResourceSubresourceStatus": {"type": "object"},
    f"{_EXTENSIONS}.JSON": {},
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": {},
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": {},
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": {},
}
"""Schemas without properties, by name."""

OPAQUE: Final = {
    "apiextensions.v1.CustomResourceSubresources.status": (
        f"{_EXTENSIONS}.CustomResourceSubresourceStatus"
    ),
    "apiextensions.v1.JSONSchemaProps.additionalItems": f"{_EXTENSIONS}.JSONSchemaPropsOrBool",
    "apiextensions.v1.JSONSchemaProps.additionalProperties": f"{_EXTENSIONS}.JSONSchemaPropsOrBool",
    "apiextensions.v1.JSONSchemaProps.dependencies": f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray",
    "apiextensions.v1.JSONSchemaProps.items": f"{_EXTENSIONS}.JSONSchemaPropsOrArray",
    "apiserverinternal.v1alpha1.StorageVersion.spec": (
        "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionSpec"
    ),
    "meta.v1.ManagedFieldsEntry.fieldsV1": f"{META}.FieldsV1",
    "scheduling.v1alpha2.PodGroupSchedulingPolicy.basic": (
        "io.k8s.api.scheduling.v1alpha2.BasicSchedulingPolicy"
    ),
}
"""The schemas of opaque fields, by struct and field."""

JSON: Final = f"{_EXTENSIONS}.JSON"
"""The schema of the other fields that hold any value; objects are `RAW_EXTENSION`."""

UNIONS: Final[dict[str, list[Document]]] = {
    struct: [({"discriminator": discriminator} if discriminator else {})
             | {"fields-to-discriminateBy": fields}]
    for struct, discriminator, fields in (
        ("core.v1.AppArmorProfile", "type", {"localhostProfile": "LocalhostProfile"}),
        ("core.v1.PodSchedulingGroup", "", {"podGroupName": "PodGroupName"}),
        ("core.v1.SeccompProfile", "type", {"localhostProfile": "LocalhostProfile"}),
        ("flowcontrol.v1.LimitResponse", "type", {"queuing": "Queuing"}),
        ("flowcontrol.v1.PriorityLevelConfigurationSpec", "type",
         {"exempt": "Exempt", "limited": "Limited"}),
        ("flowcontrol.v1.Subject", "kind",
         {"group": "Group", "serviceAccount": "ServiceAccount", "user": "User"}),
        ("scheduling.v1alpha2.PodGroupSchedulingPolicy", "", {"basic": "Basic", "gang": "Gang"}),
        ("scheduling.v1alpha2.PodGroupTemplateReference", "", {"workload": "Workload"}),
    )
}  # fmt: skip
"""Structs of which at most one field is set: `x-kubernetes-unions`."""

_ADDRESSES: Final = f"[{META}.ServerAddressByClientCIDR] atomic"
_VERSIONED: Final = f"{META}.GroupVersionForDiscovery"

STRUCTS: Final[dict[str, dict[str, str]]] = {
    f"{META}.APIGroup": {
        "kind": "string",
        "apiVersion": "string",
        "name": "string required zero",
        "versions": f"[{_VERSIONED}] required atomic",
        "preferredVersion": f"{_VERSIONED} zero",
        "serverAddressByClientCIDRs": _ADDRESSES,
    },
    f"{META}.APIGroupList": {
        "kind": "string",
        "apiVersion": "string",
        "groups": f"[{META}.APIGroup] required atomic",
    },
    f"{META}.APIResource": {
        "name": "string required zero",
        "singularName": "string required zero",
        "namespaced": "bool required zero",
        "group": "string",
        "version": "string",
        "kind": "string required zero",
        "verbs": "[string] required",
        "shortNames": "[string] atomic",
        "categories": "[string] atomic",
        "storageVersionHash": "string",
    },
    f"{META}.APIResourceList": {
        "kind": "string",
        "apiVersion": "string",
        "groupVersion": "string required zero",
        "resources": f"[{META}.APIResource] required atomic",
    },
    f"{META}.APIVersions": {
        "kind": "string",
        "apiVersion": "string",
        "versions": "[string] required atomic",
        "serverAddressByClientCIDRs": _ADDRESSES.replace("]", "] required"),
    },
    _VERSIONED: {"groupVersion": "string required zero", "version": "string required zero"},
    f"{META}.ServerAddressByClientCIDR": {
        "clientCIDR": "string required zero",
        "serverAddress": "string required zero",
    },
    f"{META}.WatchEvent": {"type": "string required zero", "object": "object required"},
    VERSION: {
        "major": "string required zero",
        "minor": "string required zero",
        "emulationMajor": "string",
        "emulationMinor": "string",
        "minCompatibilityMajor": "string",
        "minCompatibilityMinor": "string",
        "gitVersion": "string required zero",
        "gitCommit": "string required zero",
        "gitTreeState": "string required zero",
        "buildDate": "string required zero",
        "goVersion": "string required zero",
        "compiler": "string required zero",
        "platform": "string required zero",
    },
}
"""Structs in the notation of the schema table, their fields in the order of Go."""

META_KINDS: Final = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status")
"""Kinds of the core group that are not objects."""

COMMON_KINDS: Final = ("DeleteOptions", "WatchEvent")
"""Kinds that every group version has."""

REGISTERED: Final = tuple(
    (group, version)
    for group, versions in {
        "": "v1",
        "admission.k8s.io": "v1 v1beta1",
        "admissionregistration.k8s.io": "v1 v1alpha1 v1beta1",
        "apiextensions.k8s.io": "v1 v1beta1",
        "apiregistration.k8s.io": "v1 v1beta1",
        "apps": "v1 v1beta1 v1beta2",
        "authentication.k8s.io": "v1 v1alpha1 v1beta1",
        "authorization.k8s.io": "v1 v1beta1",
        "autoscaling": "v1 v2",
        "batch": "v1 v1beta1",
        "certificates.k8s.io": "v1 v1alpha1 v1beta1",
        "coordination.k8s.io": "v1 v1alpha2 v1beta1",
        "discovery.k8s.io": "v1 v1beta1",
        "events.k8s.io": "v1 v1beta1",
        "extensions": "v1beta1",
        "flowcontrol.apiserver.k8s.io": "v1 v1beta1 v1beta2 v1beta3",
        "imagepolicy.k8s.io": "v1alpha1",
        "internal.apiserver.k8s.io": "v1alpha1",
        "networking.k8s.io": "v1 v1beta1",
        "node.k8s.io": "v1 v1alpha1 v1beta1",
        "policy": "v1 v1beta1",
        "rbac.authorization.k8s.io": "v1 v1alpha1 v1beta1",
        "resource.k8s.io": "v1 v1alpha3 v1beta1 v1beta2",
        "scheduling.k8s.io": "v1 v1alpha2 v1beta1",
        "storage.k8s.io": "v1 v1alpha1 v1beta1",
        "storagemigration.k8s.io": "v1beta1",
    }.items()
    for version in versions.split()
)
"""All group versions that upstream knows, served or not, which have the common kinds."""

_SERVER_GROUPS: Final = (
    "admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io",
)  # fmt: skip
REGISTERED_FOR_CUSTOM: Final = tuple(each for each in REGISTERED if each[0] not in _SERVER_GROUPS)
"""Those of the documents of custom resources."""

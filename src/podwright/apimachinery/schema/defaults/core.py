"""Defaults of nodes, volumes, services, namespaces and the other kinds without pods.

Upstream: pkg/apis/core/v1/defaults.go; pkg/apis/storage/v1/defaults.go;
pkg/apis/scheduling/v1/defaults.go; pkg/apis/resource/v1/defaults.go;
pkg/apis/networking/v1/defaults.go;
staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/defaults.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go;
pkg/apis/rbac/v1/defaults.go; pkg/apis/authentication/v1/defaults.go.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import (
    rounded,
    with_absent,
    with_empty,
    with_items,
    with_part,
    with_spec,
)
from podwright.apimachinery.schema.defaults.pods import claim_spec, with_source_defaults

_AFFINITY_SECONDS: Final = 10800


def set_node_defaults(node: Document) -> Document:
    """Set the defaults of a Node: what is allocatable is its capacity."""
    node = with_part(node, "spec", _node_spec)
    return with_part(node, "status", _node_status)


def _node_spec(spec: Document) -> Document:
    """Return a spec with its network in both fields. Upstream: pkg/apis/core/v1/conversion.go."""
    if spec.get("podCIDRs") and spec.get("podCIDR", spec["podCIDRs"][0]) != spec["podCIDRs"][0]:
        return spec | {"podCIDRs": [spec["podCIDR"]]} if spec["podCIDR"] else spec
    if spec.get("podCIDRs"):
        return with_empty(spec, {"podCIDR": spec["podCIDRs"][0]})
    return with_empty(spec, {"podCIDRs": [spec["podCIDR"]]}) if spec.get("podCIDR") else spec


def _node_status(status: Document) -> Document:
    status = with_part(with_part(status, "capacity", rounded), "allocatable", rounded)
    capacity = status.get("capacity")
    if capacity is None or status.get("allocatable") is not None:
        return status
    return status | {"allocatable": capacity}


def set_namespace_defaults(namespace: Document) -> Document:
    """Set the defaults of a Namespace: its name as a label, its finalizer and its phase."""
    metadata: Document = namespace.get("metadata") or {}
    name, label = metadata.get("name"), "kubernetes.io/metadata.name"
    labels = metadata.get("labels") or {}
    if name and labels.get(label) != name:
        namespace = namespace | {"metadata": metadata | {"labels": {**labels, label: name}}}
    namespace = with_absent(namespace, {"status": {}})
    return with_part(namespace, "status", lambda each: with_empty(each, {"phase": "Active"}))


def set_resource_quota_defaults(quota: Document) -> Document:
    """Set the defaults of a ResourceQuota: its amounts are rounded."""
    quota = with_part(quota, "spec", lambda spec: with_part(spec, "hard", rounded))
    return with_part(
        quota,
        "status",
        lambda status: with_part(with_part(status, "hard", rounded), "used", rounded),
    )


def set_limit_range_defaults(limit_range: Document) -> Document:
    """Set the defaults of a LimitRange: those of containers follow from minimum and maximum."""
    return with_part(limit_range, "spec", lambda spec: with_items(spec, "limits", _limit))


def _limit(limit: Document) -> Document:
    names = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    for name in names:
        limit = with_part(limit, name, rounded)
    if limit.get("type") != "Container":
        return limit
    default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
    changed = {
        name: value
        for name, value in (("default", default), ("defaultRequest", request))
        if value and value != limit.get(name)
    }
    return limit | changed if changed else limit


def set_service_defaults(service: Document) -> Document:
    """Set the defaults of a Service; addresses and node ports are allocated elsewhere."""
    service = with_spec(service, _service)
    if (service.get("spec") or {}).get("type") != "LoadBalancer":
        return service
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if all(each.get("ipMode") is not None or not each.get("ip") for each in ingress):
        return service
    with_modes = [
        each if not each.get("ip") else with_absent(each, {"ipMode": "VIP"}) for each in ingress
    ]
    balancer = service["status"]["loadBalancer"] | {"ingress": with_modes}
    return service | {"status": service["status"] | {"loadBalancer": balancer}}


def _service(spec: Document) -> Document:
    spec = with_empty(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    kind = spec["type"]
    if spec["sessionAffinity"] == "None" and spec.get("sessionAffinityConfig") is not None:
        spec = {name: each for name, each in spec.items() if name != "sessionAffinityConfig"}
    elif spec["sessionAffinity"] == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            seconds = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
            spec = spec | {"sessionAffinityConfig": seconds}
    spec = with_items(spec, "ports", _service_port)
    is_accessible = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if is_accessible:
        spec = with_empty(spec, {"externalTrafficPolicy": "Cluster"})
    if kind != "ExternalName":
        spec = with_absent(spec, {"internalTrafficPolicy": "Cluster"})
    if kind == "LoadBalancer":
        spec = with_absent(spec, {"allocateLoadBalancerNodePorts": True})
    return spec


def _service_port(port: Document) -> Document:
    port = with_empty(port, {"protocol": "TCP"})
    return with_empty(port, {"targetPort": port.get("port") or 0}) if port.get("port") else port


def set_config_map_defaults(config_map: Document) -> Document:
    """Set the defaults of a ConfigMap, which has none that is written."""
    return config_map


def set_secret_defaults(secret: Document) -> Document:
    """Set the defaults of a Secret."""
    return with_empty(secret, {"type": "Opaque"})


# ------------------------------------------------------------------------------------ volumes


def set_persistent_volume_defaults(volume: Document) -> Document:
    """Set the defaults of a PersistentVolume."""
    volume = with_absent(with_spec(volume, _persistent_volume), {"status": {}})
    return with_part(volume, "status", lambda each: with_empty(each, {"phase": "Pending"}))


def _persistent_volume(spec: Document) -> Document:
    spec = with_empty(spec, {"persistentVolumeReclaimPolicy": "Retain"})
    spec = with_absent(spec, {"volumeMode": "Filesystem"})
    return with_part(with_source_defaults(spec), "capacity", rounded)


def set_claim_defaults(claim: Document) -> Document:
    """Set the defaults of a PersistentVolumeClaim."""
    claim = with_absent(with_spec(claim, claim_spec), {"status": {}})
    return with_part(claim, "status", lambda each: with_empty(each, {"phase": "Pending"}))


def set_storage_class_defaults(storage_class: Document) -> Document:
    """Set the defaults of a StorageClass."""
    defaults = {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
    return with_absent(storage_class, defaults)


def set_csi_driver_defaults(driver: Document) -> Document:
    """Set the defaults of a CSIDriver."""
    return with_spec(driver, _csi_driver)


def _csi_driver(spec: Document) -> Document:
    spec = with_absent(
        spec,
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "requiresRepublish": False,
            "seLinuxMount": False,
        },
    )
    return with_empty(spec, {"volumeLifecycleModes": ["Persistent"]})


# ------------------------------------------------------- scheduling, dynamic resources, network


def set_priority_class_defaults(priority_class: Document) -> Document:
    """Set the defaults of a PriorityClass."""
    return with_absent(priority_class, {"preemptionPolicy": "PreemptLowerPriority"})


def set_resource_claim_defaults(claim: Document) -> Document:
    """Set the defaults of a ResourceClaim."""
    return with_part(claim, "spec", _claim_requests)


def set_resource_claim_template_defaults(template: Document) -> Document:
    """Set the defaults of a ResourceClaimTemplate."""
    return with_part(template, "spec", lambda spec: with_part(spec, "spec", _claim_requests))


def _claim_requests(spec: Document) -> Document:
    return with_part(
        spec, "devices", lambda devices: with_items(devices, "requests", _device_request)
    )


def _device_request(request: Document) -> Document:
    request = with_part(request, "exactly", _device_count)
    return with_items(request, "firstAvailable", _device_count)


def _device_count(request: Document) -> Document:
    request = with_items(request, "tolerations", _device_toleration)
    request = with_empty(request, {"allocationMode": "ExactCount"})
    if request["allocationMode"] != "ExactCount":
        return request
    return with_empty(request, {"count": 1})


def _device_toleration(toleration: Document) -> Document:
    return with_empty(toleration, {"operator": "Equal"})


def set_network_policy_defaults(policy: Document) -> Document:
    """Set the defaults of a NetworkPolicy."""
    return with_spec(policy, _network_policy)


def _network_policy(spec: Document) -> Document:
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    spec = with_empty(spec, {"policyTypes": types})
    for name in ("ingress", "egress"):
        spec = with_items(spec, name, lambda rule: with_items(rule, "ports", _policy_port))
    return spec


def set_ingress_class_defaults(ingress_class: Document) -> Document:
    """Set the defaults of an IngressClass."""
    return with_part(ingress_class, "spec", _ingress_class)


def _ingress_class(spec: Document) -> Document:
    return with_part(spec, "parameters", lambda each: with_absent(each, {"scope": "Cluster"}))


def _policy_port(port: Document) -> Document:
    return with_absent(port, {"protocol": "TCP"})


def set_endpoints_defaults(endpoints: Document) -> Document:
    """Set the defaults of Endpoints."""
    return with_items(endpoints, "subsets", lambda each: with_items(each, "ports", _endpoint_port))


def _endpoint_port(port: Document) -> Document:
    return with_empty(port, {"protocol": "TCP"})


def set_endpoint_slice_defaults(endpoint_slice: Document) -> Document:
    """Set the defaults of an EndpointSlice."""
    return with_items(endpoint_slice, "ports", _slice_port)


def _slice_port(port: Document) -> Document:
    return with_absent(port, {"name": "", "protocol": "TCP"})


def set_pod_certificate_request_defaults(request: Document) -> Document:
    """Set the defaults of a PodCertificateRequest."""
    spec = with_absent(request.get("spec") or {}, {"maxExpirationSeconds": 86400})
    return request | {"spec": spec}


# Defaults of APIServices.


def set_api_service_defaults(api_service: Document) -> Document:
    """Set the port of the service that answers."""
    return with_part(
        api_service, "spec", lambda spec: with_part(spec, "service", _service_api_services)
    )


def _service_api_services(service: Document) -> Document:
    return with_absent(service, {"port": 443})


# Defaults of custom resource definitions.

_SERVICE_PORT: Final = 443


def set_definition_defaults(definition: Document) -> Document:
    """Set the defaults of a CustomResourceDefinition."""
    return with_part(definition, "spec", _spec)


def _spec(spec: Document) -> Document:
    spec = with_part(spec, "names", _names)
    spec = with_absent(spec, {"conversion": {"strategy": "None"}})
    return with_part(spec, "conversion", _conversion)


def _names(names: Document) -> Document:
    kind = names.get("kind") or ""
    names = with_empty(names, {"singular": kind.lower()})
    return with_empty(names, {"listKind": f"{kind}List"}) if kind else names


def _conversion(conversion: Document) -> Document:
    return with_part(conversion, "webhook", lambda hook: with_part(hook, "clientConfig", _client))


def _client(client: Document) -> Document:
    return with_part(client, "service", lambda each: with_absent(each, {"port": _SERVICE_PORT}))


# Defaults of bindings and requests for tokens.

_GROUP: Final = "rbac.authorization.k8s.io"
_TOKEN_S: Final = 60 * 60


def set_binding_defaults(binding: Document) -> Document:
    """Set the defaults of a RoleBinding or ClusterRoleBinding."""
    binding = with_part(binding, "roleRef", lambda role: with_empty(role, {"apiGroup": _GROUP}))
    return with_items(binding, "subjects", _subject)


def _subject(subject: Document) -> Document:
    if subject.get("kind") in ("User", "Group"):
        return with_empty(subject, {"apiGroup": _GROUP})
    return subject


def set_token_request_defaults(request: Document) -> Document:
    """Set the defaults of a TokenRequest: the token is valid for an hour."""
    return with_spec(request, lambda spec: with_absent(spec, {"expirationSeconds": _TOKEN_S}))

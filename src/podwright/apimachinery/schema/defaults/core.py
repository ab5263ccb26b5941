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
    absent,
    chain,
    empty,
    items,
    parts,
    rounded,
    spec,
    with_absent,
    with_empty,
    with_spec,
)
from podwright.apimachinery.schema.defaults.pods import claim_spec, with_source_defaults

_AFFINITY_SECONDS: Final = 10800
_PENDING: Final = chain(absent(status={}), parts(status=empty(phase="Pending")))


def _node_spec(spec: Document) -> Document:
    """Return a spec with its network in both fields. Upstream: pkg/apis/core/v1/conversion.go."""
    if spec.get("podCIDRs") and spec.get("podCIDR", spec["podCIDRs"][0]) != spec["podCIDRs"][0]:
        return spec | {"podCIDRs": [spec["podCIDR"]]} if spec["podCIDR"] else spec
    if networks := spec.get("podCIDRs"):
        return with_empty(spec, {"podCIDR": networks[0]}) if networks[0] else spec
    return with_empty(spec, {"podCIDRs": [spec["podCIDR"]]}) if spec.get("podCIDR") else spec


def _node_status(status: Document) -> Document:
    status = _AMOUNTS(status)
    capacity = status.get("capacity")
    if capacity is None or status.get("allocatable") is not None:
        return status
    return status | {"allocatable": capacity}


_AMOUNTS: Final = parts(capacity=rounded, allocatable=rounded)
set_node_defaults: Final = parts(spec=_node_spec, status=_node_status)


def set_namespace_defaults(namespace: Document) -> Document:
    """Set the defaults of a Namespace: its name as a label, its finalizer and its phase."""
    metadata: Document = namespace.get("metadata") or {}
    name, label = metadata.get("name"), "kubernetes.io/metadata.name"
    labels = metadata.get("labels") or {}
    if name and labels.get(label) != name:
        namespace = namespace | {"metadata": metadata | {"labels": {**labels, label: name}}}
    return _ACTIVE(namespace)


_ACTIVE: Final = chain(absent(status={}), parts(status=empty(phase="Active")))
set_resource_quota_defaults: Final = parts(
    spec=parts(hard=rounded), status=parts(hard=rounded, used=rounded)
)


def _limit(limit: Document) -> Document:
    """Return a limit whose values for containers follow from minimum and maximum."""
    limit = _LIMITS(limit)
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


_LIMITS: Final = parts(
    max=rounded,
    min=rounded,
    default=rounded,
    defaultRequest=rounded,
    maxLimitRequestRatio=rounded,
)
set_limit_range_defaults: Final = parts(spec=parts(limits=items(_limit)))


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
    spec = _SERVICE_PORTS(spec)
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
    port = _TCP(port)
    return with_empty(port, {"targetPort": port["port"]}) if port.get("port") else port


_TCP: Final = empty(protocol="TCP")
_SERVICE_PORTS: Final = parts(ports=items(_service_port))


set_secret_defaults: Final = empty(type="Opaque")


# ------------------------------------------------------------------------------------ volumes


set_persistent_volume_defaults: Final = chain(
    spec(
        empty(persistentVolumeReclaimPolicy="Retain"),
        absent(volumeMode="Filesystem"),
        with_source_defaults,
        parts(capacity=rounded),
    ),
    _PENDING,
)
set_claim_defaults: Final = chain(spec(claim_spec), _PENDING)
set_storage_class_defaults: Final = absent(reclaimPolicy="Delete", volumeBindingMode="Immediate")
set_csi_driver_defaults: Final = spec(
    absent(
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        requiresRepublish=False,
        seLinuxMount=False,
    ),
    empty(volumeLifecycleModes=["Persistent"]),
)


# ------------------------------------------------------- scheduling, dynamic resources, network


def _device_count(request: Document) -> Document:
    request = _DEVICES(request)
    return _ONE(request) if request["allocationMode"] == "ExactCount" else request


_ONE: Final = empty(count=1)


def _network_policy(policy: Document) -> Document:
    types = ["Ingress", "Egress"] if policy.get("egress") else ["Ingress"]
    return _POLICY_RULES(with_empty(policy, {"policyTypes": types}))


_DEVICES: Final = chain(
    parts(tolerations=items(empty(operator="Equal"))), empty(allocationMode="ExactCount")
)
_CLAIM: Final = parts(
    devices=parts(requests=items(parts(exactly=_device_count, firstAvailable=items(_device_count))))
)
_POLICY_PORTS: Final = items(parts(ports=items(absent(protocol="TCP"))))
_POLICY_RULES: Final = parts(ingress=_POLICY_PORTS, egress=_POLICY_PORTS)

set_pod_group_defaults: Final = parts(spec=absent(disruptionMode="Pod"))
set_priority_class_defaults: Final = absent(preemptionPolicy="PreemptLowerPriority")
set_resource_claim_defaults: Final = parts(spec=_CLAIM)
set_resource_claim_template_defaults: Final = parts(spec=parts(spec=_CLAIM))
set_network_policy_defaults: Final = spec(_network_policy)
set_ingress_class_defaults: Final = parts(spec=parts(parameters=absent(scope="Cluster")))
set_endpoints_defaults: Final = parts(subsets=items(parts(ports=items(_TCP))))
set_endpoint_slice_defaults: Final = parts(ports=items(absent(name="", protocol="TCP")))


set_pod_certificate_request_defaults: Final = spec(absent(maxExpirationSeconds=86400))


# ---------------------------------------------------- API services, definitions, access control


def _names(names: Document) -> Document:
    kind = names.get("kind") or ""
    names = with_empty(names, {"singular": kind.lower()})
    return with_empty(names, {"listKind": f"{kind}List"}) if kind else names


def _subject(subject: Document) -> Document:
    return _IN_GROUP(subject) if subject.get("kind") in ("User", "Group") else subject


_PORT: Final = parts(service=absent(port=443))
_IN_GROUP: Final = empty(apiGroup="rbac.authorization.k8s.io")

set_api_service_defaults: Final = parts(spec=_PORT)
set_definition_defaults: Final = parts(
    spec=chain(
        parts(names=_names),
        absent(conversion={"strategy": "None"}),
        parts(conversion=parts(webhook=parts(clientConfig=_PORT))),
    )
)
set_binding_defaults: Final = parts(roleRef=_IN_GROUP, subjects=items(_subject))
set_token_request_defaults: Final = spec(absent(expirationSeconds=60 * 60))

"""Warnings about service accounts, secrets, quotas, slices of devices and admission.

Upstream: pkg/registry/core/{serviceaccount,secret,resourcequota}/strategy.go;
pkg/registry/resource/resourceslice/strategy.go;
pkg/apis/admissionregistration/validation/static_suffix.go;
staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go, GetWarningsForIP, GetWarningsForCIDR;
pkg/api/node/util.go; pkg/registry/core/node/strategy.go; pkg/api/persistentvolume/util.go;
pkg/api/storage/util.go; pkg/registry/storage/csidriver/strategy.go; pkg/api/service/warnings.go;
pkg/registry/networking/{ingress,networkpolicy}/strategy.go; pkg/registry/core/endpoint/strategy.go;
pkg/registry/discovery/endpointslice/strategy.go.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, parse_quantity
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.validation.names import label_value

_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_STATIC: Final = ".static.k8s.io"
_PEM: Final = re.compile(rb"-----BEGIN ([^\n-]+)-----\r?\n.*?-----END \1-----", re.DOTALL)


def service_account_warnings(account: Document, old: Document | None) -> list[str]:
    """Return the warnings about an annotation that a write adds."""
    if _has_annotation(old, _MOUNTABLE) or not _has_annotation(account, _MOUNTABLE):
        return []
    return [
        f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to"
        " isolate access to mounted secrets"
    ]


def _has_annotation(document: Document | None, key: str) -> bool:
    return key in (((document or {}).get("metadata") or {}).get("annotations") or {})


def secret_warnings(secret: Document, _old: Document | None) -> list[str]:
    """Return the warning about a certificate or a key without PEM.

    Notes
    -----
    Upstream also parses both, and warns if they do not belong together.
    Upstream: Go crypto/tls/tls.go, X509KeyPair
    """
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data: Document = secret.get("data") or {}
    problem = _certificate(_types(data.get("tls.crt"))) or _key(_types(data.get("tls.key")))
    return [problem] if problem else []


def _types(encoded: object) -> list[str]:
    """Return the types of the PEM blocks in base64 text."""
    try:
        text = b64decode(encoded or "") if isinstance(encoded, str) else b""
    except (binascii.Error, ValueError):
        return []
    return [each.decode(errors="replace") for each in _PEM.findall(text)]


def _certificate(types: list[str]) -> str:
    """Return what is wrong with the blocks of a certificate, as crypto/tls does."""
    if "CERTIFICATE" in types:
        return ""
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private"
            " key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM'
        f" blocks of the following types: [{' '.join(types)}]"
    )


def _key(types: list[str]) -> str:
    """Return what is wrong with the blocks of a key, as crypto/tls does."""
    if any(each == "PRIVATE KEY" or each.endswith(" PRIVATE KEY") for each in types):
        return ""
    if not types:
        return "tls: failed to find any PEM data in key input"
    if types == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
        f" skipping PEM blocks of the following types: [{' '.join(types)}]"
    )


def slice_warnings(resource_slice: Document, _old: Document | None) -> list[str]:
    """Return the warnings about the driver of a ResourceSlice."""
    driver = (resource_slice.get("spec") or {}).get("driver") or ""
    if driver == driver.lower():
        return []
    text = f"driver names should be lowercase; {printed(driver)} contains uppercase characters"
    return [f"spec.driver: {text}"]


def admission_warnings(configuration: Document, _old: Document | None) -> list[str]:
    """Return the warnings about the name of a policy, a binding or a webhook configuration."""
    name = (configuration.get("metadata") or {}).get("name") or ""
    if not name.endswith(_STATIC):
        return []
    return [
        f"metadata.name: names ending with {printed(_STATIC)} are reserved for static"
        " manifest-based configurations and cannot be managed via the API"
    ]


_REQUESTS: Final = (
    ("requests.cpu", "cpu"), ("requests.memory", "memory"),
    ("requests.storage",), ("requests.ephemeral-storage",),
)  # fmt: skip
"""The names of the amounts that limits may not be below; of several, the first one counts."""


def quota_warnings(quota: Document, old: Document | None) -> list[str]:
    """Return the warnings about a new quota whose limits are below its requests."""
    if old is not None:
        return []
    hard: Document = (quota.get("spec") or {}).get("hard") or {}
    found: list[str] = []
    for names in _REQUESTS:
        request = next((name for name in names if name in hard), "")
        limit = names[0].replace("requests.", "limits.")
        is_pair = request in hard and limit in hard
        if is_pair and parse_quantity(hard[request]) > parse_quantity(hard[limit]):
            found.append(
                f"ResourceQuota {request} ({hard[request]}) should be less than {limit}"
                f" ({hard[limit]})"
            )
    return found


# Warnings about addresses and networks that are not in their standard form.

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_OCTETS = re.compile(r"\d+\.\d+\.\d+\.\d+")


def ip_warnings(path: str, text: str) -> list[str]:
    """Return the warnings about an address; none if it is not one."""
    plain = _without_zeros(text)
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return []
    if _mapped(address) or plain != text:
        better = printed(_go_address(address))
        return [f"{path}: non-standard IP address {printed(text)} is invalid: use {better}"]
    if address.version == 6 and str(address) != text:
        return [
            f"{path}: IPv6 address {printed(text)} should be in RFC 5952 canonical format"
            f" ({printed(str(address))})"
        ]
    return []


def cidr_warnings(path: str, text: str) -> list[str]:
    """Return the warnings about a network; none if it is not one."""
    host, _, length = text.partition("/")
    if not length:
        return []
    plain = f"{_without_zeros(host)}/{length.lstrip('0') or '0'}"
    try:
        interface = ipaddress.ip_interface(plain)
    except ValueError:
        return []
    base, length_bits = interface.network.network_address, interface.network.prefixlen
    network = f"{_go_address(base)}/{length_bits - 96 if _mapped(base) else length_bits}"
    found: list[str] = []
    if interface.ip != interface.network.network_address:
        single = f"{_go_address(interface.ip)}/{interface.max_prefixlen}"
        found.append(
            f"{path}: CIDR value {printed(text)} is ambiguous in this context (should be"
            f" {printed(network)} or {printed(single)}?)"
        )
    if _mapped(interface.ip) or plain != text:
        found.append(
            f"{path}: non-standard CIDR value {printed(text)} is invalid: use {printed(network)}"
        )
    if not found and interface.version == 6 and network != text:
        found.append(
            f"{path}: IPv6 CIDR value {printed(text)} should be in RFC 5952 canonical format"
            f" ({printed(network)})"
        )
    return found


def _mapped(address: _Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, if any."""
    return address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None


def _go_address(address: _Address) -> str:
    """Return an address as Go prints it."""
    return str(_mapped(address) or address)


def _without_zeros(text: str) -> str:
    """Return an IPv4 address without the zeros before its numbers."""
    if not _OCTETS.fullmatch(text):
        return text
    return ".".join(part.lstrip("0") or "0" for part in text.split("."))


# Warnings about nodes, and about selectors of nodes by labels that are deprecated.

DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""The labels of nodes that are deprecated, and what to use instead."""


def node_warnings(node: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a node."""
    spec: Document = node.get("spec") or {}
    found: list[str] = []
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs") or ()):
        found += cidr_warnings(f"spec.podCIDRs[{index}]", text)
    return found


def runtime_class_warnings(runtime_class: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a RuntimeClass."""
    selector = (runtime_class.get("scheduling") or {}).get("nodeSelector") or {}
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"
        for key in selector
        if key in DEPRECATED_LABELS
    ]


def selector_warnings(path: str, selector: Document | None) -> list[str]:
    """Return the warnings about a label selector of nodes."""
    selector = selector or {}
    found = _expression_warnings(path, selector.get("matchExpressions") or ())
    return found + [
        f"{path}.matchLabels.{key}: {DEPRECATED_LABELS[key]}"
        for key in selector.get("matchLabels") or ()
        if key in DEPRECATED_LABELS
    ]


def term_warnings(path: str, term: Document, *, checks_values: bool = False) -> list[str]:
    """Return the warnings about a term of a node selector.

    Parameters
    ----------
    checks_values : bool
        Whether values that are no label values are warned about; those of required terms are
        errors.
    """
    return _expression_warnings(
        path, term.get("matchExpressions") or (), checks_values=checks_values
    )


def _expression_warnings(
    path: str, expressions: Iterable[Document], *, checks_values: bool = False
) -> list[str]:
    found: list[str] = []
    for index, expression in enumerate(expressions):
        at, key = f"{path}.matchExpressions[{index}]", expression.get("key") or ""
        if key in DEPRECATED_LABELS:
            found.append(f"{at}.key: {key} is {DEPRECATED_LABELS[key]}")
        if checks_values:
            found += [
                f"{at}.values[{number}]: {value} is invalid, {text}"
                for number, value in enumerate(expression.get("values") or ())
                for text in label_value(value)
            ]
    return found


# Warnings about volumes, storage classes, drivers and capacities.

_OLD_ANNOTATIONS: Final = {
    "volume.beta.kubernetes.io/storage-class": (
        'deprecated since v1.8; use "storageClassName" attribute instead'
    ),
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
_OLD_SOURCES: Final = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""By field, in upstream's order: its name in the text, and the text."""

_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to"
    " prevent possible logging of tokens in volume attributes"
)


def volume_warnings(volume: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a PersistentVolume."""
    notes = (volume.get("metadata") or {}).get("annotations") or {}
    spec: Document = volume.get("spec") or {}
    found = [
        f"metadata.annotations[{key}]: {text}"
        for key, text in _OLD_ANNOTATIONS.items()
        if key in notes
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        found += term_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    found += [
        f"spec.{name}: {text}"
        for field, (name, text) in _OLD_SOURCES.items()
        if spec.get(field) is not None
    ]
    return found


def class_warnings(storage_class: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a StorageClass."""
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key:"
        f" {DEPRECATED_LABELS[expression['key']]}"
        for index, term in enumerate(storage_class.get("allowedTopologies") or ())
        for number, expression in enumerate(term.get("matchLabelExpressions") or ())
        if expression.get("key") in DEPRECATED_LABELS
    ]


def capacity_warnings(capacity: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a CSIStorageCapacity."""
    return selector_warnings("nodeTopology", capacity.get("nodeTopology"))


def driver_warnings(driver: Document, old: Document | None) -> list[str]:
    """Return the warnings about a CSIDriver that starts to receive tokens."""
    spec: Document = driver.get("spec") or {}
    tokens = spec.get("tokenRequests")
    before = None if old is None else (old.get("spec") or {}).get("tokenRequests")
    if not tokens or tokens == before or spec.get("serviceAccountTokenInSecrets") is not None:
        return []
    return [_TOKENS]


# Warnings about services, endpoints, ingresses and network policies.

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SLICE_CONTROLLERS: Final = (
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
)


def service_warnings(service: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a Service."""
    notes = (service.get("metadata") or {}).get("annotations") or {}
    spec: Document = service.get("spec") or {}
    found: list[str] = []
    if _HINTS in notes:
        found.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    found += [*_addresses(spec), *_ignored(spec)]
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _addresses(spec: Document) -> Iterator[str]:
    """Yield the warnings about the addresses of a Service."""
    external = spec.get("externalIPs") or ()
    is_headless = _is_headless(spec)
    if spec.get("clusterIP") not in (None, "", "None"):
        for index, text in enumerate(spec.get("clusterIPs") or ()):
            yield from ip_warnings(f"spec.clusterIPs[{index}]", text)
    if is_headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for index, text in enumerate(external):
        yield from ip_warnings(f"spec.externalIPs[{index}]", text)
    if external and not is_headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from ip_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{index}]", text)


def _ignored(spec: Document) -> Iterator[str]:
    """Yield the warnings about fields that a type of Service ignores."""
    is_external = spec.get("type") == "ExternalName"
    if is_external and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not is_external and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _is_headless(spec: Document) -> bool:
    return spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"


def load_balancer_warnings(document: Document, _old: Document | None) -> list[str]:
    """Return the warnings about the addresses in the status of a Service or an Ingress."""
    status: Document = (document.get("status") or {}).get("loadBalancer") or {}
    return [
        text
        for index, each in enumerate(status.get("ingress") or ())
        for text in ip_warnings(f"status.loadBalancer.ingress[{index}]", each.get("ip") or "")
    ]


def ingress_warnings(ingress: Document, old: Document | None) -> list[str]:
    """Return the warnings about a new Ingress."""
    notes = (ingress.get("metadata") or {}).get("annotations") or {}
    has_class = (ingress.get("spec") or {}).get("ingressClassName") is not None
    if old is not None or _INGRESS_CLASS not in notes or has_class:
        return []
    return [
        f"annotation {printed(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName'"
        " instead"
    ]


def network_policy_warnings(policy: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a NetworkPolicy."""
    spec: Document = policy.get("spec") or {}
    found: list[str] = []
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(field) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock")
                if block is None:
                    continue
                path = f"spec.{field}[{index}].{peers}[{number}].ipBlock"
                found += cidr_warnings(f"{path}.cidr", block.get("cidr") or "")
                for each, text in enumerate(block.get("except") or ()):
                    found += cidr_warnings(f"{path}.except[{each}]", text)
    return found


def endpoints_warnings(endpoints: Document, _old: Document | None) -> list[str]:
    """Return the warnings about Endpoints that no controller made."""
    labels = (endpoints.get("metadata") or {}).get("labels") or {}
    if labels.get(_MANAGED_BY) == "endpoint-controller":
        return []
    return [
        text
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for field in ("addresses", "notReadyAddresses")
        for number, address in enumerate(subset.get(field) or ())
        for text in ip_warnings(f"subsets[{index}].{field}[{number}].ip", address.get("ip") or "")
    ]


def endpoint_slice_warnings(endpoint_slice: Document, old: Document | None) -> list[str]:
    """Return the warnings about an EndpointSlice."""
    found: list[str] = []
    if old is None and endpoint_slice.get("addressType") == "FQDN":
        found.append("spec.addressType: FQDN endpoints are deprecated")
    labels = (endpoint_slice.get("metadata") or {}).get("labels") or {}
    if labels.get(_SLICE_MANAGED_BY) in _SLICE_CONTROLLERS:
        return found
    for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        for number, text in enumerate(endpoint.get("addresses") or ()):
            found += ip_warnings(f"endpoints[{index}].addresses[{number}]", text)
    return found

"""Cells of services, endpoints and ingresses.

Upstream: pkg/printers/internalversion/printers.go, printService, printIngress and others
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.cells import (
    NONE,
    UNKNOWN,
    marked_name,
    shortened,
    text_of,
)

_MOST = 3


def cluster_ip(service: Document) -> str:
    """Return the first cluster IP of a service."""
    addresses = (service.get("spec") or {}).get("clusterIPs") or ()
    return addresses[0] if addresses else NONE


def external_ip(service: Document) -> str:
    """Return the addresses of a service outside the cluster, or its external name."""
    spec = service.get("spec") or {}
    own = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(own) or NONE
        case "LoadBalancer":
            return ",".join([*_balancer_addresses(service), *own]) or "<pending>"
        case "ExternalName":
            return text_of(spec.get("externalName"))
        case _:
            return UNKNOWN


def service_ports(service: Document) -> str:
    """Return the ports of a service with their node ports and protocols."""
    texts = []
    for port in (service.get("spec") or {}).get("ports") or ():
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port') or 0}{node_port}/{port.get('protocol') or ''}")
    return ",".join(texts) or NONE


def endpoints(obj: Document) -> str:
    """Return the first addresses of Endpoints with their ports."""
    texts: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [each.get("ip") or "" for each in subset.get("addresses") or ()]
        ports = [each.get("port") or 0 for each in subset.get("ports") or ()]
        texts += [_joined(ip, port) for port in ports for ip in addresses] if ports else addresses
    # Without an address in any subset, upstream prints nothing.
    return shortened(texts, _MOST, empty="" if obj.get("subsets") else NONE)


def slice_ports(endpoint_slice: Document) -> str:
    """Return the first ports of an endpoint slice, `*` for all."""
    ports = endpoint_slice.get("ports") or ()
    return shortened((_port(each) for each in ports), _MOST)


def slice_addresses(endpoint_slice: Document) -> str:
    """Return the first addresses of an endpoint slice."""
    found = endpoint_slice.get("endpoints") or ()
    return shortened((ip for each in found for ip in each.get("addresses") or ()), _MOST)


def ingress_hosts(ingress: Document) -> str:
    """Return the first hosts of an ingress, `*` without any."""
    rules = (ingress.get("spec") or {}).get("rules") or ()
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _MOST:
            # Upstream counts rules that it hides, with a host or without.
            return f"{','.join(hosts)} + {len(rules) - _MOST} more..."
        if host := rule.get("host"):
            hosts.append(host)
    return ",".join(hosts) or "*"


def ingress_address(ingress: Document) -> str:
    """Return the addresses of the load balancer of an ingress."""
    return ",".join(_balancer_addresses(ingress))


def ingress_ports(ingress: Document) -> str:
    """Return the ports of an ingress, which depend on TLS only."""
    return "80, 443" if (ingress.get("spec") or {}).get("tls") else "80"


class_name: Final = partial(
    marked_name, annotations=("ingressclass.kubernetes.io/is-default-class",)
)


def class_parameters(ingress_class: Document) -> str:
    """Return the object with the parameters of an ingress class."""
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is None:
        return NONE
    kind, group = parameters.get("kind") or "", parameters.get("apiGroup")
    return f"{kind if group is None else f'{kind}.{group}'}/{parameters.get('name') or ''}"


def address_parent(ip_address: Document) -> str:
    """Return the object that owns an IP address."""
    parent = (ip_address.get("spec") or {}).get("parentRef")
    if parent is None:
        return NONE
    resource, group = parent.get("resource") or "", parent.get("group")
    of_group = f"{resource}.{group}" if group else resource
    namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
    return f"{of_group.lower()}{namespace}/{parent.get('name') or ''}"


def _balancer_addresses(obj: Document) -> list[str]:
    """Return the distinct addresses of a load balancer, sorted."""
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    entries: Iterable[Document] = balancer.get("ingress") or ()
    return sorted({each.get("ip") or each.get("hostname") or "" for each in entries} - {""})


def _port(port: Document) -> str:
    number, name = port.get("port"), port.get("name")
    return str(number) if number is not None else "*" if name is None else name


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

"""Cells of nodes.

Upstream: pkg/printers/internalversion/printers.go, printNode
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.conversions import NONE, UNKNOWN

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def status(node: Document) -> str:
    """Return whether the node is ready, and whether it is cordoned."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    # The last condition of the type counts, as in upstream's map.
    found = [each.get("status") for each in conditions if each.get("type") == "Ready"]
    ready = "Unknown" if not found else "Ready" if found[-1] == "True" else "NotReady"
    is_cordoned = (node.get("spec") or {}).get("unschedulable")
    return f"{ready},SchedulingDisabled" if is_cordoned else ready


def roles(node: Document) -> str:
    """Return the roles that labels give a node, sorted."""
    found = set()
    for key, value in ((node.get("metadata") or {}).get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            found.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            found.add(value)
    return ",".join(sorted(found - {""})) or NONE


def internal_ip(node: Document) -> str:
    """Return the first address of type InternalIP."""
    return _address(node, "InternalIP")


def external_ip(node: Document) -> str:
    """Return the first address of type ExternalIP."""
    return _address(node, "ExternalIP")


def kernel_version(node: Document) -> str:
    """Return the version of the kernel, with the architecture of the machine."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    version, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{version} ({architecture})" if architecture else str(version)


def _address(node: Document, address_type: str) -> str:
    for each in (node.get("status") or {}).get("addresses") or ():
        if each.get("type") == address_type:
            return str(each.get("address") or "")
    return NONE

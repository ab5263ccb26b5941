"""The quality-of-service class of a pod.

Upstream: pkg/apis/core/v1/helper/qos/qos.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, parse_quantity

_COMPARED: Final = ("cpu", "memory")


def qos_class(spec: Document) -> str:
    """Return the QoS class of a pod.

    Upstream: pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS
    """
    owners: list[Document] = [
        *(spec.get("containers") or []),
        *(spec.get("initContainers") or []),
    ]
    if spec.get("resources") is not None:
        # Resources of the pod as a whole take the place of those of its containers.
        owners = [spec]
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    are_limited = True
    for owner in owners:
        resources: Document = owner.get("resources") or {}
        limited: Document = resources.get("limits") or {}
        are_limited = _add(limits, limited) == len(_COMPARED) and are_limited
        # An absent request equals its limit, as the defaults of the API set it.
        _add(requests, limited | (resources.get("requests") or {}))
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if are_limited and requests == limits else "Burstable"


def _add(totals: dict[str, int], amounts: Document) -> int:
    """Add the positive amounts that are compared to totals in nano; return how many they are."""
    count = 0
    for name in _COMPARED:
        amount = amounts.get(name)
        nano = 0 if amount is None else parse_quantity(amount).nano
        if nano > 0:
            totals[name] = totals.get(name, 0) + nano
            count += 1
    return count

"""Conversions between the versions of the API of devices, which is stored in v1.

In v1beta1 the fields of a request without alternatives, and those of a device, stand one level
higher or lower. The other kinds and v1beta2 have the fields of v1.

Upstream: pkg/apis/resource/v1beta1/conversion.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podwright.apimachinery.objects import Document

DEVICES_V1BETA1: Final = "resource.k8s.io/v1beta1"
_OF_EXACT_REQUESTS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
_LISTS: Final = {
    "ResourceClaim": ("spec", "devices", "requests"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "requests"),
    "ResourceSlice": ("spec", "devices"),
}
"""Where the objects of a kind have the requests or devices."""

CHANGED_DEVICE_KINDS: Final = frozenset(_LISTS)
"""The kinds whose fields differ in v1beta1."""


def devices_v1(document: Document) -> Document:
    """Return an object of resource.k8s.io/v1beta1 with the fields of v1."""
    kind = document["kind"]
    change = _device_v1 if kind == "ResourceSlice" else _request_v1
    changed: Document = _changed(document, _LISTS[kind], change)
    return _without_zeros(changed) if kind == "ResourceSlice" else changed


def devices_v1beta1(document: Document) -> Document:
    """Return an object of resource.k8s.io/v1 with the fields of v1beta1."""
    kind = document["kind"]
    change = _device_v1beta1 if kind == "ResourceSlice" else _request_v1beta1
    changed: Document = _changed(document, _LISTS[kind], change)
    return changed


def _changed(value: Any, path: tuple[str, ...], change: Callable[[Document], Document]) -> Any:
    """Return a value with the items of the list at a path changed."""
    if not path:
        return [change(item) for item in value]
    name, *rest = path
    if not value or value.get(name) is None:
        return value
    return value | {name: _changed(value[name], tuple(rest), change)}


def _request_v1(request: Document) -> Document:
    own = {name: request[name] for name in _OF_EXACT_REQUESTS if _is_set(request.get(name))}
    others = {name: value for name, value in request.items() if name not in _OF_EXACT_REQUESTS}
    return others | {"exactly": own} if own else others


def _request_v1beta1(request: Document) -> Document:
    others = {name: value for name, value in request.items() if name != "exactly"}
    return others | (request.get("exactly") or {})


def _is_set(value: Any) -> bool:
    """Whether a field has another value than Go's zero; false is one of a pointer."""
    return value is not None and value != "" and (value != 0 or value is False)


def _device_v1(device: Document) -> Document:
    others = {name: value for name, value in device.items() if name != "basic"}
    return others | (device.get("basic") or {})


def _device_v1beta1(device: Document) -> Document:
    basic = {name: value for name, value in device.items() if name != "name"}
    return {"name": device["name"], "basic": basic} if "name" in device else {"basic": basic}


def _without_zeros(document: Document) -> Document:
    """Return a slice without zeros of the fields that are no pointers in v1beta1."""
    spec = document.get("spec") or {}
    zeros = [name for name in ("nodeName", "allNodes") if name in spec and not spec[name]]
    if not zeros:
        return document
    kept = {name: value for name, value in spec.items() if name not in zeros}
    return document | {"spec": kept}

"""The fields that field selectors support, per kind, and which of them are indexed.

Upstream: GetAttrs and ToSelectableFields of each kind, pkg/registry/core/pod/strategy.go
first; the conversions of field labels in pkg/apis/*/v1/conversion.go
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

from podwright.objects import FieldSelector, KubernetesObject, SelectorError
from podwright.store.kinds import POD, GroupKind

Getter: TypeAlias = Callable[[KubernetesObject], str]
"""Reads a field as text for comparison; an absent field is empty, or Go's zero value."""

FieldTest: TypeAlias = tuple[Getter, str, bool]
"""The getter of the field, the value, and whether the field must differ from it."""


def _raw(path: str, absent: str = "") -> Getter:
    steps = path.split(".")

    def get(obj: KubernetesObject) -> str:
        value: Any = obj.raw
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return absent
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    return get


def _first_pod_ip(obj: KubernetesObject) -> str:
    addresses = (obj.raw.get("status") or {}).get("podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else ""


def _empty(_obj: KubernetesObject) -> str:
    return ""


_METADATA: dict[str, Getter] = {
    "metadata.name": lambda obj: obj.metadata.name,
    "metadata.namespace": lambda obj: obj.metadata.namespace,
}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _event(reference: str, component: str, source: str) -> dict[str, Getter]:
    return {
        **{f"{reference}.{name}": _raw(f"{reference}.{name}") for name in _REFERENCE},
        "reason": _raw("reason"),
        component: _raw(component),
        "source": _raw(source),
        "type": _raw("type"),
    }


FIELDS: dict[GroupKind, dict[str, Getter]] = {
    POD: {
        "spec.nodeName": attrgetter("spec.node_name"),
        "spec.restartPolicy": _raw("spec.restartPolicy"),
        "spec.schedulerName": _raw("spec.schedulerName"),
        "spec.serviceAccountName": _raw("spec.serviceAccountName"),
        "spec.hostNetwork": _raw("spec.hostNetwork", "false"),
        "status.phase": attrgetter("status.phase"),
        "status.podIP": _first_pod_ip,
        # Accepted and never set: upstream fills in `status.podIP` only.
        "status.podIPs": _empty,
        "status.nominatedNodeName": attrgetter("status.nominated_node_name"),
    },
    ("", "Node"): {"spec.unschedulable": _raw("spec.unschedulable", "false")},
    ("", "Namespace"): {"status.phase": _raw("status.phase")},
    ("", "Secret"): {"type": _raw("type")},
    ("", "Service"): {"spec.clusterIP": _raw("spec.clusterIP"), "spec.type": _raw("spec.type")},
    ("", "ReplicationController"): {"status.replicas": _raw("status.replicas", "0")},
    ("", "Event"): _event("involvedObject", "reportingComponent", "source.component"),
    ("events.k8s.io", "Event"): _event(
        "regarding", "reportingController", "deprecatedSource.component"
    ),
    ("batch", "Job"): {"status.successful": _raw("status.succeeded", "0")},
    ("resource.k8s.io", "ResourceSlice"): {
        "spec.nodeName": _raw("spec.nodeName"),
        "spec.driver": _raw("spec.driver"),
    },
}
"""The fields of each kind besides `metadata.name` and `metadata.namespace`, which all have."""

INDEXED: dict[GroupKind, tuple[str, ...]] = {
    POD: ("spec.nodeName", "status.phase"),
    ("", "Event"): ("involvedObject.uid", "involvedObject.name"),
    ("events.k8s.io", "Event"): ("regarding.uid", "regarding.name"),
    ("resource.k8s.io", "ResourceSlice"): ("spec.nodeName", "spec.driver"),
}
"""The indexed fields of each kind."""


@lru_cache(maxsize=1_024)
def field_tests(kind: GroupKind, selector: FieldSelector) -> tuple[FieldTest, ...]:
    """Compile a field selector for a kind.

    Raises
    ------
    SelectorError
        The kind does not support a field; the message is upstream's.
    """
    own = FIELDS.get(kind)
    known = _METADATA | (own or {})
    tests: list[FieldTest] = []
    for requirement in selector.requirements:
        getter = known.get(requirement.field)
        if getter is None:
            raise SelectorError(
                f"field label not supported: {requirement.field}"
                if own
                else f'"{requirement.field}" is not a known field selector: '
                'only "metadata.name", "metadata.namespace"'
            )
        tests.append((getter, requirement.value, requirement.is_negated))
    return tuple(tests)

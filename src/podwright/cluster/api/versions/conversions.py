"""Conversions between the versions of one kind, which is stored in one of them.

Upstream: pkg/apis/core/v1/conversion.go, pkg/apis/events/v1/conversion.go
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, integer_error, parse_int64
from podwright.apimachinery.schema import Kind, built_in
from podwright.cluster.api.versions.autoscaler_versions import (
    autoscaler_kind,
    autoscaler_v1,
    autoscaler_v2,
    consistent_autoscaler,
)
from podwright.cluster.api.versions.device_versions import (
    CHANGED_DEVICE_KINDS,
    DEVICES_V1BETA1,
    devices_v1,
    devices_v1beta1,
)
from podwright.cluster.store import GroupKind

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
ROLLBACK: Final = "deprecated.deployment.rollback.to"
"""The annotations in which apps/v1 has fields of the internal version."""

Conversion: TypeAlias = Callable[[Document], Document]


class VersionConversion(msgspec.Struct, frozen=True):
    """How the objects of a version are converted to the stored version and back."""

    storage_kind: Kind
    to_storage: Conversion
    from_storage: Conversion


_EVENT_FIELDS: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)


def conversion_of(kind: Kind) -> VersionConversion | None:
    """Return the conversion of a kind; None if its objects are stored as they are."""
    key = (kind.api_version, kind.row.kind)
    if key == ("events.k8s.io/v1", "Event"):
        return VersionConversion(_kind("v1", "Event"), core_event, new_event)
    if key == ("autoscaling/v1", "HorizontalPodAutoscaler"):
        return VersionConversion(autoscaler_kind("v2"), autoscaler_v2, autoscaler_v1)
    target = built_in().of(*kind.group_kind)
    if target is None or target.api_version == kind.api_version:
        return None
    # The other kinds have the same fields in all versions.
    is_changed = key[0] == DEVICES_V1BETA1 and key[1] in CHANGED_DEVICE_KINDS
    forward, back = (devices_v1, devices_v1beta1) if is_changed else (_same, _same)
    return VersionConversion(
        target,
        lambda document: _converted(target.with_defaults(forward(document)), target, {}),
        lambda document: _converted(back(document), kind, {}),
    )


def _same(document: Document) -> Document:
    return document


def _kind(api_version: str, name: str) -> Kind:
    found = built_in().find(api_version, name)
    assert found is not None, f"the table has no {api_version} {name}"
    return found


def _converted(document: Document, target: Kind, fields: dict[str, str]) -> Document:
    renamed = {fields.get(name, name): value for name, value in document.items()}
    return target.go_form(renamed | {"apiVersion": target.api_version})


def core_event(document: Document) -> Document:
    """Return an Event of events.k8s.io/v1 as an Event of v1."""
    return _converted(document, _kind("v1", "Event"), {new: old for old, new in _EVENT_FIELDS})


def new_event(document: Document) -> Document:
    """Return an Event of v1 as an Event of events.k8s.io/v1."""
    return _converted(document, _kind("events.k8s.io/v1", "Event"), dict(_EVENT_FIELDS))


# ---------------------------------------------------------------------- internal versions


def _pod(pod: Document) -> Document:
    """Return a pod whose addresses are consistent: the first of `podIPs` is `podIP`.

    Upstream: pkg/apis/core/v1/conversion.go, Convert_v1_PodStatus_To_core_PodStatus
    """
    status: Document = pod.get("status") or {}
    address, addresses = status.get("podIP"), status.get("podIPs") or []
    if address and (not addresses or addresses[0].get("ip") != address):
        return pod | {"status": status | {"podIPs": [{"ip": address}]}}
    if addresses and not address:
        return pod | {"status": status | {"podIP": addresses[0].get("ip", "")}}
    return pod


def _secret(secret: Document) -> Document:
    """Return a secret whose texts are in `data`; they come before what is there.

    Upstream: pkg/apis/core/v1/conversion.go, Convert_v1_Secret_To_core_Secret
    """
    texts: dict[str, str] | None = secret.get("stringData")
    if texts is None:
        return secret
    added = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    data = {**(secret.get("data") or {}), **added}
    kept = {name: value for name, value in secret.items() if name != "stringData"}
    return kept | {"data": dict(sorted(data.items()))} if data else kept


_ROLLING: Final[Document] = {"maxUnavailable": 0, "maxSurge": 0}


def _daemon_set(daemon_set: Document) -> Document:
    """Return a daemon set with the annotation of its template's generation.

    The numbers of a rolling update are no pointers in the internal version: it always has both.

    Upstream: pkg/apis/apps/v1/conversion.go, Convert_apps_DaemonSet_To_v1_DaemonSet
    """
    strategy: Document = (daemon_set.get("spec") or {}).get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    if rolling is not None and len(rolling) < len(_ROLLING):
        strategy = strategy | {"rollingUpdate": _ROLLING | rolling}
        daemon_set = daemon_set | {"spec": daemon_set["spec"] | {"updateStrategy": strategy}}
    metadata: Document = daemon_set.get("metadata") or {}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION in annotations:
        return daemon_set
    annotations = annotations | {TEMPLATE_GENERATION: "0"}
    return daemon_set | {"metadata": metadata | {"annotations": annotations}}


def _deployment(deployment: Document) -> Document:
    """Return a deployment whose revision of a rollback is written as a number, or absent.

    Upstream: pkg/apis/apps/v1/conversion.go, Convert_apps_Deployment_To_v1_Deployment
    """
    metadata: Document = deployment.get("metadata") or {}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    if ROLLBACK not in annotations:
        return deployment
    others = {name: text for name, text in annotations.items() if name != ROLLBACK}
    revision = parse_int64(annotations[ROLLBACK])
    if revision is not None:
        others[ROLLBACK] = str(revision)
    metadata = {name: value for name, value in metadata.items() if name != "annotations"}
    return deployment | {"metadata": metadata | ({"annotations": others} if others else {})}


def conversion_problem(kind: GroupKind, document: Document) -> str:
    """Return why an object cannot be converted to the internal version; "" if it can.

    Upstream: pkg/apis/apps/v1/conversion.go, Convert_v1_DaemonSet_To_apps_DaemonSet and
    Convert_v1_Deployment_To_apps_Deployment
    """
    name = _NUMBERS_IN_ANNOTATIONS.get(kind)
    if name is None:
        return ""
    annotations: Document = (document.get("metadata") or {}).get("annotations") or {}
    text = str(annotations.get(name) or "")
    if name not in annotations or parse_int64(text) is not None:
        return ""
    error = integer_error("ParseInt", text)
    if name == TEMPLATE_GENERATION:
        return error
    return text and f"failed to parse annotation[{name}]={text} as int64: {error}"


_NUMBERS_IN_ANNOTATIONS: Final[dict[GroupKind, str]] = {
    ("apps", "DaemonSet"): TEMPLATE_GENERATION,
    ("apps", "Deployment"): ROLLBACK,
}


def _with_replicas(workload: Document) -> Document:
    """Return a workload whose replicas, which the internal version always has, are a number."""
    spec: Document = workload.get("spec") or {}
    return workload if "replicas" in spec else workload | {"spec": {"replicas": 0} | spec}


EMPTY: Final[dict[tuple[str, str], Conversion]] = {
    ("apps", "ControllerRevision"): lambda revision: {"data": None} | revision,
    ("apps", "DaemonSet"): _daemon_set,
    **{("apps", kind): _with_replicas for kind in ("Deployment", "ReplicaSet", "StatefulSet")},
}
"""What the conversion from the internal version adds to an empty object, as bookmarks have it.

Upstream: pkg/apis/apps/v1/conversion.go
"""

ROUND_TRIPS: Final[dict[tuple[str, str], Conversion]] = {
    ("", "Pod"): _pod,
    ("", "Secret"): _secret,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("autoscaling", "HorizontalPodAutoscaler"): consistent_autoscaler,
}
"""What the conversion to the internal version and back changes in an object, by group and kind."""

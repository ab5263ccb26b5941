"""Defaults of pods and pod templates.

Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Pod, SetDefaults_PodSpec,
SetDefaults_Container, SetDefaults_Volume
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.container_totals import container_totals, written_total
from podwright.apimachinery.schema.defaults.filling import (
    absent,
    chain,
    empty,
    filled,
    items,
    parts,
    rounded,
    spec,
    with_absent,
    with_empty,
    with_whole_millis,
)

_SPEC: Final = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_FILE_MODE: Final = 0o644
_NOT_SOURCES: Final = frozenset({"name"})
_TEXT_SOURCES: Final = frozenset({"iscsi", "rbd", "scaleIO"})
"""The sources whose defaults replace empty texts."""
_VOLUMES: Final[dict[str, Document]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _pod_spec(spec: Document) -> Document:
    """Return the spec of a pod with the defaults that a template does not get."""
    spec = _REQUESTS(spec)
    # Pod-level requests are sums over containers, whose own defaults therefore come first.
    spec = _with_pod_resources(spec)
    if spec.get("hostNetwork"):
        spec = _HOST_PORTS(spec)
    # Upstream: pkg/apis/core/v1/conversion.go; a template keeps a negative period.
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec = spec | {"terminationGracePeriodSeconds": 1}
    return with_absent(spec_with_defaults(spec), {"enableServiceLinks": True})


set_pod_defaults: Final = spec(_pod_spec)


def spec_with_defaults(spec: Document) -> Document:
    """Return the spec of a pod or template with the defaults that both get."""
    spec = with_empty(spec, _SPEC)
    spec = with_absent(spec, {"terminationGracePeriodSeconds": 30, "securityContext": {}})
    spec = _with_account(spec)
    return _OF_SPEC(spec)


template_with_defaults: Final = spec(spec_with_defaults)
"""Sets the defaults of the pod template of a workload."""
set_pod_template_defaults: Final = parts(template=template_with_defaults)


def _with_account(spec: Document) -> Document:
    """Return a spec that names its account in the current and in the deprecated field.

    Upstream: pkg/apis/core/v1/conversion.go, Convert_core_PodSpec_To_v1_PodSpec
    """
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if not name or spec.get("serviceAccountName") == spec.get("serviceAccount"):
        return spec
    return spec | {"serviceAccountName": name, "serviceAccount": name}


# -------------------------------------------------------------------------------- resources


def _with_requests(container: Document) -> Document:
    """Return a container whose requests default to its limits."""
    resources: Document = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = resources.get("requests") or {}
    if all(name in requests for name in limits):
        return container
    return container | {"resources": resources | {"requests": {**limits, **requests}}}


def _with_pod_resources(spec: Document) -> Document:
    """Return a spec whose pod-level requests and limits default to those of its containers.

    Upstream: defaultHugePagePodLimits, defaultPodRequests
    """
    resources: Document | None = spec.get("resources")
    if not resources:
        return spec
    requests: dict[str, Any] = dict(resources.get("requests") or {})
    limits: dict[str, Any] = dict(resources.get("limits") or {})
    if not limits and not requests:
        return spec
    # Huge pages come first, because their limits become requests below.
    for name, amount in sorted(container_totals(spec, "limits").items()):
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, written_total(spec, "limits", name, amount))
    if limits:
        # The sums precede the limits, since the first value of a resource stays.
        for name, amount in sorted(container_totals(spec, "requests").items()):
            if name in ("cpu", "memory"):
                requests.setdefault(name, written_total(spec, "requests", name, amount))
        for name, text in limits.items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                requests.setdefault(name, text)
    changed = {name: part for name, part in (("limits", limits), ("requests", requests)) if part}
    if all(resources.get(name) == part for name, part in changed.items()):
        return spec
    return spec | {"resources": resources | changed}


set_pod_resource_defaults: Final = spec(_with_pod_resources)
"""Sets the defaults of pod-level requests and limits alone."""


# ------------------------------------------------------------------------------- containers


def _host_port(port: Document) -> Document:
    own = port.get("containerPort")
    return port if port.get("hostPort") or not own else port | {"hostPort": own}


def _container(container: Document) -> Document:
    missing: Document = {}
    if container.get("resources") is None:
        missing["resources"] = {}
    for name, value in _CONTAINER.items():
        if not container.get(name):
            missing[name] = value
    if not container.get("imagePullPolicy"):
        missing["imagePullPolicy"] = pull_policy(container.get("image") or "")
    container = filled(container, missing)
    return _OF_CONTAINER(container)


_FIELD_REFERENCE: Final = empty(apiVersion="v1")
_HTTP_GET: Final = empty(path="/", scheme="HTTP")
_PROBE: Final = chain(
    empty(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3),
    parts(httpGet=_HTTP_GET, grpc=absent(service="")),
)
_HANDLER: Final = parts(httpGet=_HTTP_GET)
_OF_CONTAINER: Final = parts(
    resources=with_whole_millis,
    ports=items(empty(protocol="TCP")),
    env=items(parts(valueFrom=parts(fieldRef=_FIELD_REFERENCE, fileKeyRef=absent(optional=False)))),
    livenessProbe=_PROBE,
    readinessProbe=_PROBE,
    startupProbe=_PROBE,
    lifecycle=parts(postStart=_HANDLER, preStop=_HANDLER),
)


_HOST: Final = (
    r"(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?"
)
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"{_HOST}{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
"""The name of an image. Upstream: github.com/distribution/reference regexp.go"""


_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
"""Upstream: github.com/opencontainers/go-digest digest.go, Validate"""
_REPOSITORY_MAX: Final = 255


def _repository(image: str) -> str:
    """Return the path of the repository of an image, as it is in full.

    Upstream: github.com/distribution/reference normalize.go, splitDockerDomain
    """
    host, slash, path = image.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, path = "", image
    name = path.partition("@")[0].partition(":")[0]
    return name if host or "/" in name else f"library/{name}"


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """Return when an image is pulled: always if its tag is `latest`, which it is by default.

    An image with a digest has no default tag. One whose name cannot be parsed has no tag.

    Upstream: pkg/util/parsers/parsers.go, ParseImageName
    """
    found = _IMAGE.fullmatch(image)
    if found is None or len(_repository(image)) > _REPOSITORY_MAX:
        return "IfNotPresent"
    tag, digest = found["tag"], found["digest"]
    if digest and not _DIGEST.fullmatch(digest):
        return "IfNotPresent"
    is_latest = tag == "latest" or not (tag or digest)
    return "Always" if is_latest else "IfNotPresent"


# ---------------------------------------------------------------------------------- volumes


def with_source_defaults(holder: Document) -> Document:
    """Set the defaults of the sources of a volume, or of the spec of a PersistentVolume."""
    for kind, source in holder.items():
        if source is not None and kind in _VOLUMES:
            fill = with_empty if kind in _TEXT_SOURCES else with_absent
            filled = fill(source, _VOLUMES[kind])
            if filled is not source:
                holder = holder | {kind: filled}
    return holder


def _volume(volume: Document) -> Document:
    kinds = [
        name for name, value in volume.items() if value is not None and name not in _NOT_SOURCES
    ]
    if not kinds:
        return with_absent(volume, {"emptyDir": {}})
    return _OF_VOLUME(with_source_defaults(volume))


def claim_spec(spec: Document) -> Document:
    """Return the spec of a claim with its defaults."""
    spec = with_absent(spec, {"volumeMode": "Filesystem"})
    return _AMOUNTS(spec)


_AMOUNTS: Final = parts(resources=with_whole_millis)


def _image(source: Document) -> Document:
    if source.get("pullPolicy"):
        return source
    return source | {"pullPolicy": pull_policy(source.get("reference") or "")}


_DOWNWARD: Final = parts(items=items(parts(fieldRef=_FIELD_REFERENCE)))
_OF_VOLUME: Final = parts(
    downwardAPI=_DOWNWARD,
    projected=parts(
        sources=items(
            parts(downwardAPI=_DOWNWARD, serviceAccountToken=absent(expirationSeconds=3600))
        )
    ),
    ephemeral=parts(volumeClaimTemplate=spec(claim_spec)),
    image=_image,
)
_CONTAINERS: Final = items(_container)
_OF_SPEC: Final = parts(
    volumes=items(_volume),
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    ephemeralContainers=_CONTAINERS,
    overhead=rounded,
    resources=with_whole_millis,
)
_REQUESTS: Final = parts(containers=items(_with_requests), initContainers=items(_with_requests))
_PORTS: Final = items(parts(ports=items(_host_port)))
_HOST_PORTS: Final = parts(containers=_PORTS, initContainers=_PORTS)

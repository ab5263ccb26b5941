"""The objects to which a pod refers by name.

Upstream: pkg/api/v1/pod/util.go, VisitPodSecretNames, VisitPodConfigmapNames;
pkg/api/pod/util.go, HasAPIObjectReference
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.objects import Document

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_SECRET_REF: Final = frozenset(
    {"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"}
)


def containers_of(spec: Document) -> Iterator[Document]:
    """Yield all containers of a pod."""
    for field in _CONTAINERS:
        yield from spec.get(field) or ()


def secret_names(spec: Document) -> Iterator[str]:
    """Yield the names of the secrets that a pod uses; a name may come more than once."""
    for reference in spec.get("imagePullSecrets") or ():
        if name := reference.get("name"):
            yield name
    for container in containers_of(spec):
        yield from _environment(container, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield from filter(None, _volume_secrets(volume))


def config_map_names(spec: Document) -> Iterator[str]:
    """Yield the names of the config maps that a pod uses; a name may come more than once."""
    for container in containers_of(spec):
        yield from _environment(container, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        if own := volume.get("configMap"):
            yield own.get("name") or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            if own := source.get("configMap"):
                yield own.get("name") or ""


def _environment(container: Document, all_of: str, key_of: str) -> Iterator[str]:
    for source in container.get("envFrom") or ():
        if own := source.get(all_of):
            yield own.get("name") or ""
    for variable in container.get("env") or ():
        if own := (variable.get("valueFrom") or {}).get(key_of):
            yield own.get("name") or ""


def _volume_secrets(volume: Document) -> Iterator[str]:
    for source, fields in volume.items():
        if not isinstance(fields, dict):
            continue
        if source in ("secret", "azureFile"):
            yield fields.get("secretName") or ""
        elif source == "csi":
            yield (fields.get("nodePublishSecretRef") or {}).get("name") or ""
        elif source == "projected":
            for each in fields.get("sources") or ():
                yield (each.get("secret") or {}).get("name") or ""
        elif source in _SECRET_REF:
            yield (fields.get("secretRef") or {}).get("name") or ""


def claim_names(pod: Document) -> Iterator[str]:
    """Yield the names of the persistent volume claims that a pod uses."""
    name = (pod.get("metadata") or {}).get("name") or ""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if own := volume.get("persistentVolumeClaim"):
            yield own.get("claimName") or ""
        elif volume.get("ephemeral") is not None:
            yield f"{name}-{volume.get('name') or ''}"


_BY_VOLUME: Final = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_BY_PROJECTION: Final = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def referenced_resource(pod: Document) -> str | None:
    """Return the resource of an object to which a pod refers; None if it refers to none."""
    spec: Document = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(True for _ in secret_names(spec)):
        return "secrets"
    if any(True for _ in config_map_names(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        for source, resource in _BY_VOLUME.items():
            if volume.get(source) is not None:
                return resource
        for each in (volume.get("projected") or {}).get("sources") or ():
            for source, resource in _BY_PROJECTION.items():
                if each.get(source) is not None:
                    return resource
    return None

"""Validation of the sources of volumes, those of pods and those of persistent volumes.

Most sources only have required fields, which are in a table. The others have a function each.

Upstream: pkg/apis/core/validation/validation.go, validateVolumeSource,
ValidatePersistentVolumeSpec
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    dns_subdomain,
    path_without_backsteps,
    relative_path,
)

SourceRule: TypeAlias = Callable[[FieldErrors, str, Document], None]

ONE_SOURCE: Final = "may not specify more than 1 volume type"

_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "gcePersistentDisk": ("pdName",),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "vsphereVolume": ("volumePath",),
}
# Upstream writes these sources with other names in the paths of errors.
_NAMES_IN_PATHS: Final = {"gcePersistentDisk": "persistentDisk"}
_NAMES_IN_CONFLICTS: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_IQN: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([-.A-Za-z0-9]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile("^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile("^naa.[A-Za-z0-9]{32}$"),
}


def validate_sources(
    errors: FieldErrors,
    path: str,
    volume: Document,
    kinds: Mapping[str, SourceRule | None],
) -> int:
    """Check the sources of a volume, of which there is exactly one.

    Parameters
    ----------
    kinds : mapping
        The possible sources in upstream's order, each with its rule; None for the common rule.

    Returns
    -------
    int
        The number of sources.
    """
    found = [kind for kind in volume if kind in kinds and volume[kind] is not None]
    if len(found) > 1:
        found = [kind for kind in kinds if kind in found]
    if not found:
        errors.required(path, "must specify a volume type")
    for index, kind in enumerate(found):
        if index:
            errors.forbidden(f"{path}.{_NAMES_IN_CONFLICTS.get(kind, kind)}", ONE_SOURCE)
            continue
        rule = kinds[kind] or _COMMON.get(kind)
        at = f"{path}.{_NAMES_IN_PATHS.get(kind, kind)}"
        for name in _REQUIRED.get(kind, ()):
            if not volume[kind].get(name):
                errors.required(f"{at}.{name}")
        if rule is not None:
            rule(errors, at, volume[kind])
    return len(found)


def validate_file_mode(errors: FieldErrors, path: str, mode: int | None) -> None:
    """Check the permissions of a file; None passes."""
    if mode is not None and not 0 <= mode <= 0o777:
        text = "must be a number between 0 and 0777 (octal), both inclusive"
        errors.invalid(path, mode, text)


def validate_driver_name(errors: FieldErrors, path: str, name: str | None) -> None:
    """Check the name of a CSI driver."""
    if not name:
        errors.required(path)
        return
    if len(name) > 63:
        errors.too_long(path, 63)
    errors.each(path, name, dns_subdomain(name.lower()))


def _host_path(errors: FieldErrors, path: str, source: Document) -> None:
    where = source.get("path")
    if not where:
        errors.required(f"{path}.path")
        return
    path_without_backsteps(errors, f"{path}.path", where)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _git_repo(errors: FieldErrors, path: str, source: Document) -> None:
    if not source.get("repository"):
        errors.required(f"{path}.repository")
    relative_path(errors, f"{path}.directory", source.get("directory") or "")


def _partition(errors: FieldErrors, path: str, source: Document) -> None:
    partition = source.get("partition") or 0
    if not 0 <= partition <= 255:
        errors.invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive")


def _nfs(errors: FieldErrors, path: str, source: Document) -> None:
    where = source.get("path") or ""
    for name in ("server", "path"):
        if not source.get(name):
            errors.required(f"{path}.{name}")
    if not where.startswith("/"):
        errors.invalid(f"{path}.path", where, "must be an absolute path")


def _iscsi(errors: FieldErrors, path: str, source: Document) -> None:
    if not source.get("targetPortal"):
        errors.required(f"{path}.targetPortal")
    if not source.get("iqn"):
        errors.required(f"{path}.iqn")
    for field, name in (("iqn", "iqn"), ("initiatorName", "initiatorname")):
        value = source.get(field)
        if not value and field == "iqn":
            continue
        if value is not None:
            syntax = _IQN.get(value[:3])
            if syntax is None:
                text = "must be valid format starting with iqn, eui, or naa"
                errors.invalid(f"{path}.{name}", value, text)
            elif not syntax.search(value):
                errors.invalid(f"{path}.{name}", value, "must be valid format")
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errors.invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive")
    uses_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if uses_secret and source.get("secretRef") is None:
        errors.required(f"{path}.secretRef")


def _flocker(errors: FieldErrors, path: str, source: Document) -> None:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uid:
        errors.required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.invalid(path, "resource", text)
    if "/" in name:
        errors.invalid(f"{path}.datasetName", name, "must not contain '/'")


def _quobyte(errors: FieldErrors, path: str, source: Document) -> None:
    registry = source.get("registry") or ""
    text = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.required(f"{path}.registry", text)
    elif len(source.get("tenant") or "") >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.required(f"{path}.tenant", text)
    elif not all(pair.count(":") == 1 for pair in registry.split(",")):
        errors.invalid(f"{path}.registry", registry, text)
    if not source.get("volume"):
        errors.required(f"{path}.volume")


def _fc(errors: FieldErrors, path: str, source: Document) -> None:
    targets, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not targets and not ids:
        text = "must specify either targetWWNs or wwids, but not both"
        errors.required(f"{path}.targetWWNs", text)
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.invalid(f"{path}.targetWWNs", targets, text)
    if targets and lun is None:
        errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets and not 0 <= (lun or 0) <= 255:
        errors.invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive")


def _flex(errors: FieldErrors, path: str, source: Document) -> None:
    if not source.get("driver"):
        errors.required(f"{path}.driver")
    for key in sorted(source.get("options") or ()):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.invalid(f"{path}.options[{key}]", key, text)


def _azure_disk(errors: FieldErrors, path: str, source: Document) -> None:
    uri, kind = source.get("diskURI") or "", source.get("kind")
    for name in ("diskName", "diskURI"):
        if not source.get(name):
            errors.required(f"{path}.{name}")
    for name, choices in (
        ("cachingMode", ("None", "ReadOnly", "ReadWrite")),
        ("kind", ("Dedicated", "Managed", "Shared")),
    ):
        if source.get(name) is not None and source[name] not in choices:
            errors.unsupported(f"{path}.{name}", source[name], choices)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        text = (
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute"
            "/disks/{disk-id}"
        )
        errors.unsupported(f"{path}.diskURI", uri, (text,))
    elif kind not in (None, "Managed") and not uri.startswith("https://"):
        text = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        errors.unsupported(f"{path}.diskURI", uri, (text,))


def _storage_os(errors: FieldErrors, path: str, source: Document) -> None:
    if not source.get("volumeName"):
        errors.required(f"{path}.volumeName")
    for name in ("volumeName", "volumeNamespace"):
        if value := source.get(name):
            errors.each(f"{path}.{name}", value, dns_label(value))


def validate_csi_source(errors: FieldErrors, path: str, source: Document) -> None:
    """Check an inline CSI volume of a pod."""
    validate_driver_name(errors, f"{path}.driver", source.get("driver"))
    secret: dict[str, Any] | None = source.get("nodePublishSecretRef")
    if secret is None:
        return
    if not secret.get("name"):
        errors.required(f"{path}.nodePublishSecretRef.name")
    else:
        errors.each(f"{path}.name", secret["name"], dns_subdomain(secret["name"]))


def _csi_persistent(errors: FieldErrors, path: str, source: Document) -> None:
    validate_driver_name(errors, f"{path}.driver", source.get("driver"))
    if not source.get("volumeHandle"):
        errors.required(f"{path}.volumeHandle")
    for name in (
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ):
        secret = source.get(name)
        if secret is None:
            continue
        for field, rule in (("name", dns_subdomain), ("namespace", dns_label)):
            if value := secret.get(field):
                errors.each(f"{path}.{name}.{field}", value, rule(value))
            else:
                errors.required(f"{path}.{name}.{field}")


def _local(errors: FieldErrors, path: str, source: Document) -> None:
    where = source.get("path")
    if not where:
        errors.required(f"{path}.path")
    else:
        path_without_backsteps(errors, f"{path}.path", where)


_COMMON: Final[dict[str, SourceRule]] = {
    "awsElasticBlockStore": _partition,
    "azureDisk": _azure_disk,
    "fc": _fc,
    "flexVolume": _flex,
    "flocker": _flocker,
    "gcePersistentDisk": _partition,
    "gitRepo": _git_repo,
    "hostPath": _host_path,
    "iscsi": _iscsi,
    "local": _local,
    "nfs": _nfs,
    "quobyte": _quobyte,
    "storageos": _storage_os,
}

PERSISTENT_SOURCES: Final[dict[str, SourceRule | None]] = {
    "hostPath": None,
    "gcePersistentDisk": None,
    "awsElasticBlockStore": None,
    "glusterfs": None,
    "flocker": None,
    "nfs": None,
    "rbd": None,
    "quobyte": None,
    "cephfs": None,
    "iscsi": None,
    "cinder": None,
    "fc": None,
    "flexVolume": None,
    "azureFile": None,
    "vsphereVolume": None,
    "photonPersistentDisk": None,
    "portworxVolume": None,
    "azureDisk": None,
    "scaleIO": None,
    "local": None,
    "storageos": None,
    "csi": _csi_persistent,
}
"""The sources of persistent volumes, in upstream's order."""

"""Validation of the sources of volumes, those of pods and those of persistent volumes.

Upstream: pkg/apis/core/validation/validation.go, validateVolumeSource,
ValidatePersistentVolumeSpec
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    dns_subdomain,
    path_without_backsteps,
    relative_path,
)

_TENANT_MAX_BYTES: Final = 64
ONE_SOURCE: Final = "may not specify more than 1 volume type"

# Upstream writes these sources with other names in the paths of errors.
_NAMES_IN_PATHS: Final = {"gcePersistentDisk": "persistentDisk"}
_NAMES_IN_CONFLICTS: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_IQN: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([-.A-Za-z0-9]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile("^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile("^naa.[A-Za-z0-9]{32}$"),
}


def validate_sources(
    errors: FieldErrors, path: str, volume: Document, kinds: Mapping[str, r.Rule]
) -> None:
    """Check the sources of a volume, of which there is exactly one.

    Parameters
    ----------
    kinds : mapping
        The possible sources in upstream's order, each with its rule.
    """
    found = [kind for kind in volume if kind in kinds and volume[kind] is not None]
    if not found:
        errors.required(path, "must specify a volume type")
    for index, kind in enumerate(sorted(found, key=[*kinds].index)):
        if index:
            errors.forbidden(f"{path}.{_NAMES_IN_CONFLICTS.get(kind, kind)}", ONE_SOURCE)
        else:
            kinds[kind](errors, f"{path}.{_NAMES_IN_PATHS.get(kind, kind)}", volume[kind])


FILE_MODE: Final = r.valid(
    lambda mode: 0 <= mode <= 0o777, "must be a number between 0 and 0777 (octal), both inclusive"
)
"""The permissions of a file."""
validate_driver_name: Final = r.nonempty(
    r.max_bytes(63), r.form(lambda name: dns_subdomain(name.lower()))
)


def _validate_path_type(errors: FieldErrors, path: str, source: Document) -> None:
    if source.get("path"):
        _PATH_TYPE(errors, path, source)


def _initiator_problems(name: str) -> Iterator[str]:
    syntax = _IQN.get(name[:3])
    if syntax is None:
        yield "must be valid format starting with iqn, eui, or naa"
    elif not syntax.search(name):
        yield "must be valid format"


def _validate_secret(errors: FieldErrors, path: str, source: Document) -> None:
    uses_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if uses_secret and source.get("secretRef") is None:
        errors.required(f"{path}.secretRef")


def _validate_dataset(errors: FieldErrors, path: str, source: Document) -> None:
    name, uid = source.get("datasetName"), source.get("datasetUUID")
    if not name and not uid:
        errors.required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.invalid(path, "resource", text)


def _validate_registry(errors: FieldErrors, path: str, source: Document) -> None:
    registry = source.get("registry")
    text = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.required(f"{path}.registry", text)
    elif len((source.get("tenant") or "").encode()) > _TENANT_MAX_BYTES:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.required(f"{path}.tenant", text)
    elif not all(pair.count(":") == 1 for pair in registry.split(",")):
        errors.invalid(f"{path}.registry", registry, text)


def _validate_targets(errors: FieldErrors, path: str, source: Document) -> None:
    targets, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not targets and not ids:
        text = "must specify either targetWWNs or wwids, but not both"
        errors.required(f"{path}.targetWWNs", text)
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.invalid(f"{path}.targetWWNs", targets, text)
    if targets and lun is None:
        errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets:
        _LUN(errors, f"{path}.lun", lun)


def _validate_options(errors: FieldErrors, path: str, options: Document) -> None:
    for key in sorted(options):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.invalid(f"{path}[{key}]", key, text)


def _validate_disk_uri(errors: FieldErrors, path: str, source: Document) -> None:
    uri, kind = source.get("diskURI") or "", source.get("kind")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        text = (
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute"
            "/disks/{disk-id}"
        )
        errors.unsupported(f"{path}.diskURI", uri, (text,))
    elif kind not in (None, "Managed") and not uri.startswith("https://"):
        text = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        errors.unsupported(f"{path}.diskURI", uri, (text,))


def _validate_publish_secret(errors: FieldErrors, path: str, secret: Document) -> None:
    if not secret.get("name"):
        errors.required(f"{path}.name")
    else:
        # Upstream leaves the name of the reference out of the path.
        r.SUBDOMAIN(errors, f"{path.rpartition('.')[0]}.name", secret["name"])


_PATH_TYPE: Final = r.struct(
    type=r.one_of(
        "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
        "Socket",
    )
)  # fmt: skip
_INITIATOR: Final = r.form(_initiator_problems)
_LUN: Final = r.valid(lambda lun: 0 <= lun <= 255, "must be between 0 and 255, inclusive")
_PARTITION: Final = r.valid(lambda n: 0 <= n <= 255, "must be between 1 and 255, inclusive")
_SECRET: Final = r.struct(name=r.required(r.SUBDOMAIN), namespace=r.required(r.LABEL))
_REQUIRED_PATH: Final = r.required(path_without_backsteps)
_COMMON: Final[Mapping[str, r.Rule]] = {
    "awsElasticBlockStore": r.struct(volumeID=r.required(), partition=_PARTITION),
    "azureDisk": r.all_of(
        r.struct(
            diskName=r.required(),
            diskURI=r.required(),
            cachingMode=r.one_of("None", "ReadOnly", "ReadWrite"),
            kind=r.one_of("Dedicated", "Managed", "Shared"),
        ),
        _validate_disk_uri,
    ),
    "azureFile": r.struct(secretName=r.required(), shareName=r.required()),
    "cephfs": r.struct(monitors=r.required()),
    "cinder": r.struct(volumeID=r.required()),
    "fc": _validate_targets,
    "flexVolume": r.struct(driver=r.required(), options=_validate_options),
    "flocker": r.all_of(
        _validate_dataset,
        r.struct(datasetName=r.valid(lambda name: "/" not in name, "must not contain '/'")),
    ),
    "gcePersistentDisk": r.struct(pdName=r.required(), partition=_PARTITION),
    "gitRepo": r.struct(repository=r.required(), directory=relative_path),
    "glusterfs": r.struct(endpoints=r.required(), path=r.required()),
    "hostPath": r.all_of(r.struct(path=_REQUIRED_PATH), _validate_path_type),
    "iscsi": r.all_of(
        r.struct(
            targetPortal=r.required(),
            iqn=r.required(_INITIATOR),
            initiatorName=lambda errors, path, name: _INITIATOR(
                errors, path.replace("iscsi.initiatorName", "iscsi.initiatorname"), name
            ),
            lun=_LUN,
        ),
        _validate_secret,
    ),
    "local": r.struct(path=_REQUIRED_PATH),
    "nfs": r.all_of(
        r.struct(server=r.required(), path=r.required()),
        r.struct(
            path=r.always(
                r.valid(lambda path: path.startswith("/"), "must be an absolute path"), ""
            )
        ),
    ),
    "persistentVolumeClaim": r.struct(claimName=r.required()),
    "photonPersistentDisk": r.struct(pdID=r.required()),
    "portworxVolume": r.struct(volumeID=r.required()),
    "quobyte": r.all_of(_validate_registry, r.struct(volume=r.required())),
    "rbd": r.struct(monitors=r.required(), image=r.required()),
    "scaleIO": r.struct(gateway=r.required(), system=r.required(), volumeName=r.required()),
    "storageos": r.struct(volumeName=r.required(r.LABEL), volumeNamespace=r.optional(r.LABEL)),
    "vsphereVolume": r.struct(volumePath=r.required()),
}
CSI_SOURCE: Final = r.struct(
    driver=r.always(validate_driver_name), nodePublishSecretRef=_validate_publish_secret
)
"""An inline CSI volume of a pod."""


def sources(*kinds: str, **own: r.Rule) -> Mapping[str, r.Rule]:
    """Return rules of sources: those that pods and persistent volumes share, and others."""
    return {kind: own.get(kind) or _COMMON[kind] for kind in kinds}


PERSISTENT_SOURCES: Final = sources(
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
    csi=r.struct(
        driver=r.always(validate_driver_name),
        volumeHandle=r.required(),
        controllerPublishSecretRef=_SECRET,
        controllerExpandSecretRef=_SECRET,
        nodePublishSecretRef=_SECRET,
        nodeExpandSecretRef=_SECRET,
    ),
)  # fmt: skip
"""The sources of persistent volumes, in upstream's order."""

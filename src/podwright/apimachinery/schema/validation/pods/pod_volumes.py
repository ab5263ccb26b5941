"""Validation of the volumes of pods.

Upstream: pkg/apis/core/validation/validation.go, ValidateVolumes, validateProjectionSources
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import (
    validate_label_selector,
    validate_template_metadata,
)
from podwright.apimachinery.schema.validation.names import dns_label, dns_subdomain, file_path
from podwright.apimachinery.schema.validation.pods.containers import (
    Volumes,
    validate_field_ref,
    validate_pull_policy,
    validate_resource_ref,
)
from podwright.apimachinery.schema.validation.pods.resources import validate_quantity
from podwright.apimachinery.schema.validation.pods.volume_sources import (
    SourceRule,
    validate_csi_source,
    validate_file_mode,
    validate_sources,
)
from podwright.apimachinery.schema.validation.storage import validate_claim_spec

_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_TEN_MINUTES_S: Final = 600


def validate_volumes(
    errors: FieldErrors, path: str, volumes: list[Document], metadata: Document | None
) -> Volumes:
    """Check the volumes of a pod.

    Parameters
    ----------
    metadata : dict, optional
        The metadata of the pod; None for a template.

    Returns
    -------
    dict
        The valid volumes, by name: those that containers can mount.
    """
    pod = (metadata or {}).get("name") or ""
    created = {
        f"{pod}-{each.get('name')}" for each in volumes if pod and each.get("ephemeral") is not None
    }
    valid: Volumes = {}
    for index, volume in enumerate(volumes):
        at, name, before = f"{path}[{index}]", volume.get("name") or "", len(errors)
        validate_sources(errors, at, volume, _SOURCES)
        if pod and name and volume.get("ephemeral") is not None:
            owned = f"{pod}-{name}"
            for detail in dns_subdomain(owned):
                errors.invalid(f"{at}.name", name, f'PVC name "{owned}": {detail}')
        if not name:
            errors.required(f"{at}.name")
        elif details := dns_label(name):
            errors.each(f"{at}.name", name, details)
        if name in valid:
            errors.duplicate(f"{at}.name", name)
        if len(errors) == before:
            valid[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.invalid(f"{at}.persistentVolumeClaim.claimName", claim, text)
    return valid


def _empty_dir(errors: FieldErrors, path: str, source: Document) -> None:
    if (limit := source.get("sizeLimit")) is not None:
        amount = validate_quantity(errors, f"{path}.sizeLimit", limit)
        if amount is not None and amount.unscaled < 0:
            text = "SizeLimit field must be a valid resource quantity"
            errors.forbidden(f"{path}.sizeLimit", text)


def _secret(errors: FieldErrors, path: str, source: Document) -> None:
    _files_of(errors, path, source, "secretName")


def _config_map(errors: FieldErrors, path: str, source: Document) -> None:
    _files_of(errors, path, source, "name")


def _files_of(errors: FieldErrors, path: str, source: Document, name: str) -> None:
    if not source.get(name):
        errors.required(f"{path}.{name}")
    validate_file_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        _item(errors, f"{path}.items[{index}]", item)


def _item(errors: FieldErrors, path: str, item: Document) -> None:
    for name in ("key", "path"):
        if not item.get(name):
            errors.required(f"{path}.{name}")
    file_path(errors, f"{path}.path", item.get("path") or "")
    validate_file_mode(errors, f"{path}.mode", item.get("mode"))


def _downward(errors: FieldErrors, path: str, source: Document) -> None:
    validate_file_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        _downward_file(errors, path, item)


def _downward_file(errors: FieldErrors, path: str, item: Document) -> None:
    # Upstream leaves the index of the item out of the path.
    if not item.get("path"):
        errors.required(f"{path}.path")
    file_path(errors, f"{path}.path", item.get("path") or "")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        validate_field_ref(errors, f"{path}.fieldRef", field, _FIELDS)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.invalid(path, "resource", text)
    elif resource is not None:
        validate_resource_ref(errors, f"{path}.resourceFieldRef", resource, is_volume=True)
    else:
        errors.required(path, "one of fieldRef and resourceFieldRef is required")
    validate_file_mode(errors, f"{path}.mode", item.get("mode"))


def _ephemeral(errors: FieldErrors, path: str, source: Document) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.required(f"{path}.volumeClaimTemplate")
        return
    at, metadata = f"{path}.volumeClaimTemplate", template.get("metadata") or {}
    validate_template_metadata(errors, f"{at}.metadata", metadata)
    validate_claim_spec(errors, f"{at}.spec", template.get("spec") or {})


def _image(errors: FieldErrors, path: str, source: Document) -> None:
    validate_pull_policy(errors, f"{path}.pullPolicy", source.get("pullPolicy"))


class _ProjectedPaths:
    """The paths of the files of a projected volume, each of which exists once."""

    def __init__(self, errors: FieldErrors, path: str) -> None:
        self._errors = errors
        self._path = path
        self._seen: set[str] = set()

    def add(self, path: str, value: str | None = None) -> None:
        """Add a path; a second one like it is an error about `value`."""
        if path in self._seen:
            shown = path if value is None else value
            self._errors.invalid(self._path, shown, "conflicting duplicate paths")
        self._seen.add(path)


def _projected(errors: FieldErrors, path: str, volume: Document) -> None:
    validate_file_mode(errors, f"{path}.defaultMode", volume.get("defaultMode"))
    paths = _ProjectedPaths(errors, path)
    for index, source in enumerate(volume.get("sources") or ()):
        at, count = f"{path}.sources[{index}]", 0
        for kind in ("secret", "configMap"):
            if (files := source.get(kind)) is not None:
                count += 1
                _projected_files(errors, f"{at}.{kind}", files, paths)
        if (downward := source.get("downwardAPI")) is not None:
            count += 1
            for item in downward.get("items") or ():
                _downward_file(errors, f"{at}.downwardAPI", item)
                if item.get("path"):
                    paths.add(item["path"])
        if (token := source.get("serviceAccountToken")) is not None:
            count += 1
            _token(errors, path, f"{at}.serviceAccountToken", token)
        if (bundle := source.get("clusterTrustBundle")) is not None:
            count += 1
            _trust_bundle(errors, f"{at}.clusterTrustBundle", bundle)
            paths.add(bundle.get("path") or "")
        if source.get("podCertificate") is not None:
            count += 1
        if count > 1:
            errors.forbidden(at, "may not specify more than 1 volume type per source")


def _projected_files(
    errors: FieldErrors, path: str, source: Document, paths: _ProjectedPaths
) -> None:
    if not source.get("name"):
        errors.required(f"{path}.name")
    for index, item in enumerate(source.get("items") or ()):
        _item(errors, f"{path}.items[{index}]", item)
        if item.get("path"):
            paths.add(item["path"], source.get("name") or "")


def _token(errors: FieldErrors, volume_path: str, path: str, token: Document) -> None:
    seconds = token.get("expirationSeconds")
    if seconds is not None and seconds < _TEN_MINUTES_S:
        text = "may not specify a duration less than 10 minutes"
        errors.invalid(f"{path}.expirationSeconds", seconds, text)
    elif seconds is not None and seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.invalid(f"{path}.expirationSeconds", seconds, text)
    # Upstream names the volume, not the source.
    if not token.get("path"):
        errors.required(f"{volume_path}.path")
    else:
        file_path(errors, f"{volume_path}.path", token["path"])


def _trust_bundle(errors: FieldErrors, path: str, bundle: Document) -> None:
    name, signer = bundle.get("name"), bundle.get("signerName")
    if name is not None and signer is not None:
        errors.invalid(path, bundle, "only one of name and signerName may be used")
    elif name is None and signer is None:
        errors.required(path, "either name or signerName must be specified")
    elif signer is not None:
        validate_label_selector(errors, f"{path}.labelSelector", bundle.get("labelSelector"))
    elif bundle.get("labelSelector") is not None:
        text = "labelSelector must be unset if name is specified"
        errors.invalid(f"{path}.labelSelector", bundle["labelSelector"], text)
    if not bundle.get("path"):
        errors.required(f"{path}.path")
    file_path(errors, f"{path}.path", bundle.get("path") or "")


_SOURCES: Final[Mapping[str, SourceRule | None]] = {
    "emptyDir": _empty_dir,
    "hostPath": None,
    "gitRepo": None,
    "gcePersistentDisk": None,
    "awsElasticBlockStore": None,
    "secret": _secret,
    "nfs": None,
    "iscsi": None,
    "glusterfs": None,
    "flocker": None,
    "persistentVolumeClaim": None,
    "rbd": None,
    "cinder": None,
    "cephfs": None,
    "quobyte": None,
    "downwardAPI": _downward,
    "fc": None,
    "flexVolume": None,
    "configMap": _config_map,
    "azureFile": None,
    "vsphereVolume": None,
    "photonPersistentDisk": None,
    "portworxVolume": None,
    "azureDisk": None,
    "storageos": None,
    "projected": _projected,
    "scaleIO": None,
    "csi": validate_csi_source,
    "ephemeral": _ephemeral,
    "image": _image,
}
"""The sources of volumes of pods, in upstream's order."""

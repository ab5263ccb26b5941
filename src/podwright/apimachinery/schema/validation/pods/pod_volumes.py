"""Validation of the volumes of pods.

Upstream: pkg/apis/core/validation/validation.go, ValidateVolumes, validateProjectionSources
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    validate_label_selector,
    validate_template_metadata,
)
from podwright.apimachinery.schema.validation.names import dns_subdomain, file_path
from podwright.apimachinery.schema.validation.pods.containers import (
    PULL_POLICY,
    Volumes,
    validate_field_ref,
    validate_resource_ref,
)
from podwright.apimachinery.schema.validation.pods.resources import validate_quantity
from podwright.apimachinery.schema.validation.pods.volume_sources import (
    CSI_SOURCE,
    FILE_MODE,
    sources,
    validate_sources,
)
from podwright.apimachinery.schema.validation.signers import (
    SHORTEST_SECONDS,
    bundle_name,
    longest_seconds,
    validate_signer_name,
    validate_user_annotations,
)
from podwright.apimachinery.schema.validation.storage import validate_claim_spec

_FIELDS: Final = tuple(
    f"metadata.{name}" for name in ("annotations", "labels", "name", "namespace", "uid")
)
_NAME: Final = r.struct(name=r.required(r.LABEL))


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
    pod = (metadata or {}).get("name")
    created = {
        f"{pod}-{each.get('name')}" for each in volumes if pod and each.get("ephemeral") is not None
    }
    valid: Volumes = {}
    for index, volume in enumerate(volumes):
        at, name, before = f"{path}[{index}]", volume.get("name") or "", len(errors)
        validate_sources(errors, at, volume, _SOURCES if metadata is None else _SOURCES_OF_PODS)
        if pod and name and volume.get("ephemeral") is not None:
            owned = f"{pod}-{name}"
            for detail in dns_subdomain(owned):
                errors.invalid(f"{at}.name", name, f'PVC name "{owned}": {detail}')
        _NAME(errors, at, volume)
        if name in valid:
            errors.duplicate(f"{at}.name", name)
        if len(errors) == before:
            valid[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.invalid(f"{at}.persistentVolumeClaim.claimName", claim, text)
    return valid


def _validate_size_limit(errors: FieldErrors, path: str, limit: Any) -> None:
    amount = validate_quantity(errors, path, limit)
    if amount is not None and amount.unscaled < 0:
        errors.forbidden(path, "SizeLimit field must be a valid resource quantity")


def _validate_downward_file(errors: FieldErrors, path: str, item: Document) -> None:
    _FILE(errors, path, item)
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
    _MODE(errors, path, item)


def _validate_downward_files(errors: FieldErrors, path: str, source: Document) -> None:
    # Upstream leaves the list and the index of the item out of the path.
    for item in source.get("items") or ():
        _validate_downward_file(errors, path, item)


_FILE: Final = r.struct(path=r.required(file_path))
_MODE: Final = r.struct(mode=FILE_MODE)
_DEFAULT_MODE: Final = r.struct(defaultMode=FILE_MODE)
_ITEM: Final = r.struct(key=r.required(), path=r.required(file_path), mode=FILE_MODE)
_TEMPLATE: Final = r.struct(
    metadata=r.always(validate_template_metadata, {}), spec=r.always(validate_claim_spec, {})
)


def _validate_projected(errors: FieldErrors, path: str, volume: Document) -> None:
    seen: set[str] = set()

    def add(file: str, shown: str) -> None:
        if file in seen:
            errors.invalid(path, shown, "conflicting duplicate paths")
        seen.add(file)

    _DEFAULT_MODE(errors, path, volume)
    for index, source in enumerate(volume.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if (files := source.get(kind)) is not None:
                _validate_projected_files(errors, f"{at}.{kind}", files, add)
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            _validate_downward_file(errors, f"{at}.downwardAPI", item)
            if item.get("path"):
                add(item["path"], item["path"])
        if (token := source.get("serviceAccountToken")) is not None:
            _TOKEN(errors, f"{at}.serviceAccountToken", token)
            # Upstream names the volume, not the source.
            _FILE(errors, path, token)
        if (bundle := source.get("clusterTrustBundle")) is not None:
            _validate_trust_bundle(errors, f"{at}.clusterTrustBundle", bundle)
            file = bundle.get("path") or ""
            add(file, file)
        if (certificate := source.get("podCertificate")) is not None:
            _validate_pod_certificate(errors, f"{at}.podCertificate", certificate, add)
        if sum(source.get(kind) is not None for kind in _PROJECTED) > 1:
            errors.forbidden(at, "may not specify more than 1 volume type per source")


def _validate_projected_files(
    errors: FieldErrors, path: str, files: Document, add: Callable[[str, str], None]
) -> None:
    _NAMED(errors, path, files)
    for index, item in enumerate(files.get("items") or ()):
        _ITEM(errors, f"{path}.items[{index}]", item)
        if item.get("path"):
            add(item["path"], files.get("name") or "")


def _validate_trust_bundle(errors: FieldErrors, path: str, bundle: Document) -> None:
    name, signer, labels = (bundle.get(n) for n in ("name", "signerName", "labelSelector"))
    if name is not None and signer is not None:
        shown = internal_form(bundle, "ClusterTrustBundleProjection")
        errors.invalid(path, shown, "only one of name and signerName may be used")
    elif name is None and signer is None:
        errors.required(path, "either name or signerName must be specified")
    elif signer is not None:
        if not signer:
            errors.required(f"{path}.signerName", "must be a valid signer name")
        validate_signer_name(errors, f"{path}.signerName", signer)
        validate_label_selector(errors, f"{path}.labelSelector", labels)
    else:
        _validate_bundle_name(errors, f"{path}.name", name or "")
        if labels is not None:
            text = "labelSelector must be unset if name is specified"
            errors.invalid(f"{path}.labelSelector", labels, text)
    _FILE(errors, path, bundle)


def _validate_bundle_name(errors: FieldErrors, path: str, name: str) -> None:
    if not name:
        errors.required(path, "must be a valid object name")
    signer = name.rpartition(":")[0].replace(":", "/")
    for detail in bundle_name(name, signer):
        errors.invalid(path, name, f"not a valid clustertrustbundlename: {detail}")


def _validate_pod_certificate(
    errors: FieldErrors, path: str, certificate: Document, add: Callable[[str, str], None]
) -> None:
    signer, notes = certificate.get("signerName") or "", certificate.get("userAnnotations")
    validate_signer_name(errors, f"{path}.signerName", signer)
    if notes is not None:
        validate_user_annotations(errors, f"{path}.userAnnotations", notes)
    _KEY_TYPE(errors, path, certificate)
    seconds, longest = certificate.get("maxExpirationSeconds"), longest_seconds(signer)
    if seconds is not None:
        at = f"{path}.maxExpirationSeconds"
        if seconds < SHORTEST_SECONDS:
            text = f"if provided, maxExpirationSeconds must be >= {SHORTEST_SECONDS}"
            errors.invalid(at, seconds, text)
        if seconds > longest:
            text = f"if provided, maxExpirationSeconds must be <= {longest}"
            errors.invalid(at, seconds, text)
    files = [name for name in _CERTIFICATE_FILES if certificate.get(name)]
    for name in files:
        file_path(errors, f"{path}.{name}", certificate[name])
        add(certificate[name], certificate[name])
    if not files:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.required(path, text)


_PROJECTED: Final = (
    "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle",
    "podCertificate",
)  # fmt: skip
_CERTIFICATE_FILES: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_KEY_TYPE: Final = r.struct(
    keyType=r.always(
        r.one_of("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"), ""
    )
)
_NAMED: Final = r.struct(name=r.required())
_TOKEN: Final = r.struct(expirationSeconds=r.TOKEN_SECONDS)
_ITEMS: Final = r.each(_ITEM)
_SOURCES: Final = sources(
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
    "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte",
    "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
    emptyDir=r.struct(sizeLimit=_validate_size_limit),
    secret=r.struct(secretName=r.required(), defaultMode=FILE_MODE, items=_ITEMS),
    configMap=r.struct(name=r.required(), defaultMode=FILE_MODE, items=_ITEMS),
    downwardAPI=r.all_of(_DEFAULT_MODE, _validate_downward_files),
    projected=_validate_projected,
    csi=CSI_SOURCE,
    ephemeral=r.struct(volumeClaimTemplate=r.not_null(_TEMPLATE)),
    image=r.struct(pullPolicy=PULL_POLICY),
)  # fmt: skip
"""The sources of volumes of templates, in upstream's order."""
_SOURCES_OF_PODS: Final = {
    **_SOURCES, "image": r.struct(reference=r.required(), pullPolicy=PULL_POLICY)
}  # fmt: skip

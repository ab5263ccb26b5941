"""Validation of persistent volumes, claims, storage classes and what CSI drivers report.

Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeSpec,
ValidatePersistentVolumeClaimUpdate; pkg/apis/storage/validation/validation.go
"""

from __future__ import annotations

import posixpath
from typing import Any, Final

from podwright.apimachinery.objects import Document, QuantityError, format_quantity, parse_quantity
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    difference,
    internal_form,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.metadata import (
    validate_label_selector,
)
from podwright.apimachinery.schema.validation.names import in_range, qualified_name
from podwright.apimachinery.schema.validation.pods.resources import quantity, validate_quantity
from podwright.apimachinery.schema.validation.pods.scheduling import validate_node_selector
from podwright.apimachinery.schema.validation.pods.volume_sources import (
    PERSISTENT_SOURCES,
    validate_driver_name,
    validate_sources,
)

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_OPTIONS_ANNOTATION: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED: Final = (
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi",
    "cinder", "cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
)  # fmt: skip
_PARAMETERS_MAX: Final = 512
_PARAMETERS_MAX_BYTES: Final = 256 * 1024


def validate_persistent_volume(errors: FieldErrors, volume: Document) -> None:
    """Check a new persistent volume."""
    _VOLUME(errors, "spec", volume.get("spec") or {})
    _validate_mount_options(errors, volume)


def validate_persistent_volume_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed persistent volume, whose source is immutable.

    Upstream: pkg/registry/core/persistentvolume/strategy.go, which checks the spec before, too
    """
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _VOLUME(errors, "spec", spec)
    sources = {kind: spec.get(kind) for kind in PERSISTENT_SOURCES}
    old_sources = {kind: before.get(kind) for kind in PERSISTENT_SOURCES}
    csi, old_csi = sources["csi"], old_sources["csi"]
    if csi and old_csi and old_csi.get("controllerExpandSecretRef") is None:
        sources["csi"] = csi | {"controllerExpandSecretRef": None}
    if not same(sources, old_sources, "PersistentVolumeSource"):
        text = "spec.persistentvolumesource is immutable after creation"
        found = difference(old_sources, sources, "PersistentVolumeSource")
        errors.forbidden("spec.persistentvolumesource", f"{text}\n{found}")
    errors.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    affinity, old_affinity = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if old_affinity is not None and not same(affinity, old_affinity):
        text = "field is immutable, except for updating from beta label to GA"
        errors.invalid("nodeAffinity", internal_form(affinity, "*VolumeNodeAffinity"), text)
    attributes = "volumeAttributesClassName"
    if before.get(attributes) is not None and spec.get(attributes) is None:
        text = "update from non-nil value to nil is forbidden"
        errors.forbidden(f"spec.{attributes}", text)


def _validate_mount_options(errors: FieldErrors, volume: Document) -> None:
    """Reject the annotation on volumes that cannot be mounted with options.

    Upstream: pkg/volume/validation/pv_validation.go
    """
    annotations = (volume.get("metadata") or {}).get("annotations") or {}
    spec: Document = volume.get("spec") or {}
    if _OPTIONS_ANNOTATION in annotations and all(spec.get(each) is None for each in _MOUNTED):
        path = f"metadata.annotations.{_OPTIONS_ANNOTATION}"
        errors.forbidden(path, "may not specify mount options for this volume type")


def _validate_access_modes(errors: FieldErrors, path: str, modes: list[str]) -> None:
    for mode in modes:
        _ACCESS_MODE(errors, path, mode)
    valid_modes = {*modes} & {*_ACCESS_MODES}
    if "ReadWriteOncePod" in valid_modes and len(valid_modes) > 1:
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _validate_capacity(errors: FieldErrors, path: str, spec: Document) -> None:
    capacity = spec.get("capacity")
    if set(capacity or ()) != {"storage"}:
        errors.unsupported(f"{path}.capacity", capacity, ("storage",))
    for name, text in sorted((capacity or {}).items()):
        _validate_size(errors, f"{path}.capacity[{name}]", text)


def _validate_kind_of_volume(errors: FieldErrors, path: str, spec: Document) -> None:
    found = FieldErrors()
    validate_sources(found, path, spec, PERSISTENT_SOURCES)
    kinds = [kind for kind in PERSISTENT_SOURCES if spec.get(kind) is not None]
    after_local = tuple(f"{path}.{kind}" for kind in _AFTER_LOCAL)
    later = sum(each[0].startswith(after_local) for each in found.problems)
    split = len(found.problems) - later
    errors.problems += found.problems[:split]
    if kinds[:1] == ["local"] and spec.get("nodeAffinity") is None:
        errors.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    errors.problems += found.problems[split:]
    where, policy = (spec.get("hostPath") or {}).get("path"), "persistentVolumeReclaimPolicy"
    if where and posixpath.normpath(where) in ("/", "//") and spec.get(policy) == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.forbidden(f"{path}.{policy}", text)


def _validate_attributes(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("volumeAttributesClassName") is not None and spec.get("csi") is None:
        text = "has to be specified when using volumeAttributesClassName"
        errors.required(f"{path}.csi", text)


_AFTER_LOCAL: Final = ("storageos", "csi")
_ACCESS_MODE: Final = r.one_of(*_ACCESS_MODES)
_CLASS_AND_MODE: Final = r.struct(
    storageClassName=r.optional(r.SUBDOMAIN), volumeMode=r.one_of("Block", "Filesystem")
)
_MODES: Final = r.struct(accessModes=r.required(_validate_access_modes))
_IN_LINE: Final = "may not be specified in the context of inline volumes"
_VOLUME: Final = r.all_of(
    r.struct(accessModes=r.required(_validate_access_modes), capacity=r.required()),
    _validate_capacity,
    r.struct(
        persistentVolumeReclaimPolicy=r.optional(r.one_of("Delete", "Recycle", "Retain")),
        nodeAffinity=r.struct(
            required=r.not_null(
                validate_node_selector, detail="must specify required node constraints"
            )
        ),
    ),
    _validate_kind_of_volume,
    _CLASS_AND_MODE,
    r.struct(
        volumeAttributesClassName=r.nonempty(r.SUBDOMAIN, detail="an empty string is disallowed")
    ),
    _validate_attributes,
)


def _validate_size(errors: FieldErrors, path: str, text: Any) -> None:
    amount = validate_quantity(errors, path, text)
    if amount is not None and amount.nano <= 0:
        if amount.value() < 0:
            errors.invalid(path, amount.value(), "must be a valid resource quantity")
        errors.invalid(path, format_quantity(amount), "must be greater than zero")


# ------------------------------------------------------------------------------------ claims


_POSITIVE: Final = quantity(lambda nano: nano > 0, "must be greater than zero")


def _validate_requested(errors: FieldErrors, path: str, spec: Document) -> None:
    requests = (spec.get("resources") or {}).get("requests") or {}
    at = f"{path}.resources[storage]"
    if "storage" not in requests:
        errors.required(at)
    else:
        _POSITIVE(errors, at, requests["storage"])


def _validate_group(errors: FieldErrors, path: str, source: Document) -> None:
    kind = source.get("kind") or ""
    if not source.get("apiGroup") and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.invalid(path, kind, text)


def _validate_same_source(errors: FieldErrors, path: str, spec: Document) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.invalid(path, {}, text)
    elif any(source.get(n) != reference.get(n) for n in ("apiGroup", "kind", "name")):
        errors.invalid(path, {}, "must match dataSourceRef")


_DATA_SOURCE: Final = r.all_of(
    r.struct(name=r.required(), kind=r.required()),
    _validate_group,
    r.struct(apiGroup=r.optional(r.SUBDOMAIN), namespace=r.optional(r.LABEL)),
)
validate_claim_spec: Final = r.all_of(
    r.struct(
        accessModes=r.required(detail="at least 1 access mode is required"),
        selector=validate_label_selector,
    ),
    r.struct(accessModes=_validate_access_modes),
    _validate_requested,
    _CLASS_AND_MODE,
    r.struct(dataSource=_DATA_SOURCE, dataSourceRef=_DATA_SOURCE),
    _validate_same_source,
    r.struct(volumeAttributesClassName=r.optional(r.SUBDOMAIN)),
)
"""Rules of the spec of a claim or of a claim template."""
validate_claim: Final = r.of_spec(validate_claim_spec)


def validate_claim_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed claim: its spec is immutable, except for the request of a bound claim."""
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    found = FieldErrors()
    validate_claim(found, new)
    # Upstream allows an invalid group then, too: allowInvalidAPIGroupInDataSourceOrRef.
    sources = (before.get("dataSource") or {}, before.get("dataSourceRef") or {})
    has_group = any(each.get("apiGroup") is not None for each in sources)
    errors.problems += [
        each for each in found.problems if not (has_group and each[0].endswith(".apiGroup"))
    ]
    # The status of the request is ignored: the claim's phase is the stored one.
    is_bound = (old.get("status") or {}).get("phase") == "Bound"
    requested, old_requested = _size_of(spec, "resources"), _size_of(before, "resources")
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    _allow_class(errors, new, old, spec, before)
    if is_bound:
        if requests := (spec.get("resources") or {}).get("requests"):
            former = (before.get("resources") or {}).get("requests") or {}
            kept = {"storage": former.get("storage", "0")}
            spec["resources"] = spec["resources"] | {"requests": requests | kept}
        name = "volumeAttributesClassName"
        spec[name] = before.get(name)
    if not same(spec, before, "PersistentVolumeClaimSpec"):
        text = (
            "spec is immutable after creation except resources.requests and"
            " volumeAttributesClassName for bound claims"
        )
        changes = difference(before, spec, "PersistentVolumeClaimSpec")
        errors.forbidden("spec", f"{text}\n{changes}")
    if requested < old_requested and requested <= _size_of(old.get("status") or {}, ""):
        text = "field can not be less than status.capacity"
        errors.forbidden("spec.resources.requests.storage", text)
    errors.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    _validate_kept_class(errors, new, old)


def _validate_kept_class(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that a claim keeps some class of attributes once one was applied."""
    name = "volumeAttributesClassName"
    written, former = ((each.get("spec") or {}).get(name) for each in (new, old))
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if written != former and not written and current is not None:
        what = "nil" if written is None else "empty string"
        text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not"
        errors.forbidden(f"spec.{name}", f"{text} nil")


def validate_claim_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a claim.

    Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimStatusUpdate
    """
    status = new.get("status") or {}
    for name, amount in sorted((status.get("capacity") or {}).items()):
        _validate_written_size(errors, f"status.capacity[{name}]", amount)
    path = "status.allocatedResourceStatuses"
    for name, state in sorted((status.get(path[7:]) or {}).items()):
        _is_storage_name(errors, path, name)
        if state not in _RESIZES:
            # Upstream shows the name instead of the state.
            errors.unsupported(path, name, _RESIZES)
    path = "status.allocatedResources"
    for name, amount in sorted((status.get(path[7:]) or {}).items()):
        if _is_storage_name(errors, path, name):
            _validate_written_size(errors, f"{path}[{name}]", amount)


def _is_storage_name(errors: FieldErrors, path: str, name: str) -> bool:
    """Check a key of what is allocated to a claim; return whether it is valid."""
    problems = qualified_name(name)
    errors.each(path, name, problems)
    is_native = "/" not in name or "kubernetes.io/" in name
    if not problems and is_native and name != "storage":
        errors.unsupported(path, name, ("storage",))
        return False
    return not problems


def _validate_written_size(errors: FieldErrors, path: str, amount: str) -> None:
    size = parse_quantity(amount)
    if size.nano < 0:
        errors.invalid(path, size.value(), "must be a valid resource quantity")


_RESIZES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def _allow_class(
    errors: FieldErrors, new: Document, old: Document, spec: Document, before: Document
) -> None:
    """Accept a class that was absent or is the one of the former annotation."""
    annotations = (new.get("metadata") or {}).get("annotations") or {}
    old_annotations = (old.get("metadata") or {}).get("annotations") or {}
    name, written = spec.get("storageClassName"), old_annotations.get(_CLASS_ANNOTATION)
    was_absent = before.get("storageClassName") is None
    is_upgrade = (
        written is not None
        and was_absent
        and name == written
        and annotations.get(_CLASS_ANNOTATION, written) == written
    )
    if not is_upgrade:
        new_class = annotations.get(_CLASS_ANNOTATION)
        if new_class != written:
            at = f"metadata.annotations.{_CLASS_ANNOTATION}"
            errors.invalid(at, new_class or "", "field is immutable")
    if name is not None and was_absent and written in (None, name):
        spec["storageClassName"] = before.get("storageClassName")


def _size_of(part: Document, name: str) -> int:
    """Return the storage of a spec's requests or a status' capacity in nano-bytes."""
    amounts = (part.get(name) or {}).get("requests") if name else part.get("capacity")
    try:
        return parse_quantity((amounts or {}).get("storage") or "0").nano
    except QuantityError:
        return 0


# --------------------------------------------------------------------------- storage classes


def _validate_parameters(errors: FieldErrors, path: str, parameters: Document) -> None:
    if len(parameters) > _PARAMETERS_MAX:
        errors.too_long(path, _PARAMETERS_MAX)
        return
    size = 0
    for key, value in sorted(parameters.items()):
        if not key:
            errors.invalid(path, key, "field can not be empty.")
        size += len(key.encode()) + len((value or "").encode())
    if size > _PARAMETERS_MAX_BYTES:
        errors.too_long(path, _PARAMETERS_MAX_BYTES)


def _validate_topologies(errors: FieldErrors, path: str, topologies: list[Document]) -> None:
    # An empty term is equal to those that upstream has not read, one for each term.
    before: list[frozenset[tuple[str, frozenset[str]]]] = [frozenset()] * len(topologies)
    for index, term in enumerate(topologies):
        at, terms = f"{path}[{index}].matchLabelExpressions", dict[str, frozenset[str]]()
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            here, key = f"{at}[{number}]", expression.get("key") or ""
            values = expression.get("values") or []
            if not values:
                errors.required(f"{here}.values")
            for position, is_repeated in enumerate(repeats(values)):
                if is_repeated:
                    errors.duplicate(f"{here}.values[{position}]", values[position])
            r.QUALIFIED(errors, f"{here}.key", key)
            if key in terms:
                errors.duplicate(f"{here}.key", key)
            terms[key] = frozenset(values)
        found = frozenset(terms.items())
        for _ in range(before.count(found)):
            errors.duplicate(at, "")
        before.append(found)


def _lowered(errors: FieldErrors, path: str, name: str) -> None:
    r.QUALIFIED(errors, path, name.lower())


validate_storage_class: Final = r.of_object(
    r.struct(
        provisioner=r.required(_lowered),
        parameters=_validate_parameters,
        reclaimPolicy=r.optional(r.one_of("Delete", "Retain")),
        volumeBindingMode=r.one_of("Immediate", "WaitForFirstConsumer"),
        allowedTopologies=_validate_topologies,
    )
)
validate_storage_capacity: Final = r.of_object(
    r.struct(
        nodeTopology=validate_label_selector,
        storageClassName=r.always(r.SUBDOMAIN, ""),
        capacity=quantity(lambda nano: nano >= 0, "must be greater than or equal to 0"),
    )
)
validate_attributes_class: Final = r.of_object(
    r.struct(
        driverName=r.required(_lowered),
        parameters=r.required(
            _validate_parameters, detail="must contain at least one key/value pair"
        ),
    )
)


# ---------------------------------------------------------------------------------- drivers


def _validate_topology_keys(errors: FieldErrors, path: str, driver: Document) -> None:
    keys = driver.get("topologyKeys") or []
    for key, is_repeated in zip(keys, repeats(keys), strict=True):
        # Upstream's path is the one of the driver.
        if not key:
            errors.required(path)
        if is_repeated:
            errors.duplicate(path, key)
        r.QUALIFIED(errors, path, key)


_DRIVER: Final = r.struct(
    name=r.always(validate_driver_name),
    nodeID=r.required(r.valid(lambda node: len(node) <= 256, "must be 256 characters or less")),
    allocatable=r.struct(count=r.NOT_NEGATIVE),
)


def validate_csi_node(errors: FieldErrors, node: Document) -> None:
    """Check a new CSINode."""
    seen: set[str] = set()
    for index, driver in enumerate((node.get("spec") or {}).get("drivers") or ()):
        at, name = f"spec.drivers[{index}]", driver.get("name") or ""
        _DRIVER(errors, at, driver)
        if name in seen:
            errors.duplicate(f"{at}.name", name)
        seen.add(name)
        _validate_topology_keys(errors, at, driver)


def validate_csi_node_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CSINode: a driver can change only its allocatable count."""
    validate_csi_node(errors, new)
    before = {each.get("name"): each for each in (old.get("spec") or {}).get("drivers") or ()}
    for driver in (new.get("spec") or {}).get("drivers") or ():
        former = before.get(driver.get("name"))
        if former is not None:
            changed, kept = driver | {"allocatable": None}, former | {"allocatable": None}
            errors.immutable("spec.drivers", changed, kept, "CSINodeDriver")


def _validate_token_requests(errors: FieldErrors, path: str, requests: list[Document]) -> None:
    audiences = [request.get("audience") or "" for request in requests]
    for index, is_repeated in enumerate(repeats(audiences)):
        at = f"{path}[{index}]"
        if is_repeated:
            errors.duplicate(f"{at}.audience", audiences[index])
        else:
            _TOKEN_REQUEST(errors, at, requests[index])


_TOKEN_REQUEST: Final = r.struct(expirationSeconds=r.TOKEN_SECONDS)


def _validate_tokens_in_secrets(errors: FieldErrors, path: str, spec: Document) -> None:
    name = "serviceAccountTokenInSecrets"
    if (value := spec.get(name)) is not None and not spec.get("tokenRequests"):
        errors.invalid(f"{path}.{name}", value, f"{name} is set but no tokenRequests are specified")


validate_csi_driver: Final = r.of_spec(
    r.struct(
        fsGroupPolicy=r.one_of("File", "None", "ReadWriteOnceWithFSType"),
        tokenRequests=_validate_token_requests,
        volumeLifecycleModes=r.every(r.one_of("Persistent", "Ephemeral")),
        nodeAllocatableUpdatePeriodSeconds=r.at_least(
            10, "must be greater than or equal to 10 seconds"
        ),
    ),
    _validate_tokens_in_secrets,
)


def validate_attributes_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed VolumeAttributesClass, which keeps its driver and parameters."""
    for name in ("driverName", "parameters"):
        if not same(new.get(name), old.get(name)):
            errors.forbidden(name, f"updates to {name} are forbidden.")
    validate_attributes_class(errors, new)


def validate_csi_driver_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CSIDriver; upstream's error has another name for the field."""
    validate_csi_driver(errors, new)
    now, before = ((each.get("spec") or {}).get("attachRequired") for each in (new, old))
    errors.immutable("spec.attachedRequired", now, before)


def _validate_source_of_attachment(errors: FieldErrors, path: str, source: Document) -> None:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        errors.required(path, text)
    elif name is not None and inline is not None:
        errors.forbidden(path, text)
    elif name is not None and not name:
        text = "must specify non empty persistentVolumeName"
        errors.required(f"{path}.persistentVolumeName", text)
    elif inline is not None:
        _validate_inline_volume(errors, f"{path}.inlineVolumeSpec", inline)


def _validate_inline_volume(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("claimRef") is not None:
        errors.forbidden(f"{path}.claimRef", _IN_LINE)
    if spec.get("capacity"):
        errors.forbidden(f"{path}.capacity", _IN_LINE)
    if spec.get("csi") is None:
        errors.required(f"{path}.csi", "has to be specified in the context of inline volumes")
    _MODES(errors, path, spec)
    if (spec.get("persistentVolumeReclaimPolicy") or "Retain") != "Retain":
        text = "may only be Retain in the context of inline volumes"
        errors.forbidden(f"{path}.persistentVolumeReclaimPolicy", text)
    if spec.get("nodeAffinity") is not None:
        errors.forbidden(f"{path}.nodeAffinity", _IN_LINE)
    _validate_kind_of_volume(errors, path, spec)
    if spec.get("storageClassName"):
        errors.forbidden(f"{path}.storageClassName", _IN_LINE)
    if (spec.get("volumeMode") or "Filesystem") != "Filesystem":
        text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.forbidden(f"{path}.volumeMode", text)


_ATTACHMENT_METADATA_MAX_BYTES: Final = 256 * 1024
_VOLUME_ERROR_MAX_BYTES: Final = 1024


def _validate_attachment_status(errors: FieldErrors, path: str, status: Document) -> None:
    """Check the status of a VolumeAttachment.

    Upstream: pkg/apis/storage/validation/validation.go, validateVolumeAttachmentStatus
    """
    metadata: dict[str, str] = status.get("attachmentMetadata") or {}
    size_bytes = sum(len(f"{key}{value}".encode()) for key, value in metadata.items())
    if size_bytes > _ATTACHMENT_METADATA_MAX_BYTES:
        errors.too_long(f"{path}.attachmentMetadata", _ATTACHMENT_METADATA_MAX_BYTES)
    for name in ("attachError", "detachError"):
        found: Document = status.get(name) or {}
        if len((found.get("message") or "").encode()) > _VOLUME_ERROR_MAX_BYTES:
            # Upstream's text has the limit of the metadata.
            errors.too_long(f"{path}.{name}.message", _ATTACHMENT_METADATA_MAX_BYTES)
        if (code := found.get("errorCode")) is not None:
            errors.each(f"{path}.{name}.errorCode", code, in_range(code, 0, 2**31 - 1))


validate_volume_attachment: Final = r.of_object(
    r.struct(
        spec=r.always(
            r.struct(
                attacher=r.always(validate_driver_name),
                source=r.always(_validate_source_of_attachment, {}),
                nodeName=r.always(r.SUBDOMAIN, ""),
            ),
            {},
        ),
        status=_validate_attachment_status,
    ),
    r.struct(spec=r.struct(source=r.struct(persistentVolumeName=r.SUBDOMAIN))),
)

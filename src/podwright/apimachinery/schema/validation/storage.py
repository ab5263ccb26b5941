"""Validation of persistent volumes, claims, storage classes and what CSI drivers report.

Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeSpec,
ValidatePersistentVolumeClaimUpdate; pkg/apis/storage/validation/validation.go
"""

from __future__ import annotations

import posixpath
from typing import Any, Final

from podwright.apimachinery.objects import Document, QuantityError, format_quantity, parse_quantity
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, same
from podwright.apimachinery.schema.validation.internal_structs import difference, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    validate_label_selector,
    validate_unchanged_metadata,
)
from podwright.apimachinery.schema.validation.names import dns_label, dns_subdomain, qualified_name
from podwright.apimachinery.schema.validation.pods.resources import validate_quantity
from podwright.apimachinery.schema.validation.pods.scheduling import validate_node_selector
from podwright.apimachinery.schema.validation.pods.volume_sources import (
    PERSISTENT_SOURCES,
    validate_driver_name,
    validate_sources,
)

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_OPTIONS_ANNOTATION: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED: Final = (
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi",
    "cinder", "cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
)  # fmt: skip
_PARAMETERS_MAX: Final = 512
_PARAMETERS_MAX_BYTES: Final = 256 * 1024
_IMMUTABLE: Final = "field is immutable"


def validate_persistent_volume(errors: FieldErrors, volume: Document) -> None:
    """Check a new persistent volume."""
    _validate_volume_spec(errors, volume.get("spec") or {})
    _validate_mount_options(errors, volume)


def validate_persistent_volume_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed persistent volume, whose source is immutable.

    Upstream: pkg/registry/core/persistentvolume/strategy.go, which checks the spec twice
    """
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    validate_persistent_volume(errors, new)
    validate_unchanged_metadata(errors, new.get("metadata") or {}, "subdomain")
    _validate_volume_spec(errors, spec)
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
        text = f"{_IMMUTABLE}, except for updating from beta label to GA"
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


def _validate_volume_spec(errors: FieldErrors, spec: Document) -> None:
    _validate_access_modes(errors, spec, "")
    given = spec.get("capacity")
    capacity = given or {}
    if not capacity:
        errors.required("spec.capacity")
    if set(capacity) != {"storage"}:
        errors.unsupported("spec.capacity", given, ("storage",))
    for name, text in sorted(capacity.items()):
        _validate_size(errors, f"spec.capacity[{name}]", text)
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in ("Delete", "Recycle", "Retain"):
        choices = ("Delete", "Recycle", "Retain")
        errors.unsupported("spec.persistentVolumeReclaimPolicy", policy, choices)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            text = "must specify required node constraints"
            errors.required("spec.nodeAffinity.required", text)
        else:
            at = "spec.nodeAffinity.required"
            validate_node_selector(errors, at, affinity["required"])
    validate_sources(errors, "spec", spec, PERSISTENT_SOURCES)
    if spec.get("local") is not None and affinity is None:
        errors.required("spec.nodeAffinity", "Local volume requires node affinity")
    where = (spec.get("hostPath") or {}).get("path")
    if where and posixpath.normpath(where) == "/" and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.forbidden("spec.persistentVolumeReclaimPolicy", text)
    _validate_class_name(errors, "spec.storageClassName", spec.get("storageClassName"))
    _validate_volume_mode(errors, "spec.volumeMode", spec.get("volumeMode"))
    attributes = spec.get("volumeAttributesClassName")
    if attributes is not None:
        at = "spec.volumeAttributesClassName"
        if not attributes:
            errors.required(at, "an empty string is disallowed")
        _validate_class_name(errors, at, attributes)
        if spec.get("csi") is None:
            text = "has to be specified when using volumeAttributesClassName"
            errors.required("spec.csi", text)


def _validate_access_modes(
    errors: FieldErrors, spec: Document, required: str, path: str = "spec"
) -> None:
    modes, at = spec.get("accessModes") or (), f"{path}.accessModes"
    if not modes:
        errors.required(at, required)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            errors.unsupported(at, mode, _ACCESS_MODES)
    valid = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in valid and len(valid) > 1:
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes")


def _validate_size(errors: FieldErrors, path: str, text: Any) -> None:
    amount = validate_quantity(errors, path, text)
    if amount is not None and amount.nano <= 0:
        if amount.value() < 0:
            errors.invalid(path, amount.value(), "must be a valid resource quantity")
        errors.invalid(path, format_quantity(amount), "must be greater than zero")


def _validate_class_name(errors: FieldErrors, path: str, name: str | None) -> None:
    if name:
        errors.each(path, name, dns_subdomain(name))


def _validate_volume_mode(errors: FieldErrors, path: str, mode: str | None) -> None:
    if mode is not None and mode not in _VOLUME_MODES:
        errors.unsupported(path, mode, _VOLUME_MODES)


# ------------------------------------------------------------------------------------ claims


def validate_claim(errors: FieldErrors, claim: Document) -> None:
    """Check a new claim."""
    validate_claim_spec(errors, "spec", claim.get("spec") or {})


def validate_claim_spec(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check the spec of a claim or of a claim template."""
    if not spec.get("accessModes"):
        errors.required(f"{path}.accessModes", "at least 1 access mode is required")
    validate_label_selector(errors, f"{path}.selector", spec.get("selector"))
    if spec.get("accessModes"):
        _validate_access_modes(errors, spec, "", path)
    requests = (spec.get("resources") or {}).get("requests") or {}
    at = f"{path}.resources[storage]"
    if "storage" not in requests:
        errors.required(at)
    else:
        amount = validate_quantity(errors, at, requests["storage"])
        if amount is not None and amount.nano <= 0:
            errors.invalid(at, format_quantity(amount), "must be greater than zero")
    _validate_class_name(errors, f"{path}.storageClassName", spec.get("storageClassName"))
    _validate_volume_mode(errors, f"{path}.volumeMode", spec.get("volumeMode"))
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, part in (("dataSource", source), ("dataSourceRef", reference)):
        if part is not None:
            _validate_data_source(errors, f"{path}.{name}", part)
    if source is not None and reference is not None:
        if reference.get("namespace"):
            text = "may not be specified when dataSourceRef.namespace is specified"
            errors.invalid(path, {}, text)
        elif any(source.get(n) != reference.get(n) for n in ("apiGroup", "kind", "name")):
            errors.invalid(path, {}, "must match dataSourceRef")
    attributes = f"{path}.volumeAttributesClassName"
    _validate_class_name(errors, attributes, spec.get("volumeAttributesClassName"))


def _validate_data_source(errors: FieldErrors, path: str, source: Document) -> None:
    for name in ("name", "kind"):
        if not source.get(name):
            errors.required(f"{path}.{name}")
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.invalid(path, source.get("kind") or "", text)
    if group:
        errors.each(f"{path}.apiGroup", group, dns_subdomain(group))
    if namespace := source.get("namespace"):
        errors.each(f"{path}.namespace", namespace, dns_label(namespace))


def validate_claim_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed claim: its spec is immutable, except for the request of a bound claim."""
    validate_claim(errors, new)
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
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
        found = difference(before, spec, "PersistentVolumeClaimSpec")
        errors.forbidden("spec", f"{text}\n{found}")
    if requested < old_requested and requested <= _size_of(old.get("status") or {}, ""):
        text = "field can not be less than status.capacity"
        errors.forbidden("spec.resources.requests.storage", text)
    errors.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def validate_claim_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a claim.

    Upstream: pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimStatusUpdate
    """
    del old
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
            errors.invalid(at, new_class or "", _IMMUTABLE)
    if is_upgrade or (name is not None and was_absent and written in (None, name)):
        spec["storageClassName"] = before.get("storageClassName")


def _size_of(part: Document, name: str) -> int:
    """Return the storage of a spec's requests or a status' capacity in nano-bytes."""
    amounts = (part.get(name) or {}).get("requests") if name else part.get("capacity")
    try:
        return parse_quantity((amounts or {}).get("storage") or "0").nano
    except QuantityError:
        return 0


# --------------------------------------------------------------------------- storage classes


def validate_storage_class(errors: FieldErrors, storage_class: Document) -> None:
    """Check a new storage class."""
    _validate_provisioner(errors, "provisioner", storage_class.get("provisioner") or "")
    _validate_parameters(errors, storage_class.get("parameters") or {})
    policy = storage_class.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        errors.unsupported("reclaimPolicy", policy, ("Delete", "Retain"))
    mode = storage_class.get("volumeBindingMode", "Immediate")
    if mode not in ("Immediate", "WaitForFirstConsumer"):
        errors.unsupported("volumeBindingMode", mode, ("Immediate", "WaitForFirstConsumer"))
    _validate_topologies(errors, storage_class.get("allowedTopologies") or [])


def validate_storage_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed storage class.

    Upstream: pkg/registry/storage/storageclass/strategy.go
    """
    validate_storage_class(errors, new)
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        errors.immutable(name, new.get(name), old.get(name))


def _validate_provisioner(errors: FieldErrors, path: str, name: str) -> None:
    if not name:
        errors.required(path)
    else:
        errors.each(path, name.lower(), qualified_name(name.lower()))


def _validate_parameters(errors: FieldErrors, parameters: Document) -> None:
    if len(parameters) > _PARAMETERS_MAX:
        errors.too_long("parameters", _PARAMETERS_MAX)
        return
    size = 0
    for key, value in sorted(parameters.items()):
        if not key:
            errors.invalid("parameters", key, "field can not be empty.")
        size += len(key.encode()) + len((value or "").encode())
    if size > _PARAMETERS_MAX_BYTES:
        errors.too_long("parameters", _PARAMETERS_MAX_BYTES)


def _validate_topologies(errors: FieldErrors, topologies: list[Document]) -> None:
    # An empty term is equal to those that upstream has not read yet.
    before: set[frozenset[tuple[str, frozenset[str]]]] = {frozenset()}
    for index, term in enumerate(topologies):
        at, terms = f"allowedTopologies[{index}]", dict[str, frozenset[str]]()
        for number, each in enumerate(term.get("matchLabelExpressions") or ()):
            here, key = f"{at}.matchLabelExpressions[{number}]", each.get("key") or ""
            values: set[str] = set()
            if not each.get("values"):
                errors.required(f"{here}.values")
            for position, value in enumerate(each.get("values") or ()):
                if value in values:
                    errors.duplicate(f"{here}.values[{position}]", value)
                values.add(value)
            errors.each(f"{here}.key", key, qualified_name(key))
            if key in terms:
                errors.duplicate(f"{here}.key", key)
            terms[key] = frozenset(values)
        if (found := frozenset(terms.items())) in before:
            errors.duplicate(f"{at}.matchLabelExpressions", "")
        before.add(found)


# ---------------------------------------------------------------------------------- drivers


def validate_csi_node(errors: FieldErrors, node: Document) -> None:
    """Check a new CSINode."""
    seen: set[str] = set()
    for index, driver in enumerate((node.get("spec") or {}).get("drivers") or ()):
        at, name = f"spec.drivers[{index}]", driver.get("name") or ""
        validate_driver_name(errors, f"{at}.name", name)
        node_id = driver.get("nodeID") or ""
        if not node_id:
            errors.required(f"{at}.nodeID")
        if len(node_id) > 256:
            errors.invalid(f"{at}.nodeID", node_id, "must be 256 characters or less")
        count = (driver.get("allocatable") or {}).get("count")
        errors.not_negative(f"{at}.allocatable.count", count)
        if name in seen:
            errors.duplicate(f"{at}.name", name)
        seen.add(name)
        keys: set[str] = set()
        for key in driver.get("topologyKeys") or ():
            if not key:
                errors.required(at)
            if key in keys:
                errors.duplicate(at, key)
            keys.add(key)
            errors.each(at, key, qualified_name(key))


def validate_csi_node_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CSINode: a driver can change only its allocatable count."""
    validate_csi_node(errors, new)
    before = {each.get("name"): each for each in (old.get("spec") or {}).get("drivers") or ()}
    for driver in (new.get("spec") or {}).get("drivers") or ():
        former = before.get(driver.get("name"))
        if former is not None:
            changed, kept = driver | {"allocatable": None}, former | {"allocatable": None}
            errors.immutable("spec.drivers", changed, kept, "CSINodeDriver")


def validate_csi_driver(errors: FieldErrors, driver: Document) -> None:
    """Check a new CSIDriver."""
    _validate_csi_driver_spec(errors, driver.get("spec") or {})


def validate_csi_driver_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CSIDriver."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _validate_csi_driver_spec(errors, spec)
    modes = "volumeLifecycleModes"
    errors.immutable(
        "spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired")
    )
    errors.immutable(f"spec.{modes}", spec.get(modes), before.get(modes))


def _validate_csi_driver_spec(errors: FieldErrors, spec: Document) -> None:
    policy = spec.get("fsGroupPolicy")
    choices = ("File", "None", "ReadWriteOnceWithFSType")
    if policy is not None and policy not in choices:
        errors.unsupported("spec.fsGroupPolicy", policy, choices)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            errors.unsupported("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))
    _validate_token_requests(errors, spec.get("tokenRequests") or [])
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        at = "spec.nodeAllocatableUpdatePeriodSeconds"
        errors.invalid(at, period, "must be greater than or equal to 10 seconds")


def _validate_token_requests(errors: FieldErrors, requests: list[Document]) -> None:
    """Upstream: pkg/apis/storage/validation/validation.go, validateTokenRequests."""
    seen: set[str] = set()
    for index, request in enumerate(requests):
        at, audience = f"spec.tokenRequests[{index}]", request.get("audience") or ""
        if audience in seen:
            errors.duplicate(f"{at}.audience", audience)
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _TOKEN_LEAST_S:
            text = "may not specify a duration less than 10 minutes"
            errors.invalid(f"{at}.expirationSeconds", seconds, text)
        if seconds is not None and seconds > _TOKEN_MOST_S:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.invalid(f"{at}.expirationSeconds", seconds, text)


_TOKEN_LEAST_S: Final = 600
_TOKEN_MOST_S: Final = 2**32


def validate_storage_capacity(errors: FieldErrors, capacity: Document) -> None:
    """Check a new CSIStorageCapacity."""
    validate_label_selector(errors, "nodeTopology", capacity.get("nodeTopology"))
    name = capacity.get("storageClassName") or ""
    errors.each("storageClassName", name, dns_subdomain(name))
    if (text := capacity.get("capacity")) is not None:
        amount = validate_quantity(errors, "capacity", text)
        if amount is not None and amount.unscaled < 0:
            errors.invalid(
                "capacity", format_quantity(amount), "must be greater than or equal to 0"
            )


def validate_storage_capacity_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CSIStorageCapacity.

    Upstream: pkg/registry/storage/csistoragecapacity/strategy.go
    """
    validate_storage_capacity(errors, new)
    for name in ("nodeTopology", "storageClassName"):
        errors.immutable(name, new.get(name), old.get(name))


def validate_volume_attachment(errors: FieldErrors, attachment: Document) -> None:
    """Check a new VolumeAttachment."""
    spec = attachment.get("spec") or {}
    validate_driver_name(errors, "spec.attacher", spec.get("attacher"))
    source = spec.get("source") or {}
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        errors.required("spec.source", text)
    elif name is not None and inline is not None:
        errors.forbidden("spec.source", text)
    elif name is not None and not name:
        at = "spec.source.persistentVolumeName"
        errors.required(at, "must specify non empty persistentVolumeName")
    node = spec.get("nodeName") or ""
    errors.each("spec.nodeName", node, dns_subdomain(node))
    if name is not None:
        errors.each("spec.source.persistentVolumeName", name, dns_subdomain(name))


def validate_volume_attachment_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed VolumeAttachment, whose spec is immutable."""
    validate_volume_attachment(errors, new)
    errors.immutable("spec", new.get("spec"), old.get("spec"), "VolumeAttachmentSpec")


def validate_attributes_class(errors: FieldErrors, attributes_class: Document) -> None:
    """Check a new VolumeAttributesClass."""
    _validate_provisioner(errors, "driverName", attributes_class.get("driverName") or "")
    parameters = attributes_class.get("parameters") or {}
    if parameters:
        _validate_parameters(errors, parameters)
    else:
        errors.required("parameters", "must contain at least one key/value pair")


def validate_attributes_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed VolumeAttributesClass, which keeps its driver and parameters."""
    for name in ("driverName", "parameters"):
        if not same(new.get(name), old.get(name)):
            errors.forbidden(name, f"updates to {name} are forbidden.")

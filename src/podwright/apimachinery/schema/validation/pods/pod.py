"""Validation of pods and pod templates.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec, ValidatePodCreate,
ValidatePodTemplateSpec; pkg/apis/core/validation/validation.go, validateEphemeralContainers.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, QuantityFormat, format_quantity, parse_quantity
from podwright.apimachinery.schema.container_totals import container_totals
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    validate_annotations,
    validate_labels,
)
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    dns_search_path,
    dns_subdomain,
    in_range,
    ip_address,
    qualified_name,
)
from podwright.apimachinery.schema.validation.pods.containers import (
    Volumes,
    validate_container,
    validate_containers,
    validate_init_containers,
)
from podwright.apimachinery.schema.validation.pods.pod_volumes import validate_volumes
from podwright.apimachinery.schema.validation.pods.resources import (
    is_huge_page,
    validate_pod_resource_name,
    validate_requirements,
)
from podwright.apimachinery.schema.validation.pods.scheduling import (
    validate_affinity,
    validate_gates,
    validate_spread_constraints,
    validate_tolerations,
)
from podwright.apimachinery.schema.validation.pods.security import (
    validate_host_processes,
    validate_matching_fields,
    validate_operating_system,
    validate_pod_security,
    validate_profiles,
)

_INT32_MAX: Final = 2**31 - 1
_USUAL: Final = frozenset(
    {"affinity", "containers", "dnsPolicy", "enableServiceLinks", "initContainers", "nodeName",
     "nodeSelector", "preemptionPolicy", "priority", "priorityClassName", "restartPolicy",
     "schedulerName", "securityContext", "serviceAccount", "serviceAccountName",
     "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes"}
)  # fmt: skip
"""The fields of most specs; rules of other fields are skipped for a spec that has only these."""
_RESTART: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"


def validate_pod(errors: FieldErrors, pod: Document) -> None:
    """Check a new pod."""
    spec = pod.get("spec") or {}
    validate_pod_parts(errors, pod)
    if spec.get("ephemeralContainers"):
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.forbidden("spec.nodeName", text)
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    validate_matching_fields(errors, "spec", annotations, spec)


def validate_pod_parts(errors: FieldErrors, pod: Document) -> None:
    """Check the metadata and the spec of a new or changed pod.

    Upstream: validatePodMetadataAndSpec
    """
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    _validate_pod_annotations(errors, "metadata.annotations", metadata, spec)
    validate_pod_spec(errors, "spec", spec, metadata)
    if not spec.get("serviceAccountName"):
        _validate_tokens(errors, spec)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                text = "must not have leading or trailing whitespace"
                errors.invalid(f"spec.{field}[{index}].image", image, text)


def _validate_tokens(errors: FieldErrors, spec: Document) -> None:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                errors.forbidden(
                    f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )


def validate_template(errors: FieldErrors, path: str, template: Document) -> None:
    """Check the pod template of a workload."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    validate_labels(errors, f"{path}.labels", metadata.get("labels"))
    validate_annotations(errors, f"{path}.annotations", metadata.get("annotations"))
    _validate_pod_annotations(errors, f"{path}.annotations", metadata, spec)
    validate_pod_spec(errors, f"{path}.spec", spec, None)
    validate_matching_fields(errors, f"{path}.spec", metadata.get("annotations") or {}, spec)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.forbidden(f"{path}.spec.ephemeralContainers", text)


def validate_pod_template(errors: FieldErrors, template: Document) -> None:
    """Check a PodTemplate."""
    validate_template(errors, "template", template.get("template") or {})


def _validate_pod_annotations(
    errors: FieldErrors, path: str, metadata: Document, spec: Document
) -> None:
    annotations = metadata.get("annotations")
    if not annotations:
        return
    if _MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], text)
    if written := annotations.get(_TOLERATIONS):
        try:
            tolerations = json.loads(written)
        except ValueError as error:
            errors.invalid(path, _TOLERATIONS, str(error))
        else:
            validate_tolerations(errors, f"{path}.{_TOLERATIONS}", tolerations or [])
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        errors.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    validate_profiles(errors, path, annotations, spec)


def _is_int32(text: str) -> bool:
    # Upstream refuses a plus sign and leading zeros.
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and text != "0"):
        return False
    return -(2**31) <= int(text) <= _INT32_MAX


def validate_pod_spec(
    errors: FieldErrors, path: str, spec: Document, metadata: Document | None
) -> None:
    """Check the spec of a pod or of a template.

    Parameters
    ----------
    metadata : dict, optional
        The metadata of the pod; None for a template.
    """
    is_usual = _USUAL.issuperset(spec)
    _validate_all_containers(errors, path, spec, metadata)
    _validate_choice(errors, f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART)
    _validate_choice(errors, f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    if selector := spec.get("nodeSelector"):
        validate_labels(errors, f"{path}.nodeSelector", selector)
    security: Document = spec.get("securityContext") or {}
    if security or spec.get("shareProcessNamespace"):
        validate_pod_security(errors, f"{path}.securityContext", security, spec)
    if affinity := spec.get("affinity"):
        validate_affinity(errors, f"{path}.affinity", affinity)
    if not is_usual or spec.get("dnsPolicy") == "None":
        _validate_dns(errors, f"{path}.dnsConfig", spec)
    if not is_usual:
        _validate_all_gates(errors, path, spec)
    if constraints := spec.get("topologySpreadConstraints"):
        validate_spread_constraints(errors, f"{path}.topologySpreadConstraints", constraints)
    validate_host_processes(errors, path, spec)
    for rule, is_rare in _REST:
        if not is_rare or not is_usual:
            rule(errors, path, spec)


def _validate_all_containers(
    errors: FieldErrors, path: str, spec: Document, metadata: Document | None
) -> None:
    """Check the containers, and what they use of the pod."""
    claims = spec.get("resourceClaims") or []
    names = {each["name"] for each in claims if each.get("name")}
    volumes: Volumes = {}
    if written := spec.get("volumes"):
        volumes = validate_volumes(errors, f"{path}.volumes", written, metadata)
    if claims:
        _validate_claims(errors, f"{path}.resourceClaims", claims, metadata)
    validate_containers(errors, f"{path}.containers", spec, volumes, names)
    validate_init_containers(errors, f"{path}.initContainers", spec, volumes, names)
    if spec.get("ephemeralContainers"):
        validate_ephemeral_containers(errors, f"{path}.ephemeralContainers", spec)
    if spec.get("resources"):
        _validate_pod_resources(errors, f"{path}.resources", spec, names)
    if spec.get("hostNetwork"):
        _validate_host_network(errors, path, spec, is_pod=metadata is not None)


def _validate_all_gates(errors: FieldErrors, path: str, spec: Document) -> None:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at, name = f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType") or ""
        errors.each(at, name, qualified_name(name))
    if gates := spec.get("schedulingGates"):
        validate_gates(errors, f"{path}.schedulingGates", gates)


def _validate_choice(
    errors: FieldErrors, path: str, value: str | None, choices: tuple[str, ...]
) -> None:
    """Check an enumeration; an absent value is set by a default."""
    if value and value not in choices:
        errors.unsupported(path, value, choices)


def _validate_names(errors: FieldErrors, path: str, spec: Document) -> None:
    for name in ("serviceAccountName", "nodeName"):
        if (value := spec.get(name)) and (details := dns_subdomain(value)):
            errors.each(f"{path}.{name}", value, details)


def _validate_host_names(errors: FieldErrors, path: str, spec: Document) -> None:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        at = f"{path}.activeDeadlineSeconds"
        errors.each(at, deadline, in_range(deadline, 1, _INT32_MAX))
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            errors.each(f"{path}.{name}", value, dns_label(value))


def _validate_tolerations(errors: FieldErrors, path: str, spec: Document) -> None:
    if tolerations := spec.get("tolerations"):
        validate_tolerations(errors, f"{path}.tolerations", tolerations)


def _validate_aliases(errors: FieldErrors, path: str, spec: Document) -> None:
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at, address = f"{path}.hostAliases[{index}]", alias.get("ip") or ""
        errors.each(f"{at}.ip", address, ip_address(address))
        for number, name in enumerate(alias.get("hostnames") or ()):
            errors.each(f"{at}.hostnames[{number}]", name, dns_subdomain(name))


def _validate_priority_class(errors: FieldErrors, path: str, spec: Document) -> None:
    if name := spec.get("priorityClassName"):
        errors.each(f"{path}.priorityClassName", name, dns_subdomain(name))


def _validate_runtime_class(errors: FieldErrors, path: str, spec: Document) -> None:
    if name := spec.get("runtimeClassName"):
        errors.each(f"{path}.runtimeClassName", name, dns_subdomain(name))


def _validate_preemption(errors: FieldErrors, path: str, spec: Document) -> None:
    _validate_choice(errors, f"{path}.preemptionPolicy", spec.get("preemptionPolicy"), _PREEMPTION)


def _validate_rest(errors: FieldErrors, path: str, spec: Document) -> None:
    if overhead := spec.get("overhead"):
        validate_requirements(errors, f"{path}.overhead", {"limits": overhead}, set())
    if spec.get("os") is not None:
        validate_operating_system(errors, path, spec)
    if (group := spec.get("schedulingGroup")) is not None:
        at, name = f"{path}.schedulingGroup.podGroupName", group.get("podGroupName")
        if name is None:
            errors.invalid(at, None, "must specify one of: `podGroupName`")
        else:
            errors.each(at, name, dns_subdomain(name))


def _validate_file_references(errors: FieldErrors, path: str, spec: Document) -> None:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            for number, variable in enumerate(container.get("env") or ()):
                source = variable.get("valueFrom")
                reference = None if source is None else source.get("fileKeyRef")
                if reference is None:
                    continue
                volumes = {each.get("name"): each for each in spec.get("volumes") or ()}
                at = f"{path}.{field}[{index}].env[{number}].valueFrom.fileKeyRef.volumeName"
                name = reference.get("volumeName") or ""
                if name not in volumes:
                    errors.not_found(at, name)
                elif volumes[name].get("emptyDir") is None:
                    errors.invalid(at, name, "referenced volume must be of type emptyDir")


def _validate_claims(
    errors: FieldErrors, path: str, claims: list[Document], metadata: Document | None
) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if _MIRROR in ((metadata or {}).get("annotations") or {}):
            errors.forbidden("", "static pods do not support resource claims")
            continue
        at, name = f"{path}[{index}]", claim.get("name") or ""
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if not name:
            errors.required(f"{at}.name")
        elif name in seen:
            errors.duplicate(f"{at}.name", name)
        else:
            errors.each(f"{at}.name", name, dns_label(name))
            seen.add(name)
        shown = internal_form(claim, "PodResourceClaim")
        if direct is not None and template is not None:
            text = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            errors.invalid(at, shown, text)
        if direct is None and template is None:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.invalid(at, shown, text)
        for field, value in (
            ("resourceClaimName", direct),
            ("resourceClaimTemplateName", template),
        ):
            if value is not None:
                errors.each(f"{at}.{field}", value, dns_subdomain(value))


def _validate_pod_resources(
    errors: FieldErrors, path: str, spec: Document, names: set[str]
) -> None:
    """Check the resources of the whole pod, and that those of its containers fit in them.

    Upstream: validatePodResources, validatePodResourceConsistency
    """
    resources = spec["resources"]
    if (spec.get("os") or {}).get("name") == "windows":
        errors.forbidden(path, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        text = "claims may not be set for Resources at pod-level"
        errors.forbidden(f"{path}.claims", text)
    validate_requirements(errors, path, resources, names, validate_pod_resource_name)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name, total in sorted(container_totals(spec, kind).items()):
            if name not in amounts or (kind == "limits" and not is_huge_page(name)):
                continue
            written = parse_quantity(amounts[name])
            if total > written.nano:
                amount = parse_quantity(f"{total}n")
                written_as = _format_of_total(spec, kind, name)
                shown = format_quantity(msgspec.structs.replace(amount, format=written_as))
                text = f"must be greater than or equal to aggregate container {kind} of {shown}"
                errors.invalid(f"{path}.{kind}[{name}]", format_quantity(written), text)
    for index, container in enumerate(spec.get("containers") or ()):
        written_limits = (container.get("resources") or {}).get("limits") or {}
        for name, text in sorted(written_limits.items()):
            if name in limits and parse_quantity(text).nano > parse_quantity(limits[name]).nano:
                detail = (
                    f"must be less than or equal to pod limits of {format_quantity(limits[name])}"
                )
                at = f"{path}.containers[{index}][{name}].limits"
                errors.invalid(at, format_quantity(text), detail)


def _format_of_total(spec: Document, kind: str, name: str) -> QuantityFormat:
    """Return the kind of suffix of a sum, which is that of the first amount in it.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Add
    """
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            text = ((container.get("resources") or {}).get(kind) or {}).get(name)
            if text is not None and parse_quantity(text).nano:
                return parse_quantity(text).format
    return "DecimalSI"


def _validate_host_network(errors: FieldErrors, path: str, spec: Document, *, is_pod: bool) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host_port, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host_port) and host_port != own:
                at = f"{path}.containers[{index}].ports[{number}].hostPort"
                text = "must match `containerPort` when `hostNetwork` is true"
                errors.invalid(at, host_port, text)


def _validate_dns(errors: FieldErrors, path: str, spec: Document) -> None:
    config: Document | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.required(f"{path}.nameservers", text)
            return
    if config is not None:
        _validate_dns_config(errors, path, config)


def _validate_dns_config(errors: FieldErrors, path: str, config: Document) -> None:
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        text = "must not have more than 3 nameservers"
        errors.invalid(f"{path}.nameservers", servers, text)
    for index, server in enumerate(servers):
        errors.each(f"{path}.nameservers[{index}]", server, ip_address(server))
    if len(searches) > 32:
        text = "must not have more than 32 search paths"
        errors.invalid(f"{path}.searches", searches, text)
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        errors.invalid(f"{path}.searches", searches, text)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors.each(f"{path}.searches[{index}]", name, dns_search_path(name))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.required(f"{path}.options[{index}]", "must not be empty")


def _validate_host_users(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("hostUsers") is not False:
        return
    text = "when `hostUsers` is false"
    for field, name in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(field):
            errors.forbidden(f"{path}.{name}", text)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            if container.get("volumeDevices"):
                errors.forbidden(f"{path}.{field}[{index}].volumeDevices", text)


def _validate_host_name(errors: FieldErrors, path: str, spec: Document) -> None:
    name, at = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return
    if spec.get("setHostnameAsFQDN"):
        errors.forbidden(at, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        errors.forbidden(at, "may not be specified when hostNetwork is true")
    if len(name) > 64:
        errors.too_long(at, 64)
    errors.each(at, name, dns_subdomain(name))


_REST: Final = (
    (_validate_host_users, True),
    (_validate_host_name, True),
    (_validate_names, False),
    (_validate_host_names, True),
    (_validate_tolerations, False),
    (_validate_aliases, True),
    (_validate_priority_class, False),
    (_validate_runtime_class, True),
    (_validate_preemption, False),
    (_validate_rest, True),
    (_validate_file_references, False),
)
"""The last rules in upstream's order, and whether they are about fields that few specs have."""


# Validation of ephemeral containers.

_EPHEMERAL_FIELDS: Final = frozenset(
    {"args", "command", "env", "envFrom", "image", "imagePullPolicy", "name", "resources",
     "securityContext", "stdin", "stdinOnce", "targetContainerName", "terminationMessagePath",
     "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir"}
)  # fmt: skip
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"


def validate_ephemeral_containers(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check the ephemeral containers of a pod."""
    others = {
        each.get("name")
        for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    }
    taken = set(others)
    volumes = {each.get("name") or "": each for each in spec.get("volumes") or ()}
    claims = {each.get("name") or "" for each in spec.get("resourceClaims") or ()}
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}[{index}]"
        common = {name: one for name, one in container.items() if name in _EPHEMERAL_FIELDS}
        validate_container(errors, at, common, spec, volumes, claims)
        image = container.get("image") or ""
        if image != image.strip():
            text = "must not have leading or trailing whitespace"
            errors.invalid(f"{at}.image", image, text)
        name = container.get("name")
        if name in taken:
            errors.duplicate(f"{at}.name", name)
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.not_found(f"{at}.targetContainerName", target)
        for field, value in container.items():
            if field not in _EPHEMERAL_FIELDS or (field == "resources" and value):
                errors.forbidden(f"{at}.{field}", _NOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.forbidden(f"{at}.volumeMounts[{number}].{field}", _NOT_EPHEMERAL)

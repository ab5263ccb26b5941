"""Validation of pods and pod templates.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec, ValidatePodCreate,
ValidatePodTemplateSpec; pkg/apis/core/validation/validation.go, validateEphemeralContainers.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import (
    DELETION_COST,
    Document,
    deletion_cost,
    format_quantity,
    parse_quantity,
)
from podwright.apimachinery.schema.container_totals import container_totals, written_total
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.annotation_lists import annotation_list
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    validate_annotations,
    validate_labels,
)
from podwright.apimachinery.schema.validation.names import dns_search_path, in_range
from podwright.apimachinery.schema.validation.pods.containers import (
    Volumes,
    validate_container,
    validate_containers,
    validate_init_containers,
)
from podwright.apimachinery.schema.validation.pods.pod_volumes import validate_volumes
from podwright.apimachinery.schema.validation.pods.resources import (
    is_huge_page,
    validate_overhead,
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
    containers_of,
    validate_host_processes,
    validate_matching_fields,
    validate_operating_system,
    validate_pod_security,
    validate_profiles,
)

_INT32_MAX: Final = 2**31 - 1
MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of static pods."""
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_TOLERATION_FIELDS: Final = {
    "key": "string", "operator": "core.TolerationOperator", "value": "string",
    "effect": "core.TaintEffect", "tolerationSeconds": "int64",
}  # fmt: skip
_USUAL: Final = frozenset(
    {"affinity", "containers", "dnsPolicy", "enableServiceLinks", "initContainers", "nodeName",
     "nodeSelector", "preemptionPolicy", "priority", "priorityClassName", "restartPolicy",
     "schedulerName", "securityContext", "serviceAccount", "serviceAccountName",
     "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes"}
)  # fmt: skip
"""The fields of most specs; rules of other fields are skipped for a spec that has only these."""
_INIT_CONTAINERS_FIRST: Final = ("initContainers", "containers")
TRIMMED: Final = r.valid(
    lambda image: image == image.strip(), "must not have leading or trailing whitespace"
)


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
    validate_pod_annotations(errors, "metadata.annotations", metadata, spec)
    validate_pod_spec(errors, "spec", spec, metadata)
    if not spec.get("serviceAccountName"):
        _validate_tokens(errors, spec)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            TRIMMED(errors, f"spec.{field}[{index}].image", container.get("image") or "")


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
    validate_pod_annotations(errors, f"{path}.annotations", metadata, spec)
    validate_pod_spec(errors, f"{path}.spec", spec, None)
    validate_matching_fields(errors, f"{path}.spec", metadata.get("annotations") or {}, spec)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.forbidden(f"{path}.spec.ephemeralContainers", text)


def validate_pod_template(errors: FieldErrors, template: Document) -> None:
    """Check a PodTemplate."""
    validate_template(errors, "template", template.get("template") or {})


def validate_pod_annotations(
    errors: FieldErrors, path: str, metadata: Document, spec: Document
) -> None:
    """Check the annotations that say something about pods.

    Upstream: ValidatePodSpecificAnnotations
    """
    annotations = metadata.get("annotations")
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.invalid(f"{path}[{MIRROR}]", annotations[MIRROR], text)
    if written := annotations.get(_TOLERATIONS):
        tolerations = annotation_list(
            errors, path, _TOLERATIONS, written, "Toleration", _TOLERATION_FIELDS
        )
        validate_tolerations(errors, f"{path}.{_TOLERATIONS}", tolerations)
    cost = annotations.get(DELETION_COST)
    if cost is not None and deletion_cost(cost) is None:
        errors.invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")
    validate_profiles(errors, path, annotations, spec)


def validate_pod_spec(
    errors: FieldErrors, path: str, spec: Document, metadata: Document | None
) -> None:
    """Check the spec of a pod or of a template.

    Parameters
    ----------
    metadata : dict, optional
        The metadata of the pod; None for a template.
    """
    _validate_all_containers(errors, path, spec, metadata)
    _POLICIES(errors, path, spec)
    if selector := spec.get("nodeSelector"):
        validate_labels(errors, f"{path}.nodeSelector", selector)
    security: Document = spec.get("securityContext") or {}
    if security or spec.get("shareProcessNamespace"):
        validate_pod_security(errors, f"{path}.securityContext", security, spec)
    if affinity := spec.get("affinity"):
        validate_affinity(errors, f"{path}.affinity", affinity)
    is_usual = _USUAL.issuperset(spec)
    if not is_usual or spec.get("dnsPolicy") == "None":
        _validate_dns(errors, path, spec)
        _GATES(errors, path, spec)
    if constraints := spec.get("topologySpreadConstraints"):
        validate_spread_constraints(errors, f"{path}.topologySpreadConstraints", constraints)
    validate_host_processes(errors, path, spec)
    (_OF_USUAL if is_usual else _OF_ANY)(errors, path, spec)
    _validate_file_references(errors, path, spec)


def _validate_all_containers(
    errors: FieldErrors, path: str, spec: Document, metadata: Document | None
) -> None:
    """Check the containers, and what they use of the pod."""
    claims = spec.get("resourceClaims") or []
    names = {each["name"] for each in claims if each.get("name")}
    volumes: Volumes = {}
    if written := spec.get("volumes"):
        volumes = validate_volumes(errors, f"{path}.volumes", written, metadata)
    _validate_claims(errors, f"{path}.resourceClaims", claims, metadata)
    validate_containers(errors, f"{path}.containers", spec, volumes, names)
    validate_init_containers(errors, f"{path}.initContainers", spec, volumes, names)
    if spec.get("ephemeralContainers"):
        validate_ephemeral_containers(errors, f"{path}.ephemeralContainers", spec)
    if spec.get("resources"):
        _validate_pod_resources(errors, f"{path}.resources", spec, names)
    if spec.get("hostNetwork"):
        _validate_host_network(errors, path, spec, is_pod=metadata is not None)


def _validate_claims(
    errors: FieldErrors, path: str, claims: list[Document], metadata: Document | None
) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if MIRROR in ((metadata or {}).get("annotations") or {}):
            errors.forbidden("", "static pods do not support resource claims")
            continue
        at, name = f"{path}[{index}]", claim.get("name")
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if name in seen:
            errors.duplicate(f"{at}.name", name)
        else:
            _CLAIM_NAME(errors, at, claim)
        if name:
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
        _CLAIM(errors, at, claim)


_CLAIM_NAME: Final = r.struct(name=r.required(r.LABEL))
_CLAIM: Final = r.struct(resourceClaimName=r.SUBDOMAIN, resourceClaimTemplateName=r.SUBDOMAIN)


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
                shown = written_total(spec, kind, name, total)
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


def _validate_host_network(errors: FieldErrors, path: str, spec: Document, *, is_pod: bool) -> None:
    for at, container in containers_of(path, spec, ("containers",)):
        for index, port in enumerate(container.get("ports") or ()):
            host_port, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host_port) and host_port != own:
                text = "must match `containerPort` when `hostNetwork` is true"
                errors.invalid(f"{at}.ports[{index}].hostPort", host_port, text)


# ------------------------------------------------------------------ fields of the whole pod


def _validate_dns(errors: FieldErrors, path: str, spec: Document) -> None:
    config: Document | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            text = "must provide `dnsConfig` when `dnsPolicy` is None"
            errors.required(f"{path}.dnsConfig", text)
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.required(f"{path}.dnsConfig.nameservers", text)
            return
    _DNS_CONFIG(errors, f"{path}.dnsConfig", config)


def _validate_search(errors: FieldErrors, path: str, search: str) -> None:
    if search != ".":
        name = search.removesuffix(".")
        errors.each(path, name, dns_search_path(name))


def _validate_option(errors: FieldErrors, path: str, option: Document) -> None:
    if not option.get("name"):
        errors.required(path, "must not be empty")


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
    for at, container in containers_of(path, spec, _INIT_CONTAINERS_FIRST):
        if container.get("volumeDevices"):
            errors.forbidden(f"{at}.volumeDevices", text)


def _validate_host_name(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("hostnameOverride") is not None:
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.get(field):
                text = f"may not be specified when {field} is true"
                errors.forbidden(f"{path}.hostnameOverride", text)


def _validate_system(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("os") is not None:
        validate_operating_system(errors, path, spec)


def _validate_group(errors: FieldErrors, path: str, name: str | None) -> None:
    if name is None:
        errors.invalid(path, None, "must specify one of: `podGroupName`")
    else:
        r.SUBDOMAIN(errors, path, name)


def _validate_file_references(errors: FieldErrors, path: str, spec: Document) -> None:
    for field in _INIT_CONTAINERS_FIRST:
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


_DNS_CONFIG: Final = r.struct(
    nameservers=r.all_of(
        r.valid(lambda servers: len(servers) <= 3, "must not have more than 3 nameservers"),
        r.each(r.ADDRESS),
    ),
    searches=r.all_of(
        r.valid(lambda paths: len(paths) <= 32, "must not have more than 32 search paths"),
        r.valid(
            lambda paths: len(" ".join(paths)) <= 2048,
            "must not have more than 2048 characters (including spaces) in the search list",
        ),
        r.each(_validate_search),
    ),
    options=r.each(_validate_option),
)
_NAME: Final = r.optional(r.SUBDOMAIN)
_POLICIES: Final = r.struct(
    restartPolicy=r.one_of("Always", "OnFailure", "Never"),
    dnsPolicy=r.one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
)
_GATES: Final = r.struct(
    readinessGates=r.each(r.struct(conditionType=r.always(r.QUALIFIED, ""))),
    schedulingGates=validate_gates,
)
_PREEMPTION: Final = r.nonempty(r.one_of("PreemptLowerPriority", "Never"))
_OF_USUAL: Final = r.struct(
    serviceAccountName=_NAME,
    nodeName=_NAME,
    tolerations=validate_tolerations,
    priorityClassName=_NAME,
    preemptionPolicy=_PREEMPTION,
)
_OF_ANY: Final = r.all_of(
    _validate_host_users,
    _validate_host_name,
    r.struct(
        hostnameOverride=r.all_of(r.max_bytes(64), r.SUBDOMAIN),
        serviceAccountName=_NAME,
        nodeName=_NAME,
        activeDeadlineSeconds=r.form(lambda seconds: in_range(seconds, 1, _INT32_MAX)),
        hostname=r.optional(r.LABEL),
        subdomain=r.optional(r.LABEL),
        tolerations=validate_tolerations,
        hostAliases=r.each(r.struct(ip=r.always(r.ADDRESS, ""), hostnames=r.each(r.SUBDOMAIN))),
        priorityClassName=_NAME,
        runtimeClassName=r.SUBDOMAIN,
        preemptionPolicy=_PREEMPTION,
        overhead=validate_overhead,
    ),
    _validate_system,
    r.struct(schedulingGroup=r.struct(podGroupName=r.always(_validate_group))),
)
"""The last rules in upstream's order."""


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
    for index, container in enumerate(spec["ephemeralContainers"]):
        at = f"{path}[{index}]"
        validate_container(errors, at, container, spec, volumes, claims)
        TRIMMED(errors, f"{at}.image", container.get("image") or "")
        name = container.get("name")
        if name in taken:
            errors.duplicate(f"{at}.name", name)
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.not_found(f"{at}.targetContainerName", target)
        for field, value in container.items():
            if value is None:
                continue
            if field not in _EPHEMERAL_FIELDS or (field == "resources" and value):
                errors.forbidden(f"{at}.{field}", _NOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.forbidden(f"{at}.volumeMounts[{number}].{field}", _NOT_EPHEMERAL)

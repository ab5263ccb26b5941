"""Validation of containers: names, ports, environment, mounts, probes and hooks.

Upstream: pkg/apis/core/validation/validation.go, validateContainerCommon, validateContainers,
validateInitContainers
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    http_header,
    path_without_backsteps,
    port_name,
    port_number,
    port_number_or_name,
    qualified_name,
    relative_path,
)
from podwright.apimachinery.schema.validation.pods.resources import (
    validate_quantity,
    validate_requirements,
)
from podwright.apimachinery.schema.validation.pods.security import validate_container_security

Volumes = dict[str, Document]
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_FIELD_PATHS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_CONVERTED_PATHS: Final = frozenset(
    {
        *_FIELD_PATHS,
        "metadata.annotations",
        "metadata.labels",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    }
)
_RESOURCES: Final = tuple(
    f"{kind}.{name}"
    for kind in ("limits", "requests")
    for name in ("cpu", "ephemeral-storage", "memory")
)
_MEMORY_DIVISORS: Final = frozenset(
    {"1", *["1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]}
)
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def validate_containers(
    errors: FieldErrors, path: str, spec: Document, volumes: Volumes, claims: set[str]
) -> None:
    """Check the containers of a pod.

    Parameters
    ----------
    volumes : dict
        The valid volumes of the pod, by name.
    claims : set of str
        The names in `spec.resourceClaims`.
    """
    containers = spec.get("containers")
    if not containers:
        errors.required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        validate_container(errors, at, container, spec, volumes, claims)
        name = container.get("name") or ""
        if name in seen:
            errors.duplicate(f"{at}.name", name)
        seen.add(name)
        _validate_lifecycle(errors, at, container, spec)
        _validate_probes(errors, at, container, spec)
        _validate_restart_rules(errors, at, container)
    _validate_host_ports(errors, path, containers)


def validate_init_containers(
    errors: FieldErrors, path: str, spec: Document, volumes: Volumes, claims: set[str]
) -> None:
    """Check the init containers of a pod, sidecars among them."""
    containers = spec.get("initContainers")
    if not containers:
        return
    seen = {each.get("name") or "" for each in spec.get("containers") or ()}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        validate_container(errors, at, container, spec, volumes, claims)
        is_sidecar = container.get("restartPolicy") == "Always"
        _validate_restart_rules(errors, at, container)
        name = container.get("name") or ""
        if name in seen:
            errors.duplicate(f"{at}.name", name)
        elif name:
            seen.add(name)
        _validate_host_ports(errors, path, [container])
        if is_sidecar:
            _validate_lifecycle(errors, at, container, spec)
            _validate_probes(errors, at, container, spec)
            continue
        for field in ("lifecycle", *_PROBES):
            if container.get(field) is not None:
                errors.forbidden(f"{at}.{field}", _NOT_FOR_INIT)
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                errors.invalid(
                    f"{at}.resizePolicy[{number}].restartPolicy",
                    "RestartContainer",
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )


def validate_container(
    errors: FieldErrors,
    path: str,
    container: Document,
    spec: Document,
    volumes: Volumes,
    claims: set[str],
) -> None:
    """Check what containers of all types have in common.

    Upstream: validateContainerCommon
    """
    name = container.get("name")
    if not name:
        errors.required(f"{path}.name")
    elif details := dns_label(name):
        errors.each(f"{path}.name", name, details)
    if not container.get("image"):
        errors.required(f"{path}.image")
    policy = container.get("terminationMessagePolicy") or "File"
    if policy not in ("File", "FallbackToLogsOnError"):
        choices = ("File", "FallbackToLogsOnError")
        errors.unsupported(f"{path}.terminationMessagePolicy", policy, choices)
    if ports := container.get("ports"):
        _validate_ports(errors, f"{path}.ports", ports)
    for index, variable in enumerate(container.get("env") or ()):
        _validate_variable(errors, path, index, variable)
    for field, rule in _SOURCES_OF_FILES.items():
        if container.get(field):
            rule(errors, f"{path}.{field}", container, volumes)
    validate_pull_policy(errors, f"{path}.imagePullPolicy", container.get("imagePullPolicy"))
    if resources := container.get("resources"):
        validate_requirements(errors, f"{path}.resources", resources, claims)
    if container.get("resizePolicy"):
        _validate_resize(errors, f"{path}.resizePolicy", container, spec)
    if security := container.get("securityContext"):
        uses_host_users = spec.get("hostUsers") is not False
        at = f"{path}.securityContext"
        validate_container_security(errors, at, security, uses_host_users=uses_host_users)


def validate_pull_policy(errors: FieldErrors, path: str, policy: str | None) -> None:
    """Check when an image is pulled; an absent policy is set by a default."""
    if policy and policy not in _PULL_POLICIES:
        errors.unsupported(path, policy, _PULL_POLICIES)


def _validate_ports(errors: FieldErrors, path: str, ports: list[Document]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if name := port.get("name"):
            details = port_name(name)
            if details:
                errors.each(f"{at}.name", name, details)
            elif name in seen:
                errors.duplicate(f"{at}.name", name)
            seen.add(name)
        number = port.get("containerPort") or 0
        if number == 0:
            errors.required(f"{at}.containerPort")
        elif details := port_number(number):
            errors.each(f"{at}.containerPort", number, details)
        if host_port := port.get("hostPort"):
            errors.each(f"{at}.hostPort", host_port, port_number(host_port))
        protocol = port.get("protocol") or "TCP"
        if protocol not in PROTOCOLS:
            errors.unsupported(f"{at}.protocol", protocol, PROTOCOLS)


def _validate_host_ports(errors: FieldErrors, path: str, containers: list[Document]) -> None:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if host_port := port.get("hostPort"):
                key = f"{port.get('protocol') or 'TCP'}/{port.get('hostIP') or ''}/{host_port}"
                if key in seen:
                    errors.duplicate(f"{path}[{index}].ports[{number}].hostPort", key)
                seen.add(key)


# ------------------------------------------------------------------------------ environment


def _validate_variable(errors: FieldErrors, container: str, index: int, variable: Document) -> None:
    name = variable.get("name")
    if not name:
        errors.required(f"{container}.env[{index}].name")
    elif details := env_name(name):
        errors.each(f"{container}.env[{index}].name", name, details)
    source = variable.get("valueFrom")
    if source is None:
        return
    at, count = f"{container}.env[{index}].valueFrom", 0
    if (field := source.get("fieldRef")) is not None:
        count += 1
        validate_field_ref(errors, f"{at}.fieldRef", field, _FIELD_PATHS)
    if (resource := source.get("resourceFieldRef")) is not None:
        count += 1
        validate_resource_ref(errors, f"{at}.resourceFieldRef", resource, is_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (key := source.get(kind)) is not None:
            count += 1
            _validate_key_ref(errors, f"{at}.{kind}", key)
    if (file := source.get("fileKeyRef")) is not None:
        count += 1
        _validate_file_ref(errors, f"{at}.fileKeyRef", file)
    if count == 0:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`,"
            " `secretKeyRef` or `fileKeyRef`"
        )
        errors.invalid(at, "", text)
    elif variable.get("value"):
        errors.invalid(at, "", "may not be specified when `value` is not empty")
    elif count > 1:
        errors.invalid(at, "", "may not have more than one field specified at a time")


def validate_field_ref(
    errors: FieldErrors, path: str, reference: Document, supported: tuple[str, ...]
) -> None:
    """Check a reference to a field of the pod."""
    field = reference.get("fieldPath")
    if not field:
        errors.required(f"{path}.fieldPath")
        return
    if (version := reference.get("apiVersion") or "v1") != "v1":
        text = f"error converting fieldPath: unsupported pod version: {version}"
        errors.invalid(f"{path}.fieldPath", field, text)
        return
    name, bracket, rest = field.partition("[")
    if bracket and rest.endswith("']") and rest.startswith("'"):
        key = rest[1:-2]
        if name == "metadata.annotations":
            errors.each(path, key.lower(), qualified_name(key.lower()))
        elif name == "metadata.labels":
            errors.each(path, key, qualified_name(key))
        elif name in _CONVERTED_PATHS:
            errors.invalid(path, name, "does not support subscript")
        else:
            _not_convertible(errors, path, field)
    elif field not in supported:
        if field not in _CONVERTED_PATHS:
            _not_convertible(errors, path, field)
        else:
            errors.unsupported(f"{path}.fieldPath", field, supported)


def _not_convertible(errors: FieldErrors, path: str, field: str) -> None:
    text = f"error converting fieldPath: field label not supported: {field}"
    errors.invalid(f"{path}.fieldPath", field, text)


def validate_resource_ref(
    errors: FieldErrors, path: str, reference: Document, *, is_volume: bool
) -> None:
    """Check a reference to a request or limit of a container."""
    name = reference.get("resource") or ""
    is_huge = name.startswith(("requests.hugepages-", "limits.hugepages-"))
    if is_volume and not reference.get("containerName"):
        errors.required(f"{path}.containerName")
    elif not name:
        errors.required(f"{path}.resource")
    elif name not in _RESOURCES and not is_huge:
        errors.unsupported(f"{path}.resource", name, _RESOURCES)
    written = reference.get("divisor")
    amount = validate_quantity(errors, f"{path}.divisor", written) if written else None
    if amount is None or not amount.unscaled:
        return
    divisor, what = format_quantity(amount), name.partition(".")[2]
    if what == "cpu":
        if divisor not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.invalid(f"{path}.divisor", name, text)
    elif divisor not in _MEMORY_DIVISORS and (is_huge or what in ("memory", "ephemeral-storage")):
        label = "hugepages" if is_huge else what
        label = "local ephemeral storage" if label == "ephemeral-storage" else label
        text = (
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are"
            f" supported with the {label} resource"
        )
        errors.invalid(f"{path}.divisor", name, text)


def _validate_key_ref(errors: FieldErrors, path: str, reference: Document) -> None:
    name, key = reference.get("name") or "", reference.get("key")
    if details := dns_subdomain(name):
        errors.each(f"{path}.name", name, details)
    if not key:
        errors.required(f"{path}.key")
    elif details := config_key(key):
        errors.each(f"{path}.key", key, details)


def _validate_file_ref(errors: FieldErrors, path: str, reference: Document) -> None:
    key, volume, file = (reference.get(name) for name in ("key", "volumeName", "path"))
    if not key:
        errors.required(f"{path}.key")
    else:
        errors.each(f"{path}.key", key, env_name(key))
    if not volume:
        errors.required(f"{path}.volumeName")
    else:
        errors.each(f"{path}.volumeName", volume, dns_label(volume))
    if not file:
        errors.required(f"{path}.path")
    else:
        path_without_backsteps(errors, f"{path}.path", file)


def _validate_env_from(
    errors: FieldErrors, path: str, container: Document, volumes: Volumes
) -> None:
    del volumes
    for index, source in enumerate(container["envFrom"]):
        at = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            errors.each(f"{at}.prefix", prefix, env_name(prefix))
        count = 0
        for kind in ("configMapRef", "secretRef"):
            if (reference := source.get(kind)) is None:
                continue
            count += 1
            name = reference.get("name")
            if not name:
                errors.required(f"{at}.{kind}.name")
            else:
                # Upstream accepts a dash at the end, as of a prefix.
                masked = f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
                errors.each(f"{at}.{kind}.name", name, dns_subdomain(masked))
        if count == 0:
            errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            errors.invalid(path, "", "may not have more than one field specified at a time")


# ----------------------------------------------------------------------- mounts and devices


def _validate_mounts(errors: FieldErrors, path: str, container: Document, volumes: Volumes) -> None:
    devices = {
        each.get("name"): each.get("devicePath") for each in container.get("volumeDevices") or ()
    }
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        at, name, where = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.required(f"{at}.name")
        if name not in volumes:
            errors.not_found(f"{at}.name", name)
        if not where:
            errors.required(f"{at}.mountPath")
        if where in seen:
            errors.invalid(f"{at}.mountPath", where, "must be unique")
        seen.add(where)
        if name in devices:
            errors.invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if where in devices.values():
            text = "must not already exist as a path in volumeDevices"
            errors.invalid(f"{at}.mountPath", where, text)
        _validate_mount_options(errors, path, at, mount, container)


def _validate_mount_options(
    errors: FieldErrors, path: str, at: str, mount: Document, container: Document
) -> None:
    # Upstream leaves the index of the mount out of some paths.
    if sub_path := mount.get("subPath"):
        relative_path(errors, f"{path}.subPath", sub_path)
    if expression := mount.get("subPathExpr"):
        if sub_path:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.invalid(f"{at}.subPathExpr", expression, text)
        relative_path(errors, f"{path}.subPathExpr", expression)
    if (propagation := mount.get("mountPropagation")) is not None:
        choices = ("Bidirectional", "HostToContainer", "None")
        if propagation not in choices:
            errors.unsupported(f"{path}.mountPropagation", propagation, choices)
        is_privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not is_privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.forbidden(f"{path}.mountPropagation", text)
    recursive = mount.get("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            text = "may only be specified when readOnly is true"
            errors.forbidden(f"{path}.recursiveReadOnly", text)
        if mount.get("mountPropagation") not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            errors.forbidden(f"{path}.recursiveReadOnly", text)
    elif recursive not in (None, "Disabled"):
        choices = ("Disabled", "Enabled", "IfPossible")
        errors.unsupported(f"{path}.recursiveReadOnly", recursive, choices)


def _validate_devices(
    errors: FieldErrors, path: str, container: Document, volumes: Volumes
) -> None:
    mounts = {
        each.get("name"): each.get("mountPath") for each in container.get("volumeMounts") or ()
    }
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        at, name = f"{path}[{index}]", device.get("name") or ""
        where = device.get("devicePath") or ""
        if not name:
            errors.required(f"{at}.name")
        if name in names:
            errors.invalid(f"{at}.name", name, "must be unique")
        volume = volumes.get(name)
        if volume is None:
            errors.not_found(f"{at}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for"
                " block mode"
            )
            errors.invalid(f"{at}.name", name, text)
        if not where:
            errors.required(f"{at}.devicePath")
        if where in paths:
            errors.invalid(f"{at}.devicePath", where, "must be unique")
        if ".." in where.split("/"):
            errors.invalid(f"{at}.devicePath", where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            errors.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if where in mounts.values():
            text = "must not already exist as a path in volumeMounts"
            errors.invalid(f"{at}.devicePath", where, text)
        if name:
            names.add(name)


_SOURCES_OF_FILES: Final = {
    "envFrom": _validate_env_from,
    "volumeMounts": _validate_mounts,
    "volumeDevices": _validate_devices,
}


# ------------------------------------------------------------------------- probes and hooks


def _validate_probes(errors: FieldErrors, path: str, container: Document, spec: Document) -> None:
    for kind in _PROBES:
        probe = container.get(kind)
        if probe is None:
            continue
        at = f"{path}.{kind}"
        _validate_handler(errors, at, probe, spec)
        for field in _PROBE_NUMBERS:
            number = probe.get(field)
            if number is not None and number < 0:
                errors.not_negative(f"{at}.{field}", number)
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None and grace <= 0:
            at_grace = f"{at}.terminationGracePeriodSeconds"
            errors.invalid(at_grace, grace, "must be greater than 0")
        if kind == "readinessProbe":
            if grace is not None:
                at_grace = f"{at}.terminationGracePeriodSeconds"
                errors.invalid(at_grace, grace, "must not be set for readinessProbes")
        elif (probe.get("successThreshold") or 1) != 1:
            errors.invalid(f"{at}.successThreshold", probe["successThreshold"], "must be 1")


def _validate_lifecycle(
    errors: FieldErrors, path: str, container: Document, spec: Document
) -> None:
    lifecycle = container.get("lifecycle")
    if not lifecycle:
        return
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            _validate_handler(errors, f"{path}.lifecycle.{hook}", lifecycle[hook], spec)
    if lifecycle.get("stopSignal") is not None and not spec.get("os"):
        text = "may not be set for containers with empty `spec.os.name`"
        errors.forbidden(f"{path}.lifecycle.stopSignal", text)


def _validate_handler(errors: FieldErrors, path: str, handler: Document, spec: Document) -> None:
    kinds = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    if not kinds:
        errors.required(path, "must specify a handler type")
        return
    _validate_action(errors, path, kinds[0], handler, spec)
    for kind in kinds[1:]:
        errors.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _validate_action(
    errors: FieldErrors, path: str, kind: str, handler: Document, spec: Document
) -> None:
    action, at = handler[kind], f"{path}.{kind}"
    match kind:
        case "exec":
            if not action.get("command"):
                errors.required(f"{at}.command")
        case "httpGet":
            port_number_or_name(errors, f"{at}.port", action.get("port"))
            scheme = action.get("scheme") or "HTTP"
            if scheme not in ("HTTP", "HTTPS"):
                errors.unsupported(f"{at}.scheme", scheme, ("HTTP", "HTTPS"))
            for header in action.get("httpHeaders") or ():
                name = header.get("name") or ""
                errors.each(f"{at}.httpHeaders", name, http_header(name))
        case "sleep":
            grace, seconds = spec.get("terminationGracePeriodSeconds"), action.get("seconds") or 0
            if grace is not None and not 0 <= seconds <= grace:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                errors.invalid(at, seconds, text)
        case _:
            port_number_or_name(errors, f"{at}.port", action.get("port"))


def _validate_resize(errors: FieldErrors, path: str, container: Document, spec: Document) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            errors.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for value, choices in (
            (name, ["cpu", "memory"]),
            (restart, ["NotRequired", "RestartContainer"]),
        ):
            if not value:
                errors.required(path)
            elif value not in choices:
                errors.unsupported(path, value, choices)
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.invalid(path, restart, text)


def _validate_restart_rules(errors: FieldErrors, path: str, container: Document) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            errors.required(f"{path}.restartPolicy", text)
    elif policy not in ("Always", "Never", "OnFailure"):
        policies = ("Always", "Never", "OnFailure")
        errors.unsupported(f"{path}.restartPolicy", policy, policies)
    if len(rules) > 20:
        errors.too_many(f"{path}.restartPolicyRules", len(rules), 20)
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if (action := rule.get("action") or "") not in ("Restart", "RestartAllContainers"):
            choices = ("Restart", "RestartAllContainers")
            errors.unsupported(f"{at}.action", action, choices)
        codes = rule.get("exitCodes")
        if codes is None:
            errors.required(f"{at}.exitCodes", "must be specified")
            continue
        if (operator := codes.get("operator") or "") not in ("In", "NotIn"):
            errors.unsupported(f"{at}.exitCodes.operator", operator, ("In", "NotIn"))
        if len(codes.get("values") or ()) > 255:
            errors.too_many(f"{at}.exitCodes.values", len(codes["values"]), 255)

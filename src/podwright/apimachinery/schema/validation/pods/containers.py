"""Validation of containers: names, ports, environment, mounts, probes and hooks.

Upstream: pkg/apis/core/validation/validation.go, validateContainerCommon, validateContainers,
validateInitContainers
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    http_header,
    path_without_backsteps,
    port_name,
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
PULL_POLICY: Final = r.one_of("Always", "IfNotPresent", "Never")
"""When an image is pulled; an absent or empty policy is set by a default."""

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
_MEMORY_DIVISORS: Final = (
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
)  # fmt: skip
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_ONLY_ONE: Final = "may not have more than one field specified at a time"


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
        _validate_restart_rules(errors, at, container, is_init=True)
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
    # Paths are written only for errors: this runs for each container of each new pod.
    name = container.get("name")
    if not name:
        errors.required(f"{path}.name")
    elif details := dns_label(name):
        errors.each(f"{path}.name", name, details)
    if not container.get("image"):
        errors.required(f"{path}.image")
    for field, rule in _FIELDS:
        if written := container.get(field):
            rule(errors, f"{path}.{field}", written)
    if container.get("volumeMounts"):
        _validate_mounts(errors, f"{path}.volumeMounts", container, volumes)
    if container.get("volumeDevices"):
        _validate_devices(errors, f"{path}.volumeDevices", container, volumes)
    if policy := container.get("imagePullPolicy"):
        PULL_POLICY(errors, f"{path}.imagePullPolicy", policy)
    if resources := container.get("resources"):
        validate_requirements(errors, f"{path}.resources", resources, claims)
    if container.get("resizePolicy"):
        _validate_resize(errors, f"{path}.resizePolicy", container, spec)
    if security := container.get("securityContext"):
        uses_host_users = spec.get("hostUsers") is not False
        at = f"{path}.securityContext"
        validate_container_security(errors, at, security, uses_host_users=uses_host_users)


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
        _PORT(errors, at, port)


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


def _validate_variables(errors: FieldErrors, path: str, variables: list[Document]) -> None:
    for index, variable in enumerate(variables):
        name = variable.get("name")
        # Paths are written only for errors: a container may have hundreds of variables.
        if not name:
            errors.required(f"{path}[{index}].name")
        elif details := env_name(name):
            errors.each(f"{path}[{index}].name", name, details)
        if variable.get("valueFrom") is not None:
            _validate_source(errors, f"{path}[{index}].valueFrom", variable)


def _validate_source(errors: FieldErrors, path: str, variable: Document) -> None:
    source = variable["valueFrom"]
    kinds = [kind for kind in _VALUES if source.get(kind) is not None]
    for kind in kinds:
        _VALUES[kind](errors, f"{path}.{kind}", source[kind])
    if not kinds:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`,"
            " `secretKeyRef` or `fileKeyRef`"
        )
        errors.invalid(path, "", text)
    elif variable.get("value"):
        errors.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        errors.invalid(path, "", _ONLY_ONE)


def validate_field_ref(
    errors: FieldErrors, path: str, reference: Document, supported: tuple[str, ...]
) -> None:
    """Check a reference to a field of the pod."""
    field = reference.get("fieldPath")
    if not field:
        errors.required(f"{path}.fieldPath")
        return
    if (version := reference.get("apiVersion")) != "v1":
        text = f"error converting fieldPath: unsupported pod version: {version}"
        errors.invalid(f"{path}.fieldPath", field, text)
        return
    name, _, rest = field.partition("[")
    if rest.endswith("']") and rest.startswith("'"):
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
        listed = ", ".join(_MEMORY_DIVISORS)
        text = f"only divisor's values {listed} are supported with the {label} resource"
        errors.invalid(f"{path}.divisor", name, text)


def _validate_prefix_of_names(errors: FieldErrors, path: str, name: str) -> None:
    # Upstream accepts a dash at the end, as of a prefix.
    masked = f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
    errors.each(path, name, dns_subdomain(masked))


def _validate_env_from(errors: FieldErrors, path: str, sources: list[Document]) -> None:
    for index, source in enumerate(sources):
        _ENV_FROM(errors, f"{path}[{index}]", source)
        count = sum(source.get(kind) is not None for kind in ("configMapRef", "secretRef"))
        if count == 0:
            errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            errors.invalid(path, "", _ONLY_ONE)


_KEY: Final = r.struct(name=r.always(r.SUBDOMAIN, ""), key=r.required(r.form(config_key)))
_VALUES: Final[Mapping[str, r.Rule]] = {
    "fieldRef": partial(validate_field_ref, supported=_FIELD_PATHS),
    "resourceFieldRef": partial(validate_resource_ref, is_volume=False),
    "configMapKeyRef": _KEY,
    "secretKeyRef": _KEY,
    "fileKeyRef": r.struct(
        key=r.required(r.form(env_name)),
        volumeName=r.required(r.LABEL),
        path=r.required(path_without_backsteps),
    ),
}
_NAMED: Final = r.struct(name=r.required(_validate_prefix_of_names))
_ENV_FROM: Final = r.struct(
    prefix=r.optional(r.form(env_name)), configMapRef=_NAMED, secretRef=_NAMED
)
_PORT: Final = r.struct(
    containerPort=r.required(r.PORT),
    hostPort=r.optional(r.PORT),
    protocol=r.one_of(*PROTOCOLS),
)
_FIELDS: Final = (
    ("terminationMessagePolicy", r.one_of("File", "FallbackToLogsOnError")),
    ("ports", _validate_ports), ("env", _validate_variables), ("envFrom", _validate_env_from),
)  # fmt: skip


# ----------------------------------------------------------------------- mounts and devices


def _validate_mounts(errors: FieldErrors, path: str, container: Document, volumes: Volumes) -> None:
    devices = {
        each.get("name"): each.get("devicePath") for each in container.get("volumeDevices") or ()
    }
    seen: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
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


_PROPAGATION: Final = r.one_of("Bidirectional", "HostToContainer", "None")
_RECURSION: Final = r.one_of("Disabled", "Enabled", "IfPossible")


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
        _PROPAGATION(errors, f"{path}.mountPropagation", propagation)
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
    elif recursive is not None:
        _RECURSION(errors, f"{path}.recursiveReadOnly", recursive)


def _validate_devices(
    errors: FieldErrors, path: str, container: Document, volumes: Volumes
) -> None:
    mounts = {
        each.get("name"): each.get("mountPath") for each in container.get("volumeMounts") or ()
    }
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
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


# ------------------------------------------------------------------------- probes and hooks


def _validate_probes(errors: FieldErrors, path: str, container: Document, spec: Document) -> None:
    for kind, rule in _PROBES.items():
        if (probe := container.get(kind)) is not None:
            at = f"{path}.{kind}"
            _validate_handler(errors, at, probe, spec)
            _PROBE(errors, at, probe)
            rule(errors, at, probe)


_PROBE: Final = r.struct(
    initialDelaySeconds=r.NOT_NEGATIVE,
    timeoutSeconds=r.NOT_NEGATIVE,
    periodSeconds=r.NOT_NEGATIVE,
    successThreshold=r.NOT_NEGATIVE,
    failureThreshold=r.NOT_NEGATIVE,
    terminationGracePeriodSeconds=r.at_least(1, "must be greater than 0"),
)
_ONE_SUCCESS: Final = r.struct(successThreshold=r.valid(lambda count: count == 1, "must be 1"))
_PROBES: Final = {
    "livenessProbe": _ONE_SUCCESS,
    "readinessProbe": r.struct(
        terminationGracePeriodSeconds=r.form(lambda _: ("must not be set for readinessProbes",))
    ),
    "startupProbe": _ONE_SUCCESS,
}


def _validate_lifecycle(
    errors: FieldErrors, path: str, container: Document, spec: Document
) -> None:
    lifecycle = container.get("lifecycle")
    if not lifecycle:
        return
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            _validate_handler(errors, f"{path}.lifecycle.{hook}", lifecycle[hook], spec)
    if (signal := lifecycle.get("stopSignal")) is not None:
        _validate_stop_signal(errors, f"{path}.lifecycle.stopSignal", signal, spec)


def _validate_stop_signal(errors: FieldErrors, path: str, signal: str, spec: Document) -> None:
    system = spec.get("os")
    if system is None:
        errors.forbidden(path, "may not be set for containers with empty `spec.os.name`")
    elif supported := _SIGNALS.get(system.get("name")):
        supported(errors, path, signal)


_SIGNALS: Final[Mapping[str | None, r.Rule]] = {
    "windows": r.one_of("SIGKILL", "SIGTERM"),
    "linux": r.one_of(*sorted((
        "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP",
        "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF",
        "SIGPWR", "SIGQUIT", "SIGRTMAX", *(f"SIGRTMAX-{count}" for count in range(1, 15)),
        "SIGRTMIN", *(f"SIGRTMIN+{count}" for count in range(1, 16)), "SIGSEGV", "SIGSTKFLT",
        "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG",
        "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
    ))),
}  # fmt: skip
"""The signals that stop a container, by the operating system of its pod."""


def _validate_handler(errors: FieldErrors, path: str, handler: Document, spec: Document) -> None:
    kinds = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    if not kinds:
        errors.required(path, "must specify a handler type")
        return
    _ACTION[kinds[0]](errors, f"{path}.{kinds[0]}", handler[kinds[0]])
    if kinds[0] == "sleep":
        grace = spec.get("terminationGracePeriodSeconds")
        seconds = handler["sleep"].get("seconds") or 0
        if grace is not None and not 0 <= seconds <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            errors.invalid(f"{path}.sleep", seconds, text)
    for kind in kinds[1:]:
        errors.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _validate_header(errors: FieldErrors, path: str, header: Document) -> None:
    name = header.get("name") or ""
    errors.each(path, name, http_header(name))


_TO_PORT: Final = r.struct(port=r.always(port_number_or_name))
_ACTION: Final = {
    "exec": r.struct(command=r.required()),
    "httpGet": r.struct(
        port=r.always(port_number_or_name),
        scheme=r.one_of("HTTP", "HTTPS"),
        httpHeaders=r.every(_validate_header),
    ),
    "tcpSocket": _TO_PORT,
    "grpc": _TO_PORT,
    "sleep": r.struct(),
}


def _validate_resize(errors: FieldErrors, path: str, container: Document, spec: Document) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container["resizePolicy"]):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            errors.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        _RESIZED(errors, path, name)
        _RESTARTED(errors, path, restart)
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.invalid(path, restart, text)


_RESIZED: Final = r.nonempty(r.one_of("cpu", "memory"))
_RESTARTED: Final = r.nonempty(r.one_of("NotRequired", "RestartContainer"))


def _validate_restart_rules(
    errors: FieldErrors, path: str, container: Document, *, is_init: bool = False
) -> None:
    has_no_policy = container.get("restartPolicy") is None
    if has_no_policy and container.get("restartPolicyRules"):
        text = "must specify restartPolicy when restart rules are used"
        errors.required(f"{path}.restartPolicy", text)
    # Upstream does not read the rules of an init container without a policy.
    if not (is_init and has_no_policy):
        _RESTART(errors, path, container)


_EXIT_CODES: Final = r.struct(
    operator=r.always(r.one_of("In", "NotIn"), ""), values=r.max_items(255)
)
_RESTART: Final = r.struct(
    restartPolicy=r.one_of("Always", "Never", "OnFailure"),
    restartPolicyRules=r.all_of(
        r.max_items(20),
        r.each(
            r.struct(
                action=r.always(r.one_of("Restart", "RestartAllContainers"), ""),
                exitCodes=r.not_null(_EXIT_CODES, detail="must be specified"),
            )
        ),
    ),
)

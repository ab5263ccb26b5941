"""What the levels of the Pod Security Standards forbid.

A check returns why it forbids a pod, and the detail; None if it allows the pod. Words of this
module: a *setter* is the pod or the containers that set a bad value.

Upstream: staging/src/k8s.io/pod-security-admission/policy/check_*.go
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document

Violation: TypeAlias = tuple[str, str]
"""The reason and the detail."""

Check: TypeAlias = Callable[[Document, Document], Violation | None]
"""Checks the metadata and the spec of a pod."""


def _containers(spec: Document) -> Iterator[tuple[str, Document]]:
    """Yield the name and the security context of each container."""
    for container in _all_containers(spec):
        yield container.get("name", ""), container.get("securityContext") or {}


def _all_containers(spec: Document) -> Iterator[Document]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(spec: Document) -> Document:
    context: Document = spec.get("securityContext") or {}
    return context


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _named(names: Collection[str]) -> str:
    return f"{_form('container', names)} {_quoted(names)}"


def _form(word: str, counted: Collection[Any]) -> str:
    return word if len(counted) == 1 else f"{word}s"


def _setters(is_pod: bool, names: Collection[str]) -> list[str]:  # noqa: FBT001 - one of two setters
    return [*(["pod"] if is_pod else []), *([_named(names)] if names else [])]


def _is_windows(spec: Document) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _has_user_namespace(spec: Document) -> bool:
    return spec.get("hostUsers") is False


def unless_windows(check: Check) -> Check:
    """Return a check that allows pods of Windows, for which its fields have no meaning."""
    return lambda metadata, spec: None if _is_windows(spec) else check(metadata, spec)


def unless_user_namespace(check: Check) -> Check:
    """Return a check that allows pods in a separate user namespace."""
    return lambda metadata, spec: None if _has_user_namespace(spec) else check(metadata, spec)


# ------------------------------------------------------------------------------ baseline


def app_armor_profile(metadata: Document, spec: Document) -> Violation | None:
    """Forbid AppArmor profiles other than the default of the runtime and local ones."""
    allowed = ("RuntimeDefault", "Localhost")
    values: set[str] = set()

    def is_bad(context: Document) -> bool:
        profile = context.get("appArmorProfile")
        if profile is None or profile.get("type", "") in allowed:
            return False
        values.add(profile.get("type", ""))
        return True

    is_pod = is_bad(_context(spec))
    setters = _setters(is_pod, [name for name, each in _containers(spec) if is_bad(each)])
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    annotations = sorted(
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(prefix)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    shown = [*sorted(values), *annotations]
    if annotations:
        setters.append(_form("annotation", annotations))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(shown)}"
    return f"forbidden AppArmor {_form('profile', shown)}", detail


_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip


def baseline_capabilities(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid capabilities that containers do not have by default."""
    names, values = _added_capabilities(spec, _DEFAULT_CAPABILITIES)
    if not names:
        return None
    return "non-default capabilities", _capabilities_detail(names, values)


def _added_capabilities(spec: Document, allowed: Collection[str]) -> tuple[list[str], set[str]]:
    names: list[str] = []
    values: set[str] = set()
    for name, context in _containers(spec):
        bad = set((context.get("capabilities") or {}).get("add") or ()).difference(allowed)
        if bad:
            names.append(name)
            values |= bad
    return names, values


def _capabilities_detail(names: list[str], values: set[str]) -> str:
    listed = _quoted(sorted(values))
    return f"{_named(names)} must not include {listed} in securityContext.capabilities.add"


def host_namespaces(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid the namespaces of the host."""
    fields = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return ("host namespaces", ", ".join(f"{name}=true" for name in fields)) if fields else None


def host_path_volumes(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid volumes that are directories of the host."""
    names = [
        volume.get("name", "")
        for volume in spec.get("volumes") or ()
        if volume.get("hostPath") is not None
    ]
    return ("hostPath volumes", f"{_form('volume', names)} {_quoted(names)}") if names else None


def host_ports(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid ports of the host."""
    names: list[str] = []
    ports: set[str] = set()
    for container in _all_containers(spec):
        own = {
            str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")
        }
        if own:
            names.append(container.get("name", ""))
            ports |= own
    if not names:
        return None
    use = "uses" if len(names) == 1 else "use"
    listed = ", ".join(sorted(ports))
    return "hostPort", f"{_named(names)} {use} {_form('hostPort', ports)} {listed}"


def probe_hosts(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid probes and lifecycle handlers of other hosts."""
    names: set[str] = set()
    hosts: set[str] = set()
    for container in _all_containers(spec):
        lifecycle: Document = container.get("lifecycle") or {}
        handlers = [
            *(container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")),
            *(lifecycle.get(name) for name in ("postStart", "preStop")),
        ]
        actions = [
            handler.get(action) or {}
            for handler in handlers
            if handler
            for action in ("httpGet", "tcpSocket")
        ]
        own = {str(action["host"]) for action in actions if action.get("host")}
        if own:
            names.add(container.get("name", ""))
            hosts |= own
    if not names:
        return None
    use = "uses" if len(names) == 1 else "use"
    what = _form("probe or lifecycle host", hosts)
    return (
        "probe or lifecycle host",
        f"{_named(sorted(names))} {use} {what} {_quoted(sorted(hosts))}",
    )


def privileged(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid privileged containers."""
    names = [name for name, context in _containers(spec) if context.get("privileged")]
    if not names:
        return None
    return "privileged", f"{_named(names)} must not set securityContext.privileged=true"


def proc_mount(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid other masks of /proc than the default."""
    bad = {
        name: context["procMount"]
        for name, context in _containers(spec)
        if context.get("procMount") not in (None, "Default")
    }
    if not bad:
        return None
    values = _quoted(sorted(set(bad.values())))
    return "procMount", f"{_named(bad)} must not set securityContext.procMount to {values}"


SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def selinux_options(allowed: Collection[str]) -> Check:
    """Return a check that allows some types of SELinux, and no users or roles."""

    def check(_metadata: Document, spec: Document) -> Violation | None:
        types: set[str] = set()
        fields: set[str] = set()

        def is_bad(context: Document) -> bool:
            options = context.get("seLinuxOptions")
            if options is None:
                return False
            bad_types = {options.get("type") or ""}.difference(allowed)
            bad_fields = {name for name in ("user", "role") if options.get(name)}
            types.update(bad_types)
            fields.update(bad_fields)
            return bool(bad_types or bad_fields)

        is_pod = is_bad(_context(spec))
        setters = _setters(is_pod, [name for name, each in _containers(spec) if is_bad(each)])
        if not setters:
            return None
        data = [f"{_form('type', types)} {_quoted(sorted(types))}"] if types else []
        data += [f"{name} may not be set" for name in ("user", "role") if name in fields]
        detail = (
            f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions:"
            f" {'; '.join(data)}"
        )
        return "seLinuxOptions", detail

    return check


_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TYPES: Final = ("Localhost", "RuntimeDefault")


def seccomp_annotations(metadata: Document, spec: Document) -> Violation | None:
    """Forbid annotations with other profiles than the default of the runtime and local ones."""
    annotations: Document = metadata.get("annotations") or {}
    names = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + name for name, _ in _containers(spec))]
    bad = sorted(
        {
            f"{name}={json.dumps(annotations[name], ensure_ascii=False)}"
            for name in names
            if name in annotations
            and annotations[name] not in ("runtime/default", "docker/default")
            and not annotations[name].startswith("localhost/")
        }
    )
    return (
        ("seccompProfile", f"forbidden {_form('annotation', bad)} {', '.join(bad)}")
        if bad
        else None
    )


def baseline_seccomp(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid to switch seccomp off."""
    found = _bad_seccomp(spec)
    return None if found is None else ("seccompProfile", found)


def _bad_seccomp(spec: Document) -> str | None:
    values: set[str] = set()

    def is_bad(context: Document) -> bool:
        profile = context.get("seccompProfile")
        if profile is None or profile.get("type") in _SECCOMP_TYPES:
            return False
        values.add(profile.get("type", ""))
        return True

    is_pod = is_bad(_context(spec))
    setters = _setters(is_pod, [name for name, each in _containers(spec) if is_bad(each)])
    if not setters:
        return None
    listed = _quoted(sorted(values))
    return f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {listed}"


def sysctls(*allowed: str) -> Check:
    """Return a check that allows some parameters of the kernel."""

    def check(_metadata: Document, spec: Document) -> Violation | None:
        bad = [
            each.get("name", "")
            for each in _context(spec).get("sysctls") or ()
            if each.get("name") not in allowed
        ]
        return ("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def windows_host_process(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid processes of a Windows host."""

    def is_bad(context: Document) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(
        is_bad(_context(spec)), [name for name, each in _containers(spec) if is_bad(each)]
    )
    if not setters:
        return None
    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return "hostProcess", f"{' and '.join(setters)} {text}"


# ---------------------------------------------------------------------------- restricted


def privilege_escalation(_metadata: Document, spec: Document) -> Violation | None:
    """Require that processes cannot gain privileges."""
    names = [
        name
        for name, context in _containers(spec)
        if context.get("allowPrivilegeEscalation") is not False
    ]
    if not names:
        return None
    text = "must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", f"{_named(names)} {text}"


def restricted_capabilities(_metadata: Document, spec: Document) -> Violation | None:
    """Require that containers drop all capabilities, and allow one to be added."""
    missing = [
        name
        for name, context in _containers(spec)
        if "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())
    ]
    details = []
    if missing:
        details.append(f'{_named(missing)} must set securityContext.capabilities.drop=["ALL"]')
    names, values = _added_capabilities(spec, ("NET_BIND_SERVICE",))
    if names:
        details.append(_capabilities_detail(names, values))
    return ("unrestricted capabilities", "; ".join(details)) if details else None


_ALLOWED_VOLUMES: Final = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
)  # fmt: skip
_OTHER_VOLUMES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi",
    "glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile",
    "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO",
    "storageos",
)  # fmt: skip


def restricted_volumes(_metadata: Document, spec: Document) -> Violation | None:
    """Allow only volumes that do not reach the host or the network."""
    bad = {
        volume.get("name", ""): next(
            (name for name in _OTHER_VOLUMES if volume.get(name) is not None), "unknown"
        )
        for volume in spec.get("volumes") or ()
        if not any(volume.get(name) is not None for name in _ALLOWED_VOLUMES)
    }
    if not bad:
        return None
    types = set(bad.values())
    use = "uses" if len(bad) == 1 else "use"
    what = f"{use} {_form('restricted volume type', types)} {_quoted(sorted(types))}"
    return "restricted volume types", f"{_form('volume', bad)} {_quoted(bad)} {what}"


def run_as_non_root(_metadata: Document, spec: Document) -> Violation | None:
    """Require that containers do not run as root."""
    own = _context(spec).get("runAsNonRoot")
    contexts = list(_containers(spec))
    bad = [name for name, context in contexts if context.get("runAsNonRoot") is False]
    if setters := _setters(own is False, bad):
        text = "must not set securityContext.runAsNonRoot=false"
        return "runAsNonRoot != true", f"{' and '.join(setters)} {text}"
    unset = [name for name, context in contexts if context.get("runAsNonRoot") is None]
    if own or not unset:
        return None
    text = "must set securityContext.runAsNonRoot=true"
    return "runAsNonRoot != true", f"pod or {_named(unset)} {text}"


def run_as_user(_metadata: Document, spec: Document) -> Violation | None:
    """Forbid the user 0."""
    names = [name for name, context in _containers(spec) if context.get("runAsUser") == 0]
    setters = _setters(_context(spec).get("runAsUser") == 0, names)
    return ("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def restricted_seccomp(_metadata: Document, spec: Document) -> Violation | None:
    """Require a seccomp profile."""
    if found := _bad_seccomp(spec):
        return "seccompProfile", found
    if _context(spec).get("seccompProfile") is not None:
        return None
    unset = [name for name, context in _containers(spec) if context.get("seccompProfile") is None]
    if not unset:
        return None
    text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {_named(unset)} {text}"

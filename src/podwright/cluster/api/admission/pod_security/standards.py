"""Which checks the levels of each version have, in upstream's order.

Upstream: staging/src/k8s.io/pod-security-admission/policy/registry.go
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, Literal

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.pod_security import checks
from podwright.cluster.api.admission.pod_security.checks import Check, Violation
from podwright.cluster.api.admission.pod_security.namespace_policy import Standard

_SYSCTLS_0: Final = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
)  # fmt: skip
_SYSCTLS_27: Final = (*_SYSCTLS_0, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29: Final = (
    *_SYSCTLS_27, "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
)  # fmt: skip
_SYSCTLS_32: Final = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


class _Row(msgspec.Struct, frozen=True):
    """A check: its form from each minor version on, and the check of baseline it replaces."""

    name: str
    level: Literal["baseline", "restricted"]
    versions: dict[int, Check]
    replaces: str = ""

    def of(self, version: int) -> Check | None:
        """Return the form of a version; None before the first."""
        known = [minor for minor in self.versions if minor <= version]
        return self.versions[max(known)] if known else None


_ROWS: Final = (
    _Row("appArmorProfile", "baseline", {0: checks.app_armor_profile}),
    _Row("capabilities_baseline", "baseline", {0: checks.baseline_capabilities}),
    _Row("hostNamespaces", "baseline", {0: checks.host_namespaces}),
    _Row("hostPathVolumes", "baseline", {0: checks.host_path_volumes}),
    _Row("hostPorts", "baseline", {0: checks.host_ports}),
    _Row("hostProbesAndHostLifecycle", "baseline", {34: checks.probe_hosts}),
    _Row("privileged", "baseline", {0: checks.privileged}),
    _Row(
        "procMount",
        "baseline",
        {0: checks.proc_mount, 35: checks.unless_user_namespace(checks.proc_mount)},
    ),
    _Row(
        "seLinuxOptions",
        "baseline",
        {
            0: checks.selinux_options(checks.SELINUX_TYPES),
            31: checks.selinux_options(checks.SELINUX_TYPES | {"container_engine_t"}),
        },
    ),
    _Row(
        "seccompProfile_baseline",
        "baseline",
        {0: checks.seccomp_annotations, 19: checks.baseline_seccomp},
    ),
    _Row(
        "sysctls",
        "baseline",
        {
            0: checks.sysctls(*_SYSCTLS_0),
            27: checks.sysctls(*_SYSCTLS_27),
            29: checks.sysctls(*_SYSCTLS_29),
            32: checks.sysctls(*_SYSCTLS_32),
        },
    ),
    _Row("windowsHostProcess", "baseline", {0: checks.windows_host_process}),
    _Row(
        "allowPrivilegeEscalation",
        "restricted",
        {
            8: checks.privilege_escalation,
            25: checks.unless_windows(checks.privilege_escalation),
        },
    ),
    _Row(
        "capabilities_restricted",
        "restricted",
        {
            22: checks.restricted_capabilities,
            25: checks.unless_windows(checks.restricted_capabilities),
        },
        replaces="capabilities_baseline",
    ),
    _Row("procMount_restricted", "restricted", {35: checks.proc_mount}, replaces="procMount"),
    _Row(
        "restrictedVolumes",
        "restricted",
        {0: checks.restricted_volumes},
        replaces="hostPathVolumes",
    ),
    _Row(
        "runAsNonRoot",
        "restricted",
        {0: checks.run_as_non_root, 35: checks.unless_user_namespace(checks.run_as_non_root)},
    ),
    _Row(
        "runAsUser",
        "restricted",
        {23: checks.run_as_user, 35: checks.unless_user_namespace(checks.run_as_user)},
    ),
    _Row(
        "seccompProfile_restricted",
        "restricted",
        {19: checks.restricted_seccomp, 25: checks.unless_windows(checks.restricted_seccomp)},
        replaces="seccompProfile_baseline",
    ),
)
"""All checks: those of baseline first, by name."""

_LATEST: Final = max(minor for row in _ROWS for minor in row.versions)


@cache
def checks_of(standard: Standard) -> tuple[Check, ...]:
    """Return the checks of a standard; a version after the latest has those of the latest."""
    if standard.level == "privileged":
        return ()
    version = _LATEST if standard.version is None else min(standard.version, _LATEST)
    is_restricted = standard.level == "restricted"
    rows = [row for row in _ROWS if is_restricted or row.level == "baseline"]
    found = {row.name: check for row in rows if (check := row.of(version)) is not None}
    replaced = {row.replaces for row in rows if row.name in found}
    return tuple(check for name, check in found.items() if name not in replaced)


def violations(standard: Standard, metadata: Document, spec: Document) -> Iterator[Violation]:
    """Yield what a standard forbids of a pod."""
    for check in checks_of(standard):
        found = check(metadata, spec)
        if found is not None:
            yield found


def reasons(standard: Standard, metadata: Document, spec: Document) -> str:
    """Return the reasons for which a standard forbids a pod; "" if it allows it."""
    return ", ".join(reason for reason, _ in violations(standard, metadata, spec))


def details(standard: Standard, metadata: Document, spec: Document) -> str:
    """Return the same with details."""
    return ", ".join(
        f"{reason} ({detail})" if detail else reason
        for reason, detail in violations(standard, metadata, spec)
    )

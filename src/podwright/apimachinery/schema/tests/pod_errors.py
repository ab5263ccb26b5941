"""The errors of pods, part by part, as short lines for rows of tests."""

from __future__ import annotations

import re
from typing import Any

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]
FOUND = built_in().find("v1", "Pod")
assert FOUND is not None
POD = FOUND
SHORT = {
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')":
        "SUBDOMAIN",
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')": "LABEL",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')": "NAME PART",
    "must have at most 253 characters and match regex"
    r" ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$": "SYSCTL",
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported"
    " with the": "DIVISORS",
    "a valid environment variable name must consist only of printable ASCII characters other than"
    " '='": "VARIABLE",
    '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",'
    ' "requests.ephemeral-storage", "requests.memory"': "RESOURCES",
    "If pod contains any hostProcess containers then all containers must be HostProcess"
    " containers": "ALL",
}  # fmt: skip
"""Long texts, and what stands for them in the rows."""


def shown(message: str) -> str:
    """Return a message with what stands for long texts and for long values."""
    for text, short in SHORT.items():
        message = message.replace(text, short)
    return re.sub(r"((..?)\2{30,})", lambda found: f"{found[2]}*{len(found[1])}", message)


def problems(spec: Document, **metadata: Any) -> list[str]:
    containers = {"containers": [{"name": "c", "image": "a"}]}
    made = POD.with_defaults(
        {"metadata": {"name": "x", "namespace": "d"} | metadata, "spec": containers | spec}
    )
    return [f"{path}: {shown(message)}" for path, message, _ in POD.validation_problems(made)]


def without(prefix: str, lines: list[str]) -> list[str]:
    return [line.removeprefix(prefix) for line in lines]


def of_spec(spec: Document, annotations: dict[str, str] | None = None) -> list[str]:
    notes = {"annotations": annotations} if annotations else {}
    return without("spec.", problems(spec, **notes))


def of_security(security: Document, others: Document) -> list[str]:
    found = problems({"securityContext": security} | others)
    return without("spec.securityContext.", found)


def of_container(container: Document, others: Document | None = None) -> list[str]:
    made = [{"name": "c", "image": "a"} | container]
    return without("spec.containers[0].", problems({"containers": made} | (others or {})))


def of_own_security(security: Document, others: Document) -> list[str]:
    return without("securityContext", of_container({"securityContext": security}, others))


def least(name: str, **requests: str) -> Document:
    return {"name": name, "image": "a", "resources": {"requests": requests}}


def most(name: str, **limits: str) -> Document:
    return {"name": name, "image": "a", "resources": {"limits": limits}}


def files(*volumes: str) -> Document:
    sources = [{"fileKeyRef": {"volumeName": name, "key": "A", "path": "a"}} for name in volumes]
    return {"env": [{"name": "A", "valueFrom": source} for source in sources]}


def of_notes(notes: dict[str, str], spec: Document) -> list[str]:
    return without("metadata.annotations", of_spec(spec, notes))


def of_field(field: str, version: str = "") -> list[str]:
    reference = {"fieldPath": field} | ({"apiVersion": version} if version else {})
    found = of_container({"env": [{"name": "A", "valueFrom": {"fieldRef": reference}}]})
    return without("env[0].valueFrom.fieldRef", found)


def of_resource(resource: str, divisor: str = "") -> list[str]:
    reference = {"resource": resource} | ({"divisor": divisor} if divisor else {})
    found = of_container({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": reference}}]})
    return without("env[0].valueFrom.resourceFieldRef", found)


def of_mounts(mounts: list[Document], container: Document) -> list[str]:
    volumes: list[Document] = [{"name": name, "emptyDir": {}} for name in ("v", "w")]
    claim = {"name": "p", "persistentVolumeClaim": {"claimName": "p"}}
    return of_container({"volumeMounts": mounts} | container, {"volumes": [*volumes, claim]})


def of_devices(devices: list[Document]) -> list[str]:
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("p", "q")]
    made = {"name": "e", "ephemeral": {"volumeClaimTemplate": CLAIM}}
    volumes = [*claims, {"name": "v", "emptyDir": {}}, made]
    found = of_container({"volumeDevices": devices}, {"volumes": volumes})
    return without("volumeDevices", found)


def of_volume(kind: str, source: Document) -> list[str]:
    return without("spec.volumes[0]", problems({"volumes": [{"name": "v", kind: source}]}))


def of_projected(sources: list[Document]) -> list[str]:
    return without(".projected", of_volume("projected", {"sources": sources}))


def c(name: str, value: bool | None = None) -> Document:
    own = {} if value is None else host(value=value)
    return {"name": name, "image": "a"} | own


def of_user(name: str) -> list[str]:
    found = of_own_security({"windowsOptions": {"runAsUserName": name}}, {})
    return without(".windowsOptions.runAsUserName: Invalid value: ", found)


def host(*, value: bool) -> Document:
    return {"securityContext": {"windowsOptions": {"hostProcess": value}}}


def env(**source: Any) -> Document:
    return {"env": [{"name": "A", "valueFrom": source}]}


APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
MIRROR = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}
COST = "controller.kubernetes.io/pod-deletion-cost"


def of_profile(key: str, value: str, kind: str, file: str = "", system: str = "") -> list[str]:
    profile = {"type": kind} | ({"localhostProfile": file} if file else {})
    field = "appArmorProfile" if key.startswith(APPARMOR) else "seccompProfile"
    holder = {"securityContext": {field: profile}}
    others = {"os": {"name": system}} if system else {}
    if key == SECCOMP_POD:
        return of_spec(holder | others, {key: value})
    return of_spec({"containers": [{"name": "c", "image": "a"} | holder]} | others, {key: value})

"""Warnings about pods and templates of pods.

Upstream: pkg/api/pod/warnings.go; pkg/registry/core/pod/strategy.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.apparmor_annotations import USE_APPARMOR, apparmor_profile
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.validation.names import dns_label
from podwright.apimachinery.schema.warnings.addresses import ip_warnings
from podwright.apimachinery.schema.warnings.claims import claim_spec_warnings, fraction_warnings
from podwright.apimachinery.schema.warnings.nodes import DEPRECATED_LABELS, term_warnings
from podwright.apimachinery.schema.warnings.pod_ports import port_warnings
from podwright.apimachinery.schema.warnings.volume_paths import path_warnings

_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "ephemeral": "",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""By field, in upstream's order."""

_FIELD_NAMES: Final = {"storageos": "storageOS"}
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_USE_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_KNOWN_MAX: Final = 4_096
# By the id() of a spec, the warnings about a pod without annotations; the value keeps the spec
# alive, so that its id is not reused. Pods of one template share their spec.
_known: dict[int, tuple[Document, list[str]]] = {}

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: Document, old: Document | None) -> list[str]:
    """Return the warnings about a new pod; there are none about changes."""
    if old is not None:
        return []
    wrong = dns_label((pod.get("metadata") or {}).get("name") or "")
    found = [name_warning("the Pod's hostname", wrong)] if wrong else []
    return found + _shared_warnings(pod)


def _shared_warnings(pod: Document) -> list[str]:
    spec = pod.get("spec")
    if not isinstance(spec, dict) or (pod.get("metadata") or {}).get("annotations"):
        return template_warnings("", pod)
    known = _known.get(id(spec))
    if known is None:
        if len(_known) >= _KNOWN_MAX:
            _known.clear()
        known = _known[id(spec)] = spec, template_warnings("", pod)
    return known[1]


def pod_status_warnings(pod: Document, old: Document | None) -> list[str]:
    """Return the warnings about the status of a pod."""
    del old
    status: Document = pod.get("status") or {}
    return [
        text
        for field in ("podIPs", "hostIPs")
        for index, each in enumerate(status.get(field) or ())
        for text in ip_warnings(f"status.{field}[{index}].ip", each.get("ip") or "")
    ]


def name_warning(what: str, problems: Iterable[str]) -> str:
    """Return the warning about a name that is not a DNS label."""
    return (
        f"metadata.name: this is used in {what}, which can result in surprising behavior; a DNS"
        f" label is recommended: [{' '.join(problems)}]"
    )


def template_warnings(path: str, template: Document) -> list[str]:
    """Return the warnings about a template of pods.

    Parameters
    ----------
    path : str
        The path of the template; "" for a pod.
    """
    spec: Document = template.get("spec") or {}
    notes: Document = (template.get("metadata") or {}).get("annotations") or {}
    at = f"{path}.spec" if path else "spec"
    notes_at = f"{path}.metadata.annotations" if path else "metadata.annotations"
    containers = list(_containers(at, spec))
    found = _scheduling_and_volumes(at, spec, notes_at, notes)
    for where, container in containers:
        if notes:
            found += _annotations_of(notes_at, notes, spec, container, is_template=bool(path))
        if resources := container.get("resources"):
            found += _fractions(where, resources)
        if variables := container.get("env"):
            found += _environment(where, variables)
    if any(container.get("ports") for _, container in containers):
        found += port_warnings(containers)
    return found + _affinity_and_addresses(at, spec)


def _scheduling_and_volumes(at: str, spec: Document, notes_at: str, notes: Document) -> list[str]:
    """Return what upstream reports before the containers.

    Most pods have few of these fields: a rule is applied only where its field is present.
    """
    found: list[str] = []
    if "nodeSelector" in spec or "affinity" in spec:
        found += _node_labels(at, spec)
    if constraints := spec.get("topologySpreadConstraints"):
        found += _spread_constraints(at, constraints)
    if notes:
        found += [
            f"{notes_at}[{key}]: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in notes
        ]
    if volumes := spec.get("volumes"):
        found += _volumes(at, volumes)
        found += path_warnings(volumes)
    if aliases := spec.get("hostAliases"):
        found += _duplicates(f"{at}.hostAliases", aliases, "ip")
    if secrets := spec.get("imagePullSecrets"):
        found += _pull_secrets(at, secrets)
    if overhead := spec.get("overhead"):
        found += fraction_warnings(f"{at}.overhead", overhead)
    if notes:
        found += _seccomp_of_pod(notes_at, notes, spec)
    return found


def _affinity_and_addresses(at: str, spec: Document) -> list[str]:
    """Return what upstream reports after the containers."""
    found: list[str] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        found.append(
            f"{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and"
            " will be treated as 1"
        )
    if "affinity" in spec:
        found += _pod_affinity(at, spec)
    if settings := spec.get("dnsConfig"):
        for index, text in enumerate(settings.get("nameservers") or ()):
            found += ip_warnings(f"{at}.dnsConfig.nameservers[{index}]", text)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        found += ip_warnings(f"{at}.hostAliases[{index}].ip", alias.get("ip") or "")
    return found


def _containers(at: str, spec: Document) -> Iterator[tuple[str, Document]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{at}.{field}[{index}]", container


def _node_labels(at: str, spec: Document) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"{at}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity: Document = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{at}.affinity.nodeAffinity"
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from term_warnings(f"{where}.{_REQUIRED}.nodeSelectorTerms[{index}]", term)
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        path = f"{where}.{_PREFERRED}[{index}].preference"
        yield from term_warnings(path, term.get("preference") or {}, checks_values=True)


def _spread_constraints(at: str, constraints: Iterable[Document]) -> Iterator[str]:
    for index, constraint in enumerate(constraints):
        path, key = f"{at}.topologySpreadConstraints[{index}]", constraint.get("topologyKey")
        if key in DEPRECATED_LABELS:
            yield f"{path}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{path}.labelSelector: {_NO_SELECTOR}"


def _volumes(at: str, volumes: Iterable[Document]) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        if _OLD_VOLUMES.keys().isdisjoint(volume):
            continue
        for field, text in _OLD_VOLUMES.items():
            if volume.get(field) is None:
                continue
            path = f"{at}.volumes[{index}].{_FIELD_NAMES.get(field, field)}"
            if field == "ephemeral":
                claim = (volume[field].get("volumeClaimTemplate") or {}).get("spec") or {}
                yield from claim_spec_warnings(f"{path}.volumeClaimTemplate.spec", claim)
            else:
                yield f"{path}: {text}"


def _duplicates(path: str, items: Iterable[Document], field: str) -> Iterator[str]:
    seen: set[Any] = set()
    for index, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            yield f"{path}[{index}].{field}: duplicate {field} {printed(value)}"
        seen.add(value)


def _pull_secrets(at: str, secrets: Sequence[Document]) -> Iterator[str]:
    path = f"{at}.imagePullSecrets"
    yield from _duplicates(path, secrets, "name")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}[{index}].name: invalid empty name ""'


def _seccomp_of_pod(notes_at: str, notes: Document, spec: Document) -> Iterator[str]:
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile is None and _SECCOMP_POD in notes:
        yield f"{notes_at}[{_SECCOMP_POD}]: {_USE_SECCOMP}"


def _annotations_of(
    notes_at: str, notes: Document, spec: Document, container: Document, *, is_template: bool
) -> Iterator[str]:
    """Yield the warnings about annotations that have become fields of a container."""
    name, security = container.get("name") or "", container.get("securityContext") or {}
    key = f"{_SECCOMP_CONTAINER}{name}"
    if security.get("seccompProfile") is None and key in notes:
        yield f"{notes_at}[{key}]: {_USE_SECCOMP}"
    key = f"{_APPARMOR}{name}"
    # The annotation of a pod has been moved into the field, with its own warning.
    if is_template and key in notes and security.get("appArmorProfile") is None:
        pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
        if pod_profile is None or pod_profile != apparmor_profile(notes[key]):
            yield f"{notes_at}[{key}]: {USE_APPARMOR}"


def _fractions(where: str, resources: Document) -> Iterator[str]:
    for resource in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            amounts = resources.get(field)
            if amounts and resource in amounts:
                path = f"{where}.resources.{field}"
                yield from fraction_warnings(path, amounts, (resource,))


def _environment(where: str, variables: Iterable[Document]) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(variables):
        name = item.get("name") or ""
        if name in seen:
            value, reference = item.get("value") or "", f"$({name})"
            extends = item.get("valueFrom") is None and value != reference and reference in value
            if not extends:
                yield (
                    f"{where}.env[{index}]: hides previous definition of {printed(name)}, which may"
                    " be dropped when using apply"
                )
        seen.add(name)


def _pod_affinity(at: str, spec: Document) -> Iterator[str]:
    affinity: Document = spec.get("affinity") or {}
    for field in ("podAffinity", "podAntiAffinity"):
        terms: Document = affinity.get(field) or {}
        where = f"{at}.affinity.{field}"
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{where}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                path = f"{where}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
                yield f"{path}: {_NO_SELECTOR}"

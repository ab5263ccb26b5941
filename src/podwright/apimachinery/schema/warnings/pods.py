"""Warnings about pods and templates of pods.

Upstream: pkg/api/pod/warnings.go; pkg/registry/core/pod/strategy.go; pkg/api/pod/warnings.go,
warningsForPodSpecAndMeta; pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths;
pkg/api/persistentvolumeclaim/util.go; pkg/api/pod/warnings.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, QuantityText, facts_of, quantity_milli_value
from podwright.apimachinery.schema.apparmor_annotations import USE_APPARMOR, apparmor_profile
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.validation.names import dns_label
from podwright.apimachinery.schema.warnings import WARNINGS_MAX
from podwright.apimachinery.schema.warnings.configuration import (
    DEPRECATED_LABELS,
    ip_warnings,
    term_warnings,
)

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
    """Return the warnings about a pod but for its name; pods of one template share them."""
    facts = facts_of(pod.get("spec"))
    if facts is None or (pod.get("metadata") or {}).get("annotations"):
        return template_warnings("", pod)
    known: list[str] | None = facts.get("warnings")
    if known is None:
        known = facts["warnings"] = template_warnings("", pod)
    return known


def pod_status_warnings(pod: Document, _old: Document | None) -> list[str]:
    """Return the warnings about the status of a pod."""
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
            if amounts and resource in amounts and _is_fraction(amounts[resource]):
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


# Warnings about the ports of the containers of a pod.


def port_warnings(containers: Sequence[tuple[str, Document]]) -> list[str]:
    """Return the warnings about ports that repeat or contradict others.

    Parameters
    ----------
    containers : sequence of pairs
        The path and the document of each container.
    """
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    if len(ports) == 1 and not ports[0][1].get("hostIP"):
        return []
    return list(islice(chain(_definitions(ports), _names(ports)), WARNINGS_MAX)) if ports else []


def _definitions(ports: Sequence[tuple[str, Document]]) -> Iterator[str]:
    """Yield the warnings about ports that others define, too."""
    defined: dict[tuple[Any, Any], _Definitions] = {}
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_go_text(port)}"
        key = (port.get("containerPort"), port.get("protocol"))
        others = defined.setdefault(key, _Definitions())
        for other_path, other in others.related(port):
            yield f"{path}: {_relation(port, other)} port definition with {other_path}"
        others.add(path, port)


class _Definitions:
    """The definitions of one port, in order; those of one host port apart."""

    def __init__(self) -> None:
        self._all: list[tuple[str, Document]] = []
        self._of_host: dict[int, dict[str, list[int]]] = {}

    def add(self, path: str, port: Document) -> None:
        of_host = self._of_host.setdefault(port.get("hostPort") or 0, {})
        of_host.setdefault(port.get("hostIP") or "", []).append(len(self._all))
        self._all.append((path, port))

    def related(self, port: Document) -> Iterator[tuple[str, Document]]:
        """Return the definitions that may have a relation with a port."""
        host, ip = port.get("hostPort"), port.get("hostIP")
        if not host:
            return iter(self._all)
        of_host = self._of_host.get(host, {})
        # Definitions with other addresses of the host go together.
        same_host = of_host.values() if not ip else (of_host.get(each, ()) for each in ("", ip))
        without_host = self._of_host.get(0, {}).values()
        return (self._all[place] for place in merge(*same_host, *without_host))


def _names(ports: Sequence[tuple[str, Document]]) -> Iterator[str]:
    """Yield the warnings about names that several ports have."""
    named: dict[str, str] = {}
    for path, port in ports:
        if not (name := port.get("name")):
            continue
        if name in named:
            other_path = named[name]
            yield (
                f"{path}: duplicate port name {printed(name)} with {other_path}, services and"
                f" probes that select ports by name will use {other_path}"
            )
        else:
            named[name] = path


def _relation(port: Document, other: Document) -> str:
    """Return what two related definitions of one port are."""
    ip, other_ip = port.get("hostIP") or "", other.get("hostIP") or ""
    host, other_host = port.get("hostPort") or 0, other.get("hostPort") or 0
    if (ip, host) == (other_ip, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous"


def _go_text(port: Document) -> str:
    """Return a port without a port of the host as Go prints a struct."""
    return (
        f"{{Name:{port.get('name') or ''} HostPort:0"
        f" ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol') or ''}"
        f" HostIP:{port.get('hostIP') or ''}}}"
    )


# Warnings about files of one volume that would hide each other.

_SOURCES: Final = frozenset({"configMap", "secret", "downwardAPI", "projected"})


class _File(msgspec.Struct, frozen=True):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{printed(self.path)} ({self.source})" if self.source else printed(self.path)


def path_warnings(volumes: Iterable[Document]) -> list[str]:
    """Return the warnings about the paths of volumes that overlap; at most `WARNINGS_MAX`."""
    return list(islice(_path_warnings(volumes), WARNINGS_MAX))


def _path_warnings(volumes: Iterable[Document]) -> Iterator[str]:
    for volume in volumes:
        if _SOURCES.isdisjoint(volume):
            continue
        name = printed(volume.get("name") or "")
        for what, files in _single_sources(volume):
            for file, other in _overlaps(files):
                yield f"volume {name} ({what}): overlapping paths: {file} with {other}"
        if (projected := volume.get("projected")) is None:
            continue
        before = _Files()
        for source in projected.get("sources") or ():
            if not source:
                yield f"volume {name} (Projected) has no sources provided"
            for file in _projected(source):
                for other in before.overlapping(file):
                    yield f"volume {name} (Projected): overlapping paths: {file} with {other}"
                before.add(file)


def _single_sources(volume: Document) -> Iterator[tuple[str, list[_File]]]:
    """Yield what a volume is made from, and its files."""
    if (source := volume.get("configMap")) is not None:
        yield f"ConfigMap {printed(source.get('name') or '')}", _items(source)
    if (source := volume.get("secret")) is not None:
        yield f"Secret {printed(source.get('secretName') or '')}", _items(source)
    if (source := volume.get("downwardAPI")) is not None:
        yield "DownwardAPI", _items(source)


def _items(source: Document, name: str = "") -> list[_File]:
    return [_file(each.get("path"), name) for each in source.get("items") or ()]


def _file(path: str | None, source: str) -> _File:
    return _File((path or "").rstrip("/"), source)


def _projected(source: Document) -> list[_File]:
    """Return the files of one source of a projected volume."""
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        found = source.get(field)
        if found is not None and found.get("items") is not None:
            return _items(found, f"{kind} {printed(found.get('name') or '')}")
    if (found := source.get("downwardAPI")) is not None and found.get("items") is not None:
        return _items(found, "DownwardAPI")
    if (found := source.get("serviceAccountToken")) is not None:
        return [_file(found.get("path"), "ServiceAccountToken")]
    if (found := source.get("clusterTrustBundle")) is not None:
        name = found.get("name") or found.get("signerName") or ""
        return [_file(found.get("path"), f"ClusterTrustBundle {printed(name)}")]
    found = source.get("podCertificate") or {}
    parts = (
        ("certificateChainPath", "chain"),
        ("keyPath", "key"),
        ("credentialBundlePath", "credential bundle"),
    )
    return [
        _file(found[field], f"PodCertificate {part}") for field, part in parts if found.get(field)
    ]


def _overlaps(files: Iterable[_File]) -> Iterator[tuple[_File, _File]]:
    """Yield each file with every earlier one that overlaps it."""
    before = _Files()
    for file in files:
        for other in before.overlapping(file):
            yield file, other
        before.add(file)


class _Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A path: the files that have it, and those below it, each with its place in the order."""

    files: list[tuple[int, _File]] = []
    below: list[tuple[int, _File]] = []
    parts: dict[str, _Folder] = {}


class _Files:
    """Files by the parts of their paths, in the order in which they were added."""

    def __init__(self) -> None:
        self._root = _Folder()
        self._count = 0

    def add(self, file: _File) -> None:
        """Add a file; one without a path overlaps none."""
        if not file.path:
            return
        entry = (self._count, file)
        self._count += 1
        folder = self._root
        for part in file.path.split("/"):
            folder.below.append(entry)
            folder = folder.parts.setdefault(part, _Folder())
        folder.files.append(entry)

    def overlapping(self, file: _File) -> list[_File]:
        """Return the files that have the path of a file, or are above or below it."""
        if not file.path:
            return []
        folder: _Folder | None = self._root
        found: list[list[tuple[int, _File]]] = []
        for part in file.path.split("/"):
            folder = folder.parts.get(part) if folder is not None else None
            if folder is None:
                break
            found.append(folder.files[:WARNINGS_MAX])
        if folder is not None:
            found.append(folder.below[:WARNINGS_MAX])
        # The numbers are distinct: files are never compared.
        return [other for _, other in sorted(chain(*found))[:WARNINGS_MAX]]


# Warnings about amounts of bytes that are fractions, and about claims of volumes.

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_BYTES: Final = ("memory", "ephemeral-storage")
_WHOLE: Final = re.compile(r"[0-9]{1,15}|[0-9]{1,6}(?:[kMGT]i?|Ki)")
"""Amounts without a fraction of which Go can compute the thousandths, as nearly all are."""


def fraction_warnings(
    path: str, amounts: Document | None, resources: Iterable[str] = _BYTES
) -> list[str]:
    """Return the warnings about amounts of bytes that are not integers."""
    return [
        f"{path}[{name}]: fractional byte value {printed(amounts[name])} is invalid, must be an"
        " integer"
        for name in resources
        if amounts and name in amounts and _is_fraction(amounts[name])
    ]


def _is_fraction(amount: QuantityText) -> bool:
    if isinstance(amount, str) and _WHOLE.fullmatch(amount):
        return False
    return quantity_milli_value(amount) % 1000 != 0


def claim_warnings(claim: Document, _old: Document | None) -> list[str]:
    """Return the warnings about a claim."""
    notes = (claim.get("metadata") or {}).get("annotations") or {}
    found = []
    if _BETA_CLASS in notes:
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_BETA_CLASS}]: {text}")
    return found + claim_spec_warnings("spec", claim.get("spec") or {})


def claim_spec_warnings(path: str, spec: Document) -> list[str]:
    """Return the warnings about the spec of a claim."""
    resources: Document = spec.get("resources") or {}
    return [
        text
        for field in ("requests", "limits")
        for text in fraction_warnings(
            f"{path}.resources.{field}", resources.get(field), ("storage",)
        )
    ]

"""Pods that violate the standard of their namespace are rejected; others are warned of.

Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go;
plugin/pkg/admission/security/podsecurity/admission.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import PODS, Plugin, Resources, rejected
from podwright.cluster.api.admission.pod_security.namespace_policy import (
    Policy,
    Standard,
    policy_of,
    rank,
)
from podwright.cluster.api.admission.pod_security.standards import details, reasons
from podwright.cluster.api.rejections import invalid
from podwright.cluster.store import NAMESPACE, POD

PODS_CHECKED: Final = 3_000
"""The most pods that are checked when the standard of a namespace changes."""

_TEMPLATES: Final = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
_PARTS_WITHOUT_SPEC: Final = frozenset(
    {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}
)


class PodSecurity(Plugin):
    """Checks pods, workloads and namespaces."""

    name = "PodSecurity"
    decides_alike = True
    resources: Resources = PODS | {("", "namespaces"), *_TEMPLATES}
    template_kinds = frozenset({NAMESPACE})

    def validate(self, attributes: Attributes) -> None:
        """Reject a pod that violates what its namespace enforces, or a bad label."""
        if attributes.operation not in ("CREATE", "UPDATE"):
            return
        key = (attributes.resource.group, attributes.resource.plural)
        if key == ("", "pods"):
            self._check_pod(attributes)
        elif key == ("", "namespaces"):
            self._check_namespace(attributes)
        elif key in _TEMPLATES and not attributes.subresource:
            self._check_workload(attributes, _TEMPLATES[key])

    def _policy(self, attributes: Attributes) -> Policy:
        namespace = self._store.get(NAMESPACE, attributes.namespace)
        return policy_of({} if namespace is None else namespace.metadata.labels)

    # ------------------------------------------------------------------------------ pods

    def _check_pod(self, attributes: Attributes) -> None:
        if attributes.subresource in _PARTS_WITHOUT_SPEC:
            return
        policy = self._policy(attributes)
        if policy.is_privileged:
            return
        pod = attributes.object or {}
        if attributes.operation == "UPDATE" and not _is_significant(pod, attributes.old or {}):
            return
        metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
        if found := details(policy.enforce, metadata, spec):
            text = f'violates PodSecurity "{policy.enforce}": {found}'
            raise rejected(attributes, text)
        _warn(attributes, policy.warn, metadata, spec)

    def _check_workload(self, attributes: Attributes, path: Iterable[str]) -> None:
        policy = self._policy(attributes)
        template: Document | None = attributes.object
        for name in path:
            template = (template or {}).get(name)
        if template is not None:
            metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
            _warn(attributes, policy.warn, metadata, spec)

    # ------------------------------------------------------------------------- namespaces

    def _check_namespace(self, attributes: Attributes) -> None:
        if attributes.subresource:
            return
        new, old = _labels_policy(attributes.object), _labels_policy(attributes.old)
        is_new = attributes.operation == "CREATE"
        if new.problems and (is_new or new.problems != old.problems):
            raise invalid("", "Namespace", attributes.name, new.problems)
        if is_new or new.enforce == old.enforce or new.enforce.level == "privileged":
            return
        if new.enforce.version == old.enforce.version and rank(new.enforce) <= rank(old.enforce):
            return
        attributes.warnings += self._warnings_of_pods(attributes.name, new.enforce)

    def _warnings_of_pods(self, namespace: str, enforce: Standard) -> list[str]:
        pods = [each.raw for each in self._store.list(POD, namespace=namespace).objects]
        ordered = _by_owners(pods)
        found: dict[str, list[str]] = {}
        for pod in ordered[:PODS_CHECKED]:
            metadata = pod["metadata"]
            if text := reasons(enforce, metadata, pod.get("spec") or {}):
                found.setdefault(text, []).append(metadata["name"])
        warnings = []
        if len(ordered) > PODS_CHECKED:
            warnings.append(
                "new PodSecurity enforce level only checked against the first"
                f" {PODS_CHECKED} of {len(ordered)} existing pods"
            )
        if found:
            warnings.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce'
                f' level "{enforce}"'
            )
        return [*warnings, *sorted(_shown(names, text) for text, names in found.items())]


def _labels_policy(namespace: Document | None) -> Policy:
    return policy_of(((namespace or {}).get("metadata") or {}).get("labels") or {})


def _warn(attributes: Attributes, standard: Standard, metadata: Document, spec: Document) -> None:
    if found := details(standard, metadata, spec):
        attributes.warnings.append(f'would violate PodSecurity "{standard}": {found}')


def _is_significant(new: Document, old: Document) -> bool:
    """Whether the image of a container changed, or a container was added."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    for field in ("containers", "initContainers"):
        images = [
            [container.get("image") for container in spec.get(field) or ()]
            for spec in (after, before)
        ]
        if images[0] != images[1]:
            return True
    known = {
        each.get("name"): each.get("image") for each in before.get("ephemeralContainers") or ()
    }
    return any(
        each.get("name") not in known or known[each.get("name")] != each.get("image")
        for each in after.get("ephemeralContainers") or ()
    )


def _by_owners(pods: list[Document]) -> list[Document]:
    """Return pods so that one of each controller comes before the others of it."""
    first: list[Document] = []
    others: list[Document] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        uid = next((each.get("uid", "") for each in owners if each.get("controller")), None)
        if uid in seen:
            others.append(pod)
        else:
            first.append(pod)
        if uid is not None:
            seen.add(uid)
    return first + others


def _shown(names: list[str], text: str) -> str:
    others = len(names) - 1
    if not others:
        return f"{min(names)}: {text}"
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'}): {text}"

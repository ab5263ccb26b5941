"""The rules of roles: what they allow, and whether rules cover others.

To compare rules, the ones that are checked are broken down until each has one verb, one resource
and one name. Each of these must be covered by a single rule of the owner.

Upstream: pkg/apis/rbac/v1/evaluation_helpers.go; pkg/registry/rbac/validation/policy_compact.go;
staging/src/k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import Document, go_quoted
from podwright.cluster.api.authorization.access import Access

_PRINTED: Final = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def rule_allows(rule: Document, access: Access) -> bool:
    """Whether a rule allows an access."""
    if not _has(rule.get("verbs"), access.verb):
        return False
    if not access.is_resource:
        return any(_is_below(url, access.path) for url in rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), access.group):
        return False
    resources = rule.get("resources") or ()
    if not _has(resources, access.resource_path) and not (
        access.subresource and f"*/{access.subresource}" in resources
    ):
        return False
    names = rule.get("resourceNames")
    return not names or access.name in names


def _has(values: Sequence[str] | None, value: str) -> bool:
    return values is not None and ("*" in values or value in values)


def _is_below(url: str, path: str) -> bool:
    return url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def uncovered(owned: Sequence[Document], rules: Iterable[Document]) -> list[Document]:
    """Return the parts of rules that none of the owned rules covers."""
    return [
        part
        for rule in rules
        for part in _parts(rule)
        if not any(_covers(own, part) for own in owned)
    ]


def _parts(rule: Document) -> Iterator[Document]:
    verbs = rule.get("verbs") or ()
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                if not names:
                    yield part
                for name in names:
                    yield part | {"resourceNames": [name]}
    for url in rule.get("nonResourceURLs") or ():
        for verb in verbs:
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def _covers(owned: Document, part: Document) -> bool:
    """Whether a rule covers a part, which has at most one value in each field."""
    names = owned.get("resourceNames")
    resource_names = part.get("resourceNames")
    if names and (not resource_names or resource_names[0] not in names):
        return False
    if not _has(owned.get("verbs"), part["verbs"][0]):
        return False
    if urls := part.get("nonResourceURLs"):
        return any(_is_below(own, urls[0]) for own in owned.get("nonResourceURLs") or ())
    if not _has(owned.get("apiGroups"), part["apiGroups"][0]):
        return False
    resource = part["resources"][0]
    resources = owned.get("resources") or ()
    _, slash, subresource = resource.partition("/")
    return _has(resources, resource) or (bool(slash) and f"*/{subresource}" in resources)


def descriptions(parts: Iterable[Document]) -> list[str]:
    """Return the parts of rules as text: those that differ in the verb only as one, sorted."""
    verbs: dict[tuple[Any, ...], list[str]] = {}
    texts: set[str] = set()
    for part in parts:
        if "nonResourceURLs" in part:
            texts.add(_description(part))
        else:
            key = (part["apiGroups"][0], part["resources"][0], *part.get("resourceNames", ()))
            verbs.setdefault(key, []).extend(part["verbs"])
    for (group, resource, *names), own in verbs.items():
        texts.add(
            _description(
                {
                    "apiGroups": [group],
                    "resources": [resource],
                    "resourceNames": names,
                    "verbs": own,
                }
            )
        )
    return sorted(texts)


def _description(rule: Document) -> str:
    fields = [f"{name}:{quoted_list(rule[field])}" for name, field in _PRINTED if rule.get(field)]
    return f"{{{', '.join(fields)}}}"


def quoted_list(values: Iterable[str]) -> str:
    """Return texts as Go's `%q` prints a list of them."""
    return f"[{' '.join(map(go_quoted, values))}]"

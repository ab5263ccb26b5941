"""The resource claims that pods get from templates, without running the controller.

Upstream: pkg/controller/resourceclaim/controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from podwright.apimachinery.devices import generated_claims
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Object,
    Pod,
    ResourceClaim,
    with_fields,
)
from podwright.cluster.api import patched, section
from podwright.cluster.controllers.devices.resource_claim import POD_CLAIM_NAME, claim_from_template
from podwright.cluster.controllers.kinds import RESOURCE_CLAIM_TEMPLATE
from podwright.cluster.store import kind_of


class ExpandedClaims(NamedTuple):
    """The result of `expand_claims`.

    Attributes
    ----------
    claims : list of ResourceClaim
        To be added.
    pods : dict of str to Pod
        The pods whose status names their claims now, by `namespace/name`.
    notes : list of str
        Why pods get no claim.
    """

    claims: list[ResourceClaim]
    pods: dict[NamespacedName, Pod]
    notes: list[str]


def expand_claims(objects: Iterable[Object]) -> ExpandedClaims:
    """Return the claims that pending pods would get from templates.

    A pod keeps the claims that were created for it. The claims are named by a number where
    upstream draws five letters.

    Parameters
    ----------
    objects : iterable of Object
        All objects of a cluster, with the pods of its workloads.
    """
    objects = list(objects)
    found = ExpandedClaims([], {}, [])
    pods = [
        obj
        for obj in objects
        if isinstance(obj, Pod)
        and not obj.spec.node_name
        and not obj.is_terminal
        and any(entry.resource_claim_template_name for entry in obj.spec.resource_claims)
    ]
    if not pods:
        return found
    templates = {obj.key: obj for obj in objects if kind_of(obj) == RESOURCE_CLAIM_TEMPLATE}
    claims = [obj for obj in objects if isinstance(obj, ResourceClaim)]
    names = {claim.key for claim in claims}
    created: dict[tuple[str, str, str], str] = {}
    for claim in claims:
        owner = claim.metadata.controller
        entry_name = claim.metadata.annotations.get(POD_CLAIM_NAME)
        if owner is not None and owner.kind == "Pod" and entry_name is not None:
            created[f"{claim.namespace}/{owner.name}", owner.uid, entry_name] = claim.name
    lacking: dict[NamespacedName, list[NamespacedName]] = {}
    for pod in pods:
        for template in _expand(pod, templates, names, created, found):
            lacking.setdefault(template, []).append(pod.key)
    for template, keys in lacking.items():
        which = f"pod {keys[0]} needs"
        if len(keys) > 1:
            which = f"{len(keys)} pods need, such as {keys[0]}"
        found.notes.append(f"there is no ResourceClaimTemplate {template}, which {which}")
    return found


def _expand(
    pod: Pod,
    templates: Mapping[NamespacedName, KubernetesObject],
    names: set[NamespacedName],
    created: dict[tuple[str, str, str], str],
    found: ExpandedClaims,
) -> list[NamespacedName]:
    """Add the claims of one pod; return the templates that do not exist."""
    known = generated_claims(pod)
    # `Scheduler.add` gives this uid to pods without one.
    owner = pod if pod.uid else with_fields(pod, "metadata", uid=pod.key)
    new: dict[str, str] = {}
    lacking: list[NamespacedName] = []
    for entry in pod.spec.resource_claims:
        template_name = entry.resource_claim_template_name
        if template_name is None or entry.name in known:
            continue
        name = created.get((pod.key, owner.uid, entry.name))
        if name is None:
            template_key = f"{pod.namespace}/{template_name}"
            template = templates.get(template_key)
            if template is None:
                lacking.append(template_key)
                continue
            claim = claim_from_template(owner, entry.name, section(template, "spec"))
            assert isinstance(claim, ResourceClaim), claim
            name = _free_name(claim, names)
            uid = f"{claim.namespace}/{name}"
            found.claims.append(with_fields(claim, "metadata", name=name, uid=uid))
        new[entry.name] = name
    if new:
        statuses = [
            *(section(pod, "status").get("resourceClaimStatuses") or ()),
            *({"name": entry, "resourceClaimName": name} for entry, name in new.items()),
        ]
        updated = patched(pod, status={"resourceClaimStatuses": statuses})
        assert isinstance(updated, Pod), updated
        found.pods[pod.key] = updated
    return lacking


def _free_name(claim: ResourceClaim, names: set[NamespacedName]) -> str:
    prefix, namespace, number = claim.metadata.generate_name, claim.namespace, 0
    while f"{namespace}/{prefix}{number}" in names:
        number += 1
    names.add(f"{namespace}/{prefix}{number}")
    return f"{prefix}{number}"

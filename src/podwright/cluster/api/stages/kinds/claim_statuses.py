"""Who may change which part of the status of a ResourceClaim.

Upstream: pkg/registry/resource/utils.go, AuthorizedForBinding and AuthorizedForDeviceStatus
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.authorization import Access, Authorizer, denied
from podwright.cluster.api.stages.write import SentWrite
from podwright.cluster.api.strategies.devices import device_key
from podwright.cluster.api.users import User, service_account_of

CLAIM_STATUS_RIGHTS: Final = "DRAResourceClaimGranularStatusAuthorization"
"""The feature gate of these rights."""

_NODE_NAME: Final = "authentication.kubernetes.io/node-name"


def claim_status_problems(
    authorizer: Authorizer, write: SentWrite, new: Document, old: Document
) -> list[Problem]:
    """Return the errors of a user who lacks the rights to what a status changes.

    The allocation and the reservations need the right to `resourceclaims/binding`, what a driver
    says about devices that to `resourceclaims/driver` with the name of the driver.
    """
    facts = write.attributes
    if facts.group_kind != ("resource.k8s.io", "ResourceClaim"):
        return []
    status, before = new.get("status") or {}, old.get("status") or {}
    resource, verb = facts.resource, write.verb
    binding = Access(
        user=facts.user,
        verb=verb,
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        subresource="binding",
    )
    problems: list[Problem] = []
    if any(status.get(name) != before.get(name) for name in ("allocation", "reservedFor")):
        lack = _lack(authorizer, [binding])
        if lack is not None:
            text = (
                "changing status.allocation or status.reservedFor requires"
                f' resource="resourceclaims/binding", verb="{verb}" permission: {lack}'
            )
            problems.append(("status.allocation", f"Forbidden: {text}", None))
    allocation = status.get("allocation")
    if not allocation:
        return problems
    verbs = [f"arbitrary-node:{verb}"]
    if _is_on_node(facts.user, _node_of(allocation)):
        verbs.insert(0, f"associated-node:{verb}")
    for driver in sorted(_changed_drivers(status, before)):
        accesses = [
            msgspec.structs.replace(
                binding, verb=each, subresource="driver", namespace=facts.namespace, name=driver
            )
            for each in verbs
        ]
        lack = _lack(authorizer, accesses)
        if lack is not None:
            text = (
                'changing status.devices requires resource="resourceclaims/driver",'
                f' verb="[{" ".join(verbs)}]" permission: {lack}'
            )
            problems.append(("status.devices", f"Forbidden: {text}", None))
    return problems


def _lack(authorizer: Authorizer, accesses: Sequence[Access]) -> str | None:
    """Return why the first access is not allowed; None if one of them is."""
    decisions = [authorizer.authorize(each) for each in accesses]
    if any(each.is_allowed for each in decisions):
        return None
    return denied(accesses[0], decisions[0].reason).message


def _node_of(allocation: Document) -> str | None:
    """Return the name of the only node of an allocation; None if it is not one by its name."""
    terms: list[Document] = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return None
    fields: list[Document] = terms[0].get("matchFields") or []
    if len(fields) != 1:
        return None
    (field,) = fields
    values: list[str] = field.get("values") or []
    is_name = (field.get("key"), field.get("operator")) == ("metadata.name", "In")
    return values[0] if is_name and len(values) == 1 else None


def _is_on_node(user: User, node: str | None) -> bool:
    is_account = service_account_of(user.name) is not None
    return is_account and tuple(user.extra.get(_NODE_NAME, ())) == (node,)


def _changed_drivers(status: Document, before: Document) -> set[str]:
    """Return the drivers of the devices that are new, changed or gone."""
    after, known = _by_device(status), _by_device(before)
    keys = after.keys() | known.keys()
    return {str(key[0]) for key in keys if after.get(key) != known.get(key)}


def _by_device(status: Document) -> dict[tuple[str | None, ...], Document]:
    return {device_key(each): each for each in status.get("devices") or ()}

"""What persistent volume claims use, in all and of each storage class.

Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from podwright.apimachinery.objects import Document, Quantity
from podwright.cluster.api.admission.amounts import ONE, Amounts, amounts_of, rounded_up
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.default_classes import class_of_claim
from podwright.cluster.api.admission.quota.evaluators import Evaluator
from podwright.cluster.api.admission.quota.scopes import selects

_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_NAMES: Final = ("persistentvolumeclaims", "requests.storage")


class Claims(Evaluator):
    """Counts claims and the storage that they request."""

    def __init__(self) -> None:
        super().__init__("", "persistentvolumeclaims")
        self.names = frozenset({self.count, *_NAMES})

    def handles(self, attributes: Attributes) -> bool:
        """Whether a claim, or the storage allocated to it, changes."""
        return attributes.subresource in ("", "status") and attributes.operation in (
            "CREATE",
            "UPDATE",
        )

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """Return the names in a quota that count for claims, those of classes among them."""
        suffixes = tuple(_OF_CLASS + name for name in _NAMES)
        return sorted(name for name in names if name in self.names or name.endswith(suffixes))

    def matches_scope(self, requirement: Document, obj: Document) -> bool:
        """Whether a claim has, had or will have a volume attributes class of the scope."""
        if requirement.get("scopeName") != "VolumeAttributesClass":
            return False
        classes = _attributes_classes(obj)
        return any(selects(requirement, each) for each in classes or {""})

    def usage(self, obj: Document, _now_ns: int) -> Amounts:
        """Return what a claim uses."""
        used: Amounts = {"persistentvolumeclaims": ONE, self.count: ONE}
        storage = _storage(obj)
        if storage is not None:
            used["requests.storage"] = storage
        if name := class_of_claim(obj):
            used[f"{name}{_OF_CLASS}persistentvolumeclaims"] = ONE
            if storage is not None:
                used[f"{name}{_OF_CLASS}requests.storage"] = storage
        return used


def _storage(claim: Document) -> Quantity | None:
    """Return the storage that a claim requests, or that is allocated if that is more."""
    resources = (claim.get("spec") or {}).get("resources") or {}
    requested = amounts_of(resources.get("requests")).get("storage")
    if requested is None:
        return None
    allocated = amounts_of((claim.get("status") or {}).get("allocatedResources")).get("storage")
    is_more = allocated is not None and allocated.nano > rounded_up(requested).nano
    return rounded_up(allocated if allocated is not None and is_more else requested)


def _attributes_classes(claim: Document) -> set[str]:
    status: Document = claim.get("status") or {}
    names = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}

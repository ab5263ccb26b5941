"""What resource claims use of each device class.

Upstream: pkg/quota/v1/evaluator/core/resource_claims.go;
staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from podwright.apimachinery.objects import Document, Quantity
from podwright.cluster.api.admission.amounts import (
    ONE,
    ZERO,
    Amounts,
    add,
    difference_of,
    raise_to,
)
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.quota.evaluators import Evaluator
from podwright.cluster.api.admission.quota.pods import (
    DEVICE_CLASS,
    REQUESTS,
    Pods,
    is_extended_request,
)
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.store import POD, ObjectStore

_OF_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_ALL_DEVICES: Final = 32
"""The most devices of a claim, which a request for all of them counts."""

_CLAIM: Final = ("resource.k8s.io", "ResourceClaim")
_EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


class DeviceClaims(Evaluator):
    """Counts resource claims and the devices that they request.

    Parameters
    ----------
    store : ObjectStore
        Has the device classes, and the pods of claims for extended resources.
    """

    def __init__(self, store: ObjectStore) -> None:
        super().__init__("resource.k8s.io", "resourceclaims")
        self._store = store
        self._classes = CurrentObjects(store, ("resource.k8s.io", "DeviceClass"))

    def handles(self, attributes: Attributes) -> bool:
        """Whether a claim is created or changed."""
        return attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """Return the names in a quota that count for claims, those of device classes among them."""
        return sorted(name for name in names if self._counts(name))

    def _counts(self, name: str) -> bool:
        if name == self.count or name.endswith(_OF_CLASS):
            return True
        if not is_extended_request(name):
            return False
        resource = name[len(REQUESTS) :]
        return any(
            self._extended_resource(each["metadata"]["name"]) == resource
            or resource == DEVICE_CLASS + each["metadata"]["name"]
            for each in self._classes.by_key().values()
        )

    def _extended_resource(self, class_name: str) -> str:
        found = self._classes.by_key().get(class_name) or {}
        return (found.get("spec") or {}).get("extendedResourceName") or ""

    def usage(self, obj: Document, now_ns: int) -> Amounts:
        """Return what a claim uses: of alternatives, the most of each class."""
        used: Amounts = {self.count: ONE}
        devices = (obj.get("spec") or {}).get("devices") or {}
        for request in devices.get("requests") or ():
            alternatives = request.get("firstAvailable") or ()
            if alternatives:
                most: Amounts = {}
                for alternative in alternatives:
                    raise_to(most, _devices(alternative))
                add(used, {name: amount for name, amount in most.items() if amount.nano})
            elif request.get("exactly") is not None:
                add(used, _devices(request["exactly"]))
        self._add_extended(used, self._pod_usage(obj, now_ns))
        return used

    def _add_extended(self, used: Amounts, of_pod: Amounts) -> None:
        """Add what the extended resources of the classes use, unless the pod counts it."""
        extended: Amounts = {}
        for name, amount in used.items():
            class_name = name.removesuffix(_OF_CLASS)
            if not name.endswith(_OF_CLASS) or not class_name:
                continue
            extended[REQUESTS + DEVICE_CLASS + class_name] = amount
            if resource := self._extended_resource(class_name):
                extended[REQUESTS + resource] = amount
        for name, amount in extended.items():
            left = difference_of(amount, of_pod.get(name, ZERO))
            if left.nano > 0:
                used[name] = left

    def _pod_usage(self, claim: Document, now_ns: int) -> Amounts:
        """Return what the pod uses for which the scheduler made a claim."""
        metadata: Document = claim.get("metadata") or {}
        if (metadata.get("annotations") or {}).get(_EXTENDED_CLAIM) != "true":
            return {}
        owner = _pod_owner(metadata)
        if owner is None:
            return {}
        pod = self._store.get(POD, f"{metadata.get('namespace', '')}/{owner.get('name', '')}")
        if pod is None or pod.uid != owner.get("uid"):
            return {}
        status = (pod.raw.get("status") or {}).get("extendedResourceClaimStatus")
        if status is not None:
            is_own = status.get("resourceClaimName") == metadata.get("name")
        else:
            is_own = self._is_first(metadata, owner["uid"])
        return Pods().usage(pod.raw, now_ns) if is_own else {}

    def _is_first(self, metadata: Document, pod_uid: str) -> bool:
        """Whether no older claim for extended resources of the pod exists."""
        own = (metadata.get("creationTimestamp", ""), metadata.get("name", ""))
        found = self._store.list(_CLAIM, namespace=metadata.get("namespace", ""))
        for other in found.objects:
            theirs: Document = other.raw["metadata"]
            if (theirs.get("annotations") or {}).get(_EXTENDED_CLAIM) != "true":
                continue
            owner = _pod_owner(theirs)
            if owner is None or owner.get("uid") != pod_uid:
                continue
            if (theirs.get("creationTimestamp", ""), theirs["name"]) < own:
                return False
        return True


def _pod_owner(metadata: Document) -> Document | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            is_pod = (owner.get("kind"), owner.get("apiVersion")) == ("Pod", "v1")
            found: Document = owner
            return found if is_pod else None
    return None


def _devices(request: Document) -> Amounts:
    mode = request.get("allocationMode")
    count = 0
    if mode == "ExactCount":
        count = request.get("count") or 0
    elif mode == "All":
        count = _ALL_DEVICES
    return {f"{request.get('deviceClassName', '')}{_OF_CLASS}": Quantity(count, 0)}

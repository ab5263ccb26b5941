"""Binding conditions: simulated drivers attach devices after a time, or fail to.

The annotations of a ResourceSlice say what its driver does: with `podwright.dev/binding-delay`, it
sets the binding conditions of a device in the status of the claim so long after the allocation;
with `podwright.dev/binding-failure`, it sets the first binding failure condition, with this message
and at once. Conditions of other slices are set by other drivers, or manually.

A failure is not delayed, so that a simulation notices that retries make no progress.

Upstream: staging/src/k8s.io/api/resource/v1/types.go, Device.BindingConditions
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from podwright.apimachinery.devices import (
    BINDING_DELAY,
    BINDING_FAILURE,
    PoolId,
    has_binding_conditions,
)
from podwright.apimachinery.objects import (
    Document,
    NamespacedName,
    ResourceClaim,
    ResourceSlice,
    parse_duration,
    timestamp_ns,
)
from podwright.cluster.api import UpdateObject, patched, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import RESOURCE_CLAIM, RESOURCE_SLICE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import condition

_SLICE: Final = "slice:"


class _Binding(NamedTuple):
    """What the driver of a pool does."""

    delay_ns: int
    failure: str


class BindingConditionsController(Controller):
    """Sets the binding conditions of allocated devices."""

    name = "device-driver"
    kinds = (RESOURCE_CLAIM, RESOURCE_SLICE)

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # By pool, by the name of a slice; most clusters have none.
        self._bindings: dict[PoolId, dict[str, _Binding]] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a claim that waits for its devices, and a slice with a wrong annotation."""
        changed = self.latest_of(old, new)
        if isinstance(changed, ResourceSlice):
            return self._observe_slice(changed, is_present=new is not None)
        if isinstance(new, ResourceClaim) and has_binding_conditions(new):
            return (new.key,)
        return ()

    def _observe_slice(self, changed: ResourceSlice, *, is_present: bool) -> list[NamespacedName]:
        pool = PoolId(changed.spec.driver, changed.spec.pool.name)
        annotations = changed.metadata.annotations if is_present else {}
        failure = annotations.get(BINDING_FAILURE, "")
        text = "0" if failure else annotations.get(BINDING_DELAY)
        if text is None:
            known = self._bindings.get(pool, {})
            known.pop(changed.name, None)
            if not known:
                self._bindings.pop(pool, None)
            return []
        try:
            delay_ns = max(parse_duration(text), 0)
        except ValueError:
            return [_SLICE + changed.name]
        self._bindings.setdefault(pool, {})[changed.name] = _Binding(delay_ns, failure)
        return [
            claim.key
            for claim in self._lister.all(RESOURCE_CLAIM).values()
            if isinstance(claim, ResourceClaim) and has_binding_conditions(claim)
        ]

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Set the conditions that are due."""
        if key.startswith(_SLICE):
            return self._report(key.removeprefix(_SLICE))
        claim = self._lister.get(RESOURCE_CLAIM, key)
        if not isinstance(claim, ResourceClaim) or claim.status.allocation is None:
            return []
        allocation = section(claim, "status")["allocation"]
        since_ns = timestamp_ns(claim.status.allocation.allocation_timestamp)
        statuses: list[Document] = [
            dict(each) for each in section(claim, "status").get("devices") or ()
        ]
        known = {_identity(each): each for each in statuses}
        next_ns: int | None = None
        driver = ""
        for result in allocation["devices"].get("results") or ():
            binding = self._binding_of(result)
            if binding is None:
                continue
            due_ns = (now_ns if since_ns is None else since_ns) + binding.delay_ns
            status = known.get(_identity(result))
            missing = _missing_conditions(result, status, binding.failure, now_ns)
            if not missing:
                continue
            if due_ns > now_ns:
                next_ns = due_ns if next_ns is None else min(next_ns, due_ns)
                continue
            if status is None:
                status = {field: result[field] for field in ("driver", "pool", "device")}
                if result.get("shareID"):
                    status["shareID"] = result["shareID"]
                statuses.append(status)
            names = {each["type"] for each in missing}
            present = [each for each in status.get("conditions") or () if each["type"] not in names]
            status["conditions"] = [*present, *missing]
            driver = result["driver"]
        actions: Actions = []
        if driver:
            updated = patched(claim, status={"devices": statuses})
            actions.append(UpdateObject(updated, "status", driver))
        if next_ns is not None:
            actions.append(self.sync_at(key, next_ns))
        return actions

    def _binding_of(self, result: Document) -> _Binding | None:
        if not result.get("bindingConditions"):
            return None
        bindings = self._bindings.get(PoolId(result["driver"], result["pool"]))
        return None if not bindings else next(iter(bindings.values()))

    def _report(self, name: str) -> Actions:
        """Report an annotation that is not a duration."""
        found = self._lister.get(RESOURCE_SLICE, name)
        text = None if found is None else found.metadata.annotations.get(BINDING_DELAY)
        if found is None or text is None:
            return []
        note = f'{BINDING_DELAY}: "{text}" is not a duration such as 5s; no condition is set'
        return [self.warning(found, "InvalidBindingDelay", note)]


def _missing_conditions(
    result: Document, status: Document | None, failure: str, now_ns: int
) -> list[Document]:
    """Return the conditions that a driver has yet to set."""
    present = {} if status is None else {c["type"]: c for c in status.get("conditions") or ()}
    names = result["bindingConditions"]
    reason = "Bound"
    if failure:
        names, reason = (result.get("bindingFailureConditions") or [])[:1], "BindingFailed"
    return [
        condition(name, "True", reason, failure, now_ns)
        for name in names
        if present.get(name, {}).get("status") != "True"
    ]


def _identity(of: Document) -> tuple[Any, ...]:
    return of.get("driver"), of.get("pool"), of.get("device"), of.get("shareID")

"""On which nodes devices can be allocated for claims, as columns.

A column belongs to the contents of a pod's unallocated claims, so pods of one template share it.
It is caught up with the changes: after an allocation only the nodes of that pool are searched
again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.devices import (
    AllocationError,
    DeviceIndex,
    Devices,
    Features,
    NodeDevices,
    NodeState,
    Pool,
    Refused,
    Search,
    Solution,
    Solutions,
)
from podwright.apimachinery.objects import DeviceClass, Object, ResourceClaim
from podwright.scheduler.columns.nodes import NodeColumns

FITS, NO_DEVICES, INVALID_POOLS, FAILS = 0, 1, 2, 3
"""The codes of a column; `FAILS` ends the scheduling attempt."""

_MOST_COLUMNS = 64


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to search.

    Parameters
    ----------
    features : Features
    most_steps : int
        The steps after which the search for one node ends with an error; 0: none.
    """

    features: Features = Features()
    most_steps: int = 0


class FitColumn:
    """The results for one set of claims.

    Attributes
    ----------
    codes : (n_slots,) int8
        `FITS` and so on.
    scores : (n_slots,) int64
        How good the chosen alternatives are; 0 where the claims do not fit.
    solutions : Solutions
        What the searches found.
    """

    __slots__ = ("change_count", "codes", "node_version", "scores", "solutions")

    def __init__(self) -> None:
        self.codes: NDArray[np.int8] = np.empty(0, dtype=np.int8)
        self.scores: I64Array = np.empty(0, dtype=np.int64)
        self.change_count = -1
        self.node_version = -1
        self.solutions = Solutions()


class DeviceFits:
    """The columns, and searches on single nodes.

    Parameters
    ----------
    nodes : NodeColumns
    devices : DeviceIndex

    Attributes
    ----------
    search_count : int
        How many nodes were searched; for tests.
    """

    def __init__(self, nodes: NodeColumns, devices: DeviceIndex) -> None:
        self._nodes = nodes
        self._devices = devices
        self._columns: OrderedDict[Hashable, FitColumn] = OrderedDict()
        self.search_count = 0

    def column(
        self, claims: Sequence[ResourceClaim], settings: SearchSettings, live: I32Array
    ) -> FitColumn:
        """Return the column for some claims, up to date.

        Parameters
        ----------
        live : (k,) int32
            The slots of all nodes.
        """
        devices = self._devices
        column = self._column_of(claims, settings)
        slots = self._changed_slots(column, live)
        nodes = self._nodes
        if len(column.codes) != nodes.n_slots:
            column.codes = _fitting(column.codes, nodes.n_slots)
            column.scores = _fitting(column.scores, nodes.n_slots)
        codes, scores = column.codes, column.scores
        for slot in slots:
            codes[slot], scores[slot] = self._evaluate(slot, claims, settings, column)
        column.change_count = devices.change_count
        column.node_version = nodes.node_journal.version
        return column

    def _column_of(self, claims: Sequence[ResourceClaim], settings: SearchSettings) -> FitColumn:
        numbers = tuple([self._devices.spec_number(claim) for claim in claims])
        key = (numbers, settings)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = FitColumn()
            if len(self._columns) > _MOST_COLUMNS:
                self._columns.popitem(last=False)
        self._columns.move_to_end(key)
        return column

    def _changed_slots(self, column: FitColumn, live: I32Array) -> list[int]:
        nodes = self._nodes
        of_devices = self._devices.changes_since(column.change_count)
        of_nodes = nodes.node_journal.since(column.node_version)
        if of_devices is None or of_nodes is None:
            every: list[int] = live.tolist()
            return every
        slot_of = nodes.slot_of
        found = {slot_of[name] for name in of_devices if name in slot_of}
        found.update(of_nodes.tolist())
        return [slot for slot in sorted(found) if nodes.alive[slot]]

    def _evaluate(
        self,
        slot: int,
        claims: Sequence[ResourceClaim],
        settings: SearchSettings,
        column: FitColumn,
    ) -> tuple[int, int]:
        try:
            score = self._score(slot, claims, settings, column)
        except AllocationError:
            return FAILS, 0
        if score is not None:
            return FITS, score
        return (INVALID_POOLS if self._has_invalid_pool(slot, settings) else NO_DEVICES), 0

    def solve(
        self, slot: int, claims: Sequence[ResourceClaim], settings: SearchSettings
    ) -> Solution | None:
        """Return the devices that a node would give to some claims; None if they do not fit.

        Raises
        ------
        AllocationError
            As for `Search.run`.
        """
        column = self._column_of(claims, settings)
        pools, state = self._state_of(slot, settings, column)
        if state in column.solutions:
            return column.solutions.of(state, pools)
        return self._search(slot, claims, settings, column, pools, state)

    def _score(
        self,
        slot: int,
        claims: Sequence[ResourceClaim],
        settings: SearchSettings,
        column: FitColumn,
    ) -> int | None:
        """Return the score of the solution for a node; None if there is none."""
        pools, state = self._state_of(slot, settings, column)
        if state in column.solutions:
            return column.solutions.score_of(state)
        solution = self._search(slot, claims, settings, column, pools, state)
        return None if solution is None else solution.score

    def _state_of(
        self, slot: int, settings: SearchSettings, column: FitColumn
    ) -> tuple[tuple[Pool, ...], NodeState]:
        """Return the pools and the state of a node; drop the solutions for other classes."""
        devices, solutions = self._devices, column.solutions
        if solutions.classes_version != devices.classes_version:
            solutions.clear()
            solutions.classes_version = devices.classes_version
        return devices.state_of(
            self._nodes.names[slot],
            self._labels(slot),
            with_partitions=settings.features.partitionable_devices,
        )

    def _search(
        self,
        slot: int,
        claims: Sequence[ResourceClaim],
        settings: SearchSettings,
        column: FitColumn,
        pools: tuple[Pool, ...],
        state: NodeState,
    ) -> Solution | None:
        solution = self.search(slot, claims, settings).run()
        column.solutions.add(state, pools, solution)
        return solution

    def _has_invalid_pool(self, slot: int, settings: SearchSettings) -> bool:
        return any(pool.invalid_reason for pool in self._pools(slot, settings))

    def search(
        self,
        slot: int,
        claims: Sequence[ResourceClaim],
        settings: SearchSettings,
        on_refusal: Refused | None = None,
    ) -> Search:
        """Return a search on one node; `on_refusal` is called with every refused device."""
        self.search_count += 1
        devices = self._devices
        node = NodeDevices(self._nodes.names[slot], self._labels(slot), self._pools(slot, settings))
        return Search(
            node,
            claims,
            Devices(devices.classes, devices.allocated, devices.selection),
            features=settings.features,
            most_steps=settings.most_steps,
            on_refusal=on_refusal,
        )

    def _pools(self, slot: int, settings: SearchSettings) -> tuple[Pool, ...]:
        return self._devices.pools_of(
            self._nodes.names[slot],
            self._labels(slot),
            with_partitions=settings.features.partitionable_devices,
        )

    def _labels(self, slot: int) -> dict[str, str]:
        node = self._nodes.objects[slot]
        return {} if node is None else node.metadata.labels


def _fitting(old: NDArray[Any], n_slots: int) -> NDArray[Any]:
    fitting = np.zeros(n_slots, dtype=old.dtype)
    kept = old[:n_slots]
    fitting[: len(kept)] = kept
    return fitting


# Device classes, and the extended resources that they back.

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Followed by the name of a class, it is an extended resource that the class backs."""


class DeviceClassIndex:
    """The DeviceClass objects by extended resource.

    `version` grows with every change of what they back.

    Notes
    -----
    Upstream: staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache/
    extendedresourcecache.go
    """

    def __init__(self) -> None:
        self.version = 0
        self._resources: dict[str, tuple[str, str]] = {}
        """Per class, its extended resource ("" if it has none) and its creation time."""

    def put(self, obj: Object) -> None:
        """Add or update a class; other objects are ignored."""
        if not isinstance(obj, DeviceClass):
            return
        resource = obj.spec.extended_resource_name or ""
        entry = (resource, obj.metadata.creation_timestamp or "")
        if self._resources.get(obj.metadata.name) != entry:
            self._resources[obj.metadata.name] = entry
            self.version += 1

    def delete(self, obj: Object) -> None:
        """Drop a class; unknown ones are ignored."""
        if (
            isinstance(obj, DeviceClass)
            and self._resources.pop(obj.metadata.name, None) is not None
        ):
            self.version += 1

    def class_of(self, resource: str) -> str:
        """Return the class that backs an extended resource; "" if there is none.

        Of several classes, the newest one; of equally new ones, the first by name.
        """
        implicit = resource.removeprefix(DEVICE_CLASS_PREFIX)
        if implicit != resource:
            return implicit if implicit in self._resources else ""
        newest = ("", "")
        for name, (named, created) in sorted(self._resources.items()):
            if named == resource and (not newest[0] or created > newest[1]):
                newest = (name, created)
        return newest[0]

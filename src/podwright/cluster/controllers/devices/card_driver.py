"""Simulated drivers: they publish the cards that DeviceCards describe, in ResourceSlices.

A node that is added, or gets other labels, gets the slices of its cards; a node that is removed
loses them. When DeviceCards change, their slices are published again with a new generation of each
pool, and they go with the DeviceCards. Slices that were changed or deleted otherwise stay so until
then. Nodes with other slices of the driver, and those of a mirrored cluster, are left alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.devices import (
    CARDS,
    CARDS_HASH,
    CardSpec,
    hash_of,
    is_cards,
    read_cards,
    slices_of_cards,
)
from podwright.apimachinery.objects import (
    SOURCE_UID,
    NamespacedName,
    Node,
    ResourceSlice,
    encode,
    with_fields,
)
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import DEVICE_CARDS, NODE, RESOURCE_SLICE
from podwright.cluster.controllers.lister import Lister

_CARDS: Final = "cards:"
"""Starts the key of DeviceCards; others are those of nodes."""


class CardDriver(Controller):
    """Publishes the slices of described cards."""

    name = "device-cards"
    kinds = (NODE, DEVICE_CARDS, RESOURCE_SLICE)

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # By name, and None while they cannot be read; most clusters have none.
        self._cards: dict[str, CardSpec | None] = {}
        # By node, by name.
        self._slices: dict[str, dict[str, ResourceSlice]] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the nodes whose cards may have changed, and DeviceCards to be checked."""
        changed = self.latest_of(old, new)
        if isinstance(changed, ResourceSlice):
            self._index(changed, is_present=new is not None)
            return ()
        if isinstance(changed, Node):
            return (changed.name,) if self._cards and _has_moved(old, new) else ()
        if not is_cards(changed):
            return ()
        if new is None:
            self._cards.pop(changed.name, None)
            return self._lister.all(NODE).keys()
        before = self._cards.get(new.name)
        spec = self._cards[new.name] = read_cards(encode(new))[0]
        if old is not None and spec == before and spec is not None:
            return ()
        return (_CARDS + new.name, *self._lister.all(NODE))

    def _index(self, of: ResourceSlice, *, is_present: bool) -> None:
        node = of.spec.node_name
        if not node:
            return
        known = self._slices.setdefault(node, {})
        if is_present:
            known[of.name] = of
            return
        known.pop(of.name, None)
        if not known:
            del self._slices[node]

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Publish the cards of a node, or report DeviceCards that cannot be read."""
        if key.startswith(_CARDS):
            return self._report(key.removeprefix(_CARDS))
        node = self._lister.get(NODE, key)
        if isinstance(node, Node) and SOURCE_UID in node.metadata.annotations:
            return []
        present: dict[str, list[ResourceSlice]] = {}
        for of in self._slices.get(key, {}).values():
            present.setdefault(of.spec.driver, []).append(of)
        described = self._cards_of(node) if isinstance(node, Node) else {}
        actions: Actions = []
        for driver in sorted({*present, *described}):
            actions += self._published(key, described.get(driver), present.get(driver, []))
        return actions

    def _cards_of(self, node: Node) -> dict[str, tuple[str, CardSpec]]:
        """Return the DeviceCards of a node with names, by driver; the first in order counts."""
        found: dict[str, tuple[str, CardSpec]] = {}
        for name in sorted(self._cards):
            spec = self._cards[name]
            if spec is not None and spec.node_selector.items() <= node.metadata.labels.items():
                found.setdefault(spec.driver, (name, spec))
        return found

    def _published(
        self, node: str, cards: tuple[str, CardSpec] | None, present: list[ResourceSlice]
    ) -> Actions:
        """Return the writes after which the slices of one driver are those of its cards."""
        owners = [of.metadata.annotations.get(CARDS) for of in present]
        if any(each is None or self._is_unreadable(each) for each in owners):
            return []  # another driver publishes them, or they stay until the cards can be read
        if cards is None:
            return [self.delete(of) for of in present]
        name, spec = cards
        known = {
            (of.metadata.annotations.get(CARDS), of.metadata.annotations.get(CARDS_HASH))
            for of in present
        }
        if known == {(name, hash_of(spec))}:
            return []
        generation = max((of.spec.pool.generation for of in present), default=0) + 1
        made, problems = slices_of_cards(name, spec, node, generation)
        if problems:
            return []  # `_report` reports them
        old = {of.name: of for of in present}
        actions: Actions = []
        for of in made:
            before = old.pop(of.name, None)
            if before is None:
                actions.append(self.create(of))
                continue
            annotations = before.metadata.annotations | of.metadata.annotations
            kept = with_fields(before, "metadata", annotations=annotations)
            document = encode(of) | {"metadata": encode(kept)["metadata"]}
            actions.append(
                self.update(msgspec.structs.replace(of, metadata=kept.metadata, raw=document))
            )
        return [*actions, *(self.delete(of) for of in old.values())]

    def _is_unreadable(self, name: str) -> bool:
        return name in self._cards and self._cards[name] is None

    def _report(self, name: str) -> Actions:
        """Report what is wrong with DeviceCards."""
        found = self._lister.get(DEVICE_CARDS, name)
        if found is None:
            return []
        spec, problems = read_cards(encode(found))
        if spec is not None:
            problems = slices_of_cards(name, spec, "node")[1]
        if not problems:
            return []
        note = "; ".join(f"{path}: {message}" for path, message in problems)
        return [self.warning(found, "InvalidDeviceCards", note)]


def _has_moved(old: Version, new: Version) -> bool:
    """Return whether a node was added or removed, or has other labels."""
    return old is None or new is None or old.metadata.labels != new.metadata.labels
